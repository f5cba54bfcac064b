"""Built-ins on strings as column expressions, as far as Spark means what the language means.

Spark's texts are UTF-8: it counts, cuts and orders them by code points, as the language does. Its case mappings are those of
another version of Unicode, so they are taken for ASCII only; its regular expressions are Java's, so only patterns are taken that
mean the same everywhere.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from corollary.engines.embedded.values.universe import Kind
from corollary.engines.spark.algebra.column_term import ColumnTerm, Condition, NotAColumnError
from corollary.engines.spark.algebra.column_terms import FUNCTIONS, ColumnTerms, Function, nothing
from corollary.engines.spark.algebra.profiles import STRINGS
from corollary.engines.spark.algebra.sql_text import constant as constant_sql
from corollary.program import Constant, Term, Variable
from corollary.program.builtins.characters import ALL, Ranges, without
from corollary.program.builtins.declaration import FUNC, PRED
from corollary.program.builtins.regex_syntax import CharacterSet, Piece, Repetition, read_regex
from corollary.program.values import XSD

_LONGEST = 1 << 30


def _function(*names: str) -> Callable[[Function], Function]:
    def register(function: Function) -> Function:
        FUNCTIONS.update(dict.fromkeys(names, function))
        return function

    return register


def _string(sql: str, *parts: ColumnTerm) -> ColumnTerm:
    return ColumnTerm(Kind.STRING, sql).also(*parts)


@_function("length")
def _length(terms: ColumnTerms, arguments: Sequence[Term]) -> ColumnTerm:
    (argument,) = arguments
    text = terms.text(argument)
    return ColumnTerm(Kind.INTEGER, f"CAST(char_length({text.sql}) AS BIGINT)", most=_LONGEST).also(text)


def _casing(name: str) -> Function:
    def function(terms: ColumnTerms, arguments: Sequence[Term]) -> ColumnTerm:
        (argument,) = arguments
        text = terms.text(argument)
        if text == nothing(Kind.STRING):
            return text
        is_ascii = f"coalesce(octet_length({text.sql}) = char_length({text.sql}), TRUE)"
        return ColumnTerm(Kind.STRING, f"{name}({text.sql})", (Condition(is_ascii, text.texts),)).also(text)

    return function


FUNCTIONS["upper"] = _casing("upper")
FUNCTIONS["lower"] = _casing("lower")


@_function("concat")
def _concat(terms: ColumnTerms, arguments: Sequence[Term]) -> ColumnTerm:
    parts = [terms.text(argument) for argument in arguments]
    return _string(f"concat({', '.join(part.sql for part in parts)})", *parts)


@_function(FUNC + "string-join")
def _join(terms: ColumnTerms, arguments: Sequence[Term]) -> ColumnTerm:
    *parts, between = (terms.text(argument) for argument in arguments)
    pieces = [piece for part in parts for piece in (between.sql, part.sql)][1:]
    return _string(f"concat({', '.join(pieces)})", *parts, between)


@_function(FUNC + "substring")
def _substring(terms: ColumnTerms, arguments: Sequence[Term]) -> ColumnTerm:
    text = terms.text(arguments[0])
    numbers = [argument.value if isinstance(argument, Constant) else None for argument in arguments[1:]]
    if not 1 <= len(numbers) <= 2 or any(type(number) is not int or abs(number) > _LONGEST for number in numbers):
        raise NotAColumnError
    start, *length = (int(number) for number in numbers)  # type: ignore[arg-type]
    first = max(start, 1)
    if not length:
        return _string(f"substring({text.sql}, {first})", text)
    return _string(f"substring({text.sql}, {first}, {max(0, start + length[0] - first)})", text)


def _searching(name: str) -> Function:
    def function(terms: ColumnTerms, arguments: Sequence[Term]) -> ColumnTerm:
        text, part = (terms.text(argument) for argument in arguments)
        return ColumnTerm(Kind.BOOLEAN, f"{name}({text.sql}, {part.sql})").also(text, part)

    return function


FUNCTIONS[PRED + "contains"] = _searching("contains")
FUNCTIONS[PRED + "starts-with"] = _searching("startswith")
FUNCTIONS[PRED + "ends-with"] = _searching("endswith")


@_function(FUNC + "compare")
def _compare(terms: ColumnTerms, arguments: Sequence[Term]) -> ColumnTerm:
    left, right = (terms.text(argument) for argument in arguments)
    sign = f"CASE WHEN {left.sql} < {right.sql} THEN -1L WHEN {left.sql} = {right.sql} THEN 0L"
    sql = f"{sign} WHEN {left.sql} > {right.sql} THEN 1L END"
    return ColumnTerm(Kind.INTEGER, f"({sql})", most=1).also(left, right)


@_function(FUNC + "substring-before")
def _before(terms: ColumnTerms, arguments: Sequence[Term]) -> ColumnTerm:
    text, part = _divided(terms, arguments)
    return _string(f"IF(contains({text.sql}, {part.sql}), substring_index({text.sql}, {part.sql}, 1), '')", text)


@_function(FUNC + "substring-after")
def _after(terms: ColumnTerms, arguments: Sequence[Term]) -> ColumnTerm:
    text, part = _divided(terms, arguments)
    start = f"locate({part.sql}, {text.sql}) + char_length({part.sql})"
    return _string(f"IF(contains({text.sql}, {part.sql}), substring({text.sql}, {start}), '')", text)


def _divided(terms: ColumnTerms, arguments: Sequence[Term]) -> tuple[ColumnTerm, ColumnTerm]:
    text, part = arguments
    if not isinstance(part, Constant) or not part.value:
        raise NotAColumnError
    found = terms.text(text)
    if not found.always:
        raise NotAColumnError  # IF takes no value for FALSE
    return found, terms.text(part)


@_function(XSD + "string")
def _to_string(terms: ColumnTerms, arguments: Sequence[Term]) -> ColumnTerm:
    (argument,) = arguments
    if isinstance(argument, Variable) and not terms.variables[argument.name].classes & ~STRINGS:
        return terms.text(argument)
    number = terms.number(argument, strict=True)
    return _string(f"CAST({number.sql} AS STRING)", number)


# -- regular expressions -----------------------------------------------------------------------------------------------

_LITERAL = r"[A-Za-z0-9_ /:@,;=<>\"'!#%&~-]"
_CLASS = r"\[\^?(?:[A-Za-z0-9]-[A-Za-z0-9]|[A-Za-z0-9_ /:@,;=])+\]"
_PLAIN = re.compile(rf"\^?(?:(?:{_LITERAL}|{_CLASS}|\.)[*+?]?)+\$?")
"""Patterns that mean the same in XPath and, rewritten, in Java: one piece after the other, each maybe repeated."""
_RANGE = re.compile(r"([A-Za-z0-9])-([A-Za-z0-9])")


def _java(pattern: str, *, whole: bool) -> str:
    """A plain pattern for Java; raises where it may mean something else there, or take more than linear time."""
    ranges = (bounds for one in re.findall(_CLASS, pattern) for bounds in _RANGE.findall(one))
    if not _PLAIN.fullmatch(pattern) or any(low > high for low, high in ranges):
        raise NotAColumnError
    if not _is_linear_in_java(pattern, whole=whole):
        raise NotAColumnError
    ended = pattern[:-1] + r"\z" if pattern.endswith("$") else pattern
    return ended.replace(".", r"[^\n]")


_MOST_OPTIONAL = 3  # pieces with `?`: each may double the ways that Java tries


def _is_linear_in_java(pattern: str, *, whole: bool) -> bool:
    """Whether backtracking takes linear time: with one repetition that is tried from few places, or that nothing follows."""
    (pieces,) = read_regex(pattern, "").root.branches
    repeated = [place for place, piece in enumerate(pieces) if isinstance(piece, Repetition)]
    endless = [place for place in repeated if pieces[place].most is None]  # type: ignore[union-attr]
    if len(endless) > 1 or len(repeated) - len(endless) > _MOST_OPTIONAL:
        return False
    if not endless or whole or pattern.startswith("^") or endless[0] == len(pieces) - 1:
        return True
    inside = _characters(pieces[endless[0]])
    # A character before the repetition that cannot be part of it keeps the runs apart that are tried from different places.
    return any(
        isinstance(piece, CharacterSet) and without(piece.ranges, inside) == piece.ranges
        for piece in pieces[: endless[0]]
    )


def _characters(piece: Piece) -> Ranges:
    inner = piece.piece if isinstance(piece, Repetition) else piece
    return inner.ranges if isinstance(inner, CharacterSet) else ALL


@_function(PRED + "matches")
def _matches(terms: ColumnTerms, arguments: Sequence[Term]) -> ColumnTerm:
    text, pattern = arguments
    return _matching(terms.text(text), pattern, whole=False)


@_function("REGEX")
def _regex(terms: ColumnTerms, arguments: Sequence[Term]) -> ColumnTerm:
    text, pattern = arguments
    return _matching(terms.text(text), pattern, whole=True)


def _matching(text: ColumnTerm, pattern: Term, *, whole: bool) -> ColumnTerm:
    if not isinstance(pattern, Constant) or not isinstance(pattern.value, str):
        raise NotAColumnError
    written = _java(pattern.value, whole=whole)
    if whole:
        written = rf"^(?:{written})\z"
    return ColumnTerm(Kind.BOOLEAN, f"({text.sql} RLIKE {constant_sql(written)})").also(text)
