"""Built-ins on numbers, booleans and types as column expressions."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from decimal import Decimal
from typing import TypeAlias

from corollary.engines.embedded.values.universe import Kind
from corollary.engines.spark.algebra.column_terms import (
    FUNCTIONS,
    INLINE,
    ColumnTerm,
    ColumnTerms,
    Condition,
    Function,
    NotAColumnError,
    compared_doubles,
    nothing,
)
from corollary.engines.spark.algebra.profiles import (
    BOOLEANS,
    DECIMALS,
    DOUBLES,
    INTEGERS,
    IRIS,
    LARGE_INTEGERS,
    LITERALS,
    NUMBERS,
    STRINGS,
    TERMS,
    is_in_sql,
)
from corollary.engines.spark.algebra.sql_text import constant as constant_sql
from corollary.program import Constant, Term, Variable
from corollary.program.builtins.declaration import FUNC, PRED
from corollary.program.builtins.regex_syntax import ALL, CharacterSet, Piece, Ranges, Repetition, read_regex, without
from corollary.program.datatypes.numbers import INTEGER_RANGES
from corollary.program.values import XSD

# -- column comparisons ------------------------------------------------------------------------------------------------

# Comparisons as column expressions: integers with any number that a rule names, booleans, strings.

_LONG = 1 << 63
_TURNED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "=": "=", "!=": "!="}
_SQL = {"!=": "<>"}
_Number: TypeAlias = int | float | Decimal


def compared(terms: ColumnTerms, operator: str, left: Term, right: Term) -> ColumnTerm:
    """Return the column `left operator right`, NULL where it has no value."""
    if (found := _of_doubles(terms, operator, left, right)) is not None:
        return found
    if _is_number(left) and not _is_number(right):
        left, right, operator = right, left, _TURNED[operator]
    if isinstance(right, Constant) and _is_number(right):
        return _with_number(terms.number(left, strict=operator == "!="), operator, right.value)  # type: ignore[arg-type]
    kind = next((one for one in (_kind(terms, left), _kind(terms, right)) if one is not None), None)
    match kind:
        case Kind.BOOLEAN:
            sides = [terms.boolean(side) for side in (left, right)]
            _check_types(operator, sides)
        case Kind.STRING:
            sides = [terms.text(side) for side in (left, right)]
            _check_types(operator, sides)
        case _:  # two variables may both hold other values, which are ordered, too
            plain = kind is None or operator == "!="
            sides = [terms.number(side, strict=plain) for side in (left, right)]
    return _holds(operator, sides)


def numbers_compared(terms: ColumnTerms, operator: str, left: Term, right: Term) -> ColumnTerm:
    """Return the comparison of two terms as numbers; without a value where one is not a number."""
    if (found := _of_doubles(terms, operator, left, right)) is not None:
        return found
    if _is_number(left) and not _is_number(right):
        left, right, operator = right, left, _TURNED[operator]
    if isinstance(right, Constant) and _is_number(right):
        return _with_number(terms.number(left), operator, right.value)  # type: ignore[arg-type]
    return _holds(operator, [terms.number(left), terms.number(right)])


def _holds(operator: str, sides: list[ColumnTerm]) -> ColumnTerm:
    left, right = sides
    return ColumnTerm(Kind.BOOLEAN, f"({left.sql} {_SQL.get(operator, operator)} {right.sql})").also(left, right)


def _check_types(operator: str, sides: list[ColumnTerm]) -> None:
    """Raise `NotAColumnError` if a value may be missing: values of different types differ, and no expression tells the
    cases apart."""
    if operator == "!=" and not all(side.always for side in sides):
        raise NotAColumnError


def _kind(terms: ColumnTerms, side: Term) -> Kind | None:
    """Return the kind of a side if it is known; of variables only that they are strings."""
    if isinstance(side, Variable):
        return Kind.STRING if not terms.variables[side.name].classes & ~STRINGS else None
    return terms.of(side).kind


def _of_doubles(terms: ColumnTerms, operator: str, left: Term, right: Term) -> ColumnTerm | None:
    """Return a comparison with a double; integers are compared with a literal double as integers."""
    if not isinstance(left, Constant) and terms.is_double(left):
        return compared_doubles(terms, operator, left, right)
    if not isinstance(right, Constant) and terms.is_double(right):
        return compared_doubles(terms, _TURNED[operator], right, left)
    return None


def _is_number(side: Term) -> bool:
    return isinstance(side, Constant) and type(side.value) in (int, float, Decimal)


def _with_number(side: ColumnTerm, operator: str, number: _Number) -> ColumnTerm:
    """Return the comparison of integers with a literal number, which becomes a comparison with an integer."""

    def always(holds: bool) -> ColumnTerm:
        whether = "TRUE" if holds else "FALSE"
        sql = whether if side.always else f"IF({side.sql} IS NULL, NULL, {whether})"
        return ColumnTerm(Kind.BOOLEAN, sql).also(side)

    if isinstance(number, float) and math.isnan(number):
        return always(operator == "!=")
    if isinstance(number, float) and math.isinf(number):
        return always(operator == "!=" or operator.startswith("<" if number > 0 else ">"))
    low, high = math.floor(number), math.ceil(number)
    if operator in ("=", "!=") and low != high:
        return always(operator == "!=")
    whole = low if operator in ("<=", ">") else high  # an integer below 2.5 is below 3, and above 2.5 is above 2
    if abs(whole) >= _LONG:
        return always(operator == "!=" or operator.startswith("<" if whole > 0 else ">"))
    return ColumnTerm(Kind.BOOLEAN, f"({side.sql} {_SQL.get(operator, operator)} ({whole}L))").also(side)


# -- column functions --------------------------------------------------------------------------------------------------


def _function(*names: str) -> Callable[[Function], Function]:
    def register(function: Function) -> Function:
        FUNCTIONS.update(dict.fromkeys(names, function))
        return function

    return register


def _calculation(operator: str) -> Function:
    def function(terms: ColumnTerms, arguments: Sequence[Term]) -> ColumnTerm:
        left, right = arguments
        return terms.calculated(operator, left, right)

    return function


def _comparison(operator: str) -> Function:
    def function(terms: ColumnTerms, arguments: Sequence[Term]) -> ColumnTerm:
        left, right = arguments
        return numbers_compared(terms, operator, left, right)

    return function


for _name, _sign in (("add", "+"), ("subtract", "-"), ("multiply", "*"), ("divide", "/"), ("integer-divide", "div"),
                     ("mod", "%")):  # fmt: skip
    FUNCTIONS[f"{FUNC}numeric-{_name}"] = _calculation(_sign)
for _name, _sign in (("equal", "="), ("not-equal", "!="), ("less-than", "<"), ("less-than-or-equal", "<="),
                     ("greater-than", ">"), ("greater-than-or-equal", ">=")):  # fmt: skip
    FUNCTIONS[f"{PRED}numeric-{_name}"] = _comparison(_sign)


@_function("abs")
def _abs(terms: ColumnTerms, arguments: Sequence[Term]) -> ColumnTerm:
    (argument,) = arguments
    number = terms.number(argument)
    if number.most > INLINE:
        raise NotAColumnError
    return replace(number, sql=f"abs({number.sql})")


@_function("floor", "ceiling", "round")
def _rounded(terms: ColumnTerms, arguments: Sequence[Term]) -> ColumnTerm:
    (argument,) = arguments
    return terms.number(argument)


@_function(FUNC + "not")
def _not(terms: ColumnTerms, arguments: Sequence[Term]) -> ColumnTerm:
    (argument,) = arguments
    value = terms.boolean(argument)
    return replace(value, sql=f"(NOT {value.sql})")


# -- guards ------------------------------------------------------------------------------------------------------------


def _guard(yes: int, unsure: int, ranged: tuple[int | None, int | None] | None = None) -> Function:
    """Return a guard that is true of the classes `yes`, and undecided by the class alone for `unsure`."""

    def function(terms: ColumnTerms, arguments: Sequence[Term]) -> ColumnTerm:
        (argument,) = arguments
        if not isinstance(argument, Variable):
            raise NotAColumnError
        known = terms.variables[argument.name]
        exact = (
            (Condition(f"(NOT {is_in_sql(known.column, known.classes & unsure)})"),) if known.classes & unsure else ()
        )
        if not known.classes & yes:
            return ColumnTerm(Kind.BOOLEAN, "FALSE", exact)
        tests = [] if not known.classes & ~(yes | unsure) else [is_in_sql(known.column, yes & known.classes)]
        bounds = ranged or (None, None)
        tests += [
            f"{known.column} {sign} {bound << 2}L"
            for sign, bound in zip((">=", "<="), bounds, strict=True)
            if bound is not None and abs(bound) < INLINE
        ]
        return ColumnTerm(Kind.BOOLEAN, f"({' AND '.join(tests)})" if tests else "TRUE", exact)

    return function


def _negated(guard: Function, never: int) -> Function:
    """Return a guard that is true of other datatypes, but not of the classes `never`, which have no datatype."""

    def function(terms: ColumnTerms, arguments: Sequence[Term]) -> ColumnTerm:
        (argument,) = arguments
        found = guard(terms, arguments)
        known = terms.variables[argument.name]  # type: ignore[union-attr]
        other = f" AND NOT {is_in_sql(known.column, known.classes & never)}" if known.classes & never else ""
        return replace(found, sql=f"(NOT {found.sql}{other})")

    return function


_NEVER = IRIS | TERMS
_GUARDS = {
    "boolean": _guard(BOOLEANS, LITERALS),
    "decimal": _guard(INTEGERS | LARGE_INTEGERS | DECIMALS, LITERALS),
    "double": _guard(DOUBLES, LITERALS),
    "string": _guard(STRINGS, LITERALS),
    "PlainLiteral": _guard(STRINGS, LITERALS),
    **{
        name: _guard(INTEGERS, LITERALS | LARGE_INTEGERS, bounds)
        for name, bounds in INTEGER_RANGES.items()
        if name != "integer"
    },
    "integer": _guard(INTEGERS | LARGE_INTEGERS, LITERALS),
}
for _name, _one in _GUARDS.items():
    FUNCTIONS[f"{PRED}is-literal-{_name}"] = _one
    FUNCTIONS[f"{PRED}is-literal-not-{_name}"] = _negated(_one, _NEVER)
FUNCTIONS["IS_IRI"] = _guard(IRIS, 0)
FUNCTIONS["IS_NUMERIC"] = _guard(NUMBERS, LITERALS)


@_function(XSD + "integer")
def _to_integer(terms: ColumnTerms, arguments: Sequence[Term]) -> ColumnTerm:
    (argument,) = arguments
    return terms.number(argument, strict=True)


# -- column texts ------------------------------------------------------------------------------------------------------

# Built-ins on strings as column expressions, where Spark's meaning is the language's.
#
# Spark's texts are UTF-8: it counts, cuts and orders them by code points, as the language does. Its case mappings
# belong to another version of Unicode, so they are used for ASCII only. Its regular expressions are Java's, so only
# patterns that mean the same in both are used.

_LONGEST = 1 << 30


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
        raise NotAColumnError  # IF has no value for FALSE here
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
"""Patterns that mean the same in XPath and, rewritten, in Java: a sequence of pieces, each perhaps repeated."""
_RANGE = re.compile(r"([A-Za-z0-9])-([A-Za-z0-9])")


def _java(pattern: str, *, whole: bool) -> str:
    """Return a plain pattern for Java; raise if Java may read it differently, or take more than linear time."""
    ranges = (bounds for one in re.findall(_CLASS, pattern) for bounds in _RANGE.findall(one))
    if not _PLAIN.fullmatch(pattern) or any(low > high for low, high in ranges):
        raise NotAColumnError
    if not _is_linear_in_java(pattern, whole=whole):
        raise NotAColumnError
    ended = pattern[:-1] + r"\z" if pattern.endswith("$") else pattern
    return ended.replace(".", r"[^\n]")


_MOST_OPTIONAL = 3  # pieces with `?`; each may double the number of attempts in Java


def _is_linear_in_java(pattern: str, *, whole: bool) -> bool:
    """Return whether backtracking takes linear time: one repetition, tried from few positions or followed by nothing."""
    (pieces,) = read_regex(pattern, "").root.branches
    repeated = [place for place, piece in enumerate(pieces) if isinstance(piece, Repetition)]
    endless = [place for place in repeated if pieces[place].most is None]  # type: ignore[union-attr]
    if len(endless) > 1 or len(repeated) - len(endless) > _MOST_OPTIONAL:
        return False
    if not endless or whole or pattern.startswith("^") or endless[0] == len(pieces) - 1:
        return True
    inside = _characters(pieces[endless[0]])
    # If the character before the repetition cannot be part of it, runs that start at different positions do not overlap.
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
