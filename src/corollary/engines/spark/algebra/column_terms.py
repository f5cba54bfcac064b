"""Expressions as Spark's own column expressions over ids, for the rows where these are exact.

An id tells the class of its constant, and integers, doubles and booleans are inside their ids. So most arithmetic needs neither
Python nor the universe. What Spark would compute differently, or not at all, is left to tasks: an expression comes with the
conditions under which it is right, and the profiles of the relations make most of them needless.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from corollary.engines.embedded.values.universe import Kind
from corollary.engines.spark.algebra.column_doubles import (
    calculated_doubles,
    double_column,
    double_constant,
    negative_double,
)
from corollary.engines.spark.algebra.column_term import ColumnTerm, Condition, NotAColumnError, text_column
from corollary.engines.spark.algebra.profiles import (
    BOOLEANS,
    DOUBLES,
    INLINE_DOUBLES,
    INTEGERS,
    SMALL_INTEGER,
    SMALL_INTEGERS,
    STRINGS,
    VALUED,
    is_in_sql,
)
from corollary.engines.spark.algebra.sql_text import constant as constant_sql
from corollary.engines.spark.terms.ids import CollisionTable, boolean_sql, id_of
from corollary.program import Arithmetic, Constant, FunctionTerm, Minus, Term, Variable

INLINE = 1 << 61
"""From here on an integer is not inside its id."""
_LONG = 1 << 63
_ODD = re.compile("[\ud800-\udfff]")  # halves of characters, which Spark's texts cannot have
_SYMBOLS = {"+": "try_add", "-": "try_subtract", "*": "try_multiply"}


@dataclass(frozen=True)
class Known:
    """A variable: the column of its ids, their classes, and how far from 0 its integers are at most.

    A text that was computed before has its expression in `text`, over the columns of texts `of`. A double that tasks will make
    has its value in `double`, and no column yet.
    """

    column: str
    classes: int
    most: int = INLINE
    text: str | None = None
    of: frozenset[str] = frozenset()
    double: ColumnTerm | None = None


Function: TypeAlias = Callable[["ColumnTerms", Sequence[Term]], ColumnTerm]
FUNCTIONS: dict[str, Function] = {}
"""Built-ins as column expressions, by their canonical name."""

_NOTHING = {
    Kind.INTEGER: "CAST(NULL AS BIGINT)",
    Kind.BOOLEAN: "CAST(NULL AS BOOLEAN)",
    Kind.STRING: "CAST(NULL AS STRING)",
}


def nothing(kind: Kind) -> ColumnTerm:
    """No value in any row."""
    return ColumnTerm(kind, _NOTHING[kind], always=False)


class ColumnTerms:
    """`variables` has what is known of each; texts of others than strings are not asked for."""

    def __init__(self, variables: Mapping[str, Known]) -> None:
        self.variables = variables

    def of(self, term: Term) -> ColumnTerm:
        """Any term whose kind shows; a variable alone has none."""
        match term:
            case Constant():
                return _constant(term)
            case Minus() if self.is_double(term.operand):
                return negative_double(self.double(term.operand))
            case Minus():
                operand = self.number(term.operand)
                if operand.most >= _LONG:
                    raise NotAColumnError
                return replace(operand, sql=f"(- {operand.sql})")
            case Arithmetic():
                return self.calculated(term.operator, term.left, term.right)
            case FunctionTerm() if term.name in FUNCTIONS:
                try:
                    return FUNCTIONS[term.name](self, term.arguments)
                except ValueError:  # another number of arguments
                    raise NotAColumnError from None
            case _:
                raise NotAColumnError

    def number(self, term: Term, *, strict: bool = False) -> ColumnTerm:
        """A term as an integer; other numbers are left to tasks, and what is no number has no value. With `strict`, that too
        is left to tasks.
        """
        if not isinstance(term, Variable):
            found = self.of(term)
            if found.kind == Kind.INTEGER:
                return found
            if strict or found.kind == Kind.DOUBLE:
                raise NotAColumnError
            return nothing(Kind.INTEGER).also(found)
        known = self.variables[term.name]
        if not known.classes & INTEGERS:
            if strict or known.classes & VALUED:
                raise NotAColumnError
            return nothing(Kind.INTEGER)
        most = SMALL_INTEGER if not known.classes & INTEGERS & ~SMALL_INTEGERS else INLINE
        found = ColumnTerm(Kind.INTEGER, f"shiftright({known.column}, 2)", most=min(most, known.most))
        if not known.classes & ~INTEGERS:
            return found
        inside = is_in_sql(known.column, INTEGERS)
        if strict:
            return replace(found, exact=(Condition(inside),))
        unsure = known.classes & VALUED & ~INTEGERS
        exact = (Condition(f"(NOT {is_in_sql(known.column, unsure)})"),) if unsure else ()
        return replace(
            found, sql=f"IF({inside}, {found.sql}, NULL)", exact=exact, always=unsure == known.classes & ~INTEGERS
        )

    def is_double(self, term: Term) -> bool:
        """Whether a term has doubles only that are inside their ids; a column of other numbers, too, is left to tasks."""
        if isinstance(term, Variable):
            known = self.variables[term.name]
            return known.double is not None or (bool(known.classes) and not known.classes & ~INLINE_DOUBLES)
        return self.of(term).kind == Kind.DOUBLE

    def double(self, term: Term) -> ColumnTerm:
        """A term that has doubles only."""
        if not isinstance(term, Variable):
            return self.of(term)
        known = self.variables[term.name]
        return known.double or double_column(known.column)

    def boolean(self, term: Term) -> ColumnTerm:
        if not isinstance(term, Variable):
            return self._of_kind(term, Kind.BOOLEAN)
        known = self.variables[term.name]
        if not known.classes & BOOLEANS:
            return nothing(Kind.BOOLEAN)
        holds = boolean_sql(known.column)
        if not known.classes & ~BOOLEANS:
            return ColumnTerm(Kind.BOOLEAN, holds)
        inside = is_in_sql(known.column, BOOLEANS)
        return ColumnTerm(Kind.BOOLEAN, f"IF({inside}, {holds}, NULL)", always=False)

    def text(self, term: Term) -> ColumnTerm:
        if not isinstance(term, Variable):
            return self._of_kind(term, Kind.STRING)
        known = self.variables[term.name]
        if not known.classes & STRINGS:
            return nothing(Kind.STRING)
        if known.text is not None:
            return ColumnTerm(Kind.STRING, known.text, texts=known.of)
        is_text = not known.classes & ~STRINGS
        return ColumnTerm(Kind.STRING, text_column(known.column), always=is_text, texts=frozenset({known.column}))

    def _of_kind(self, term: Term, kind: Kind) -> ColumnTerm:
        """An expression where it is of this kind; what is of another kind has no value."""
        found = self.of(term)
        return found if found.kind == kind else nothing(kind).also(found)

    def calculated(self, operator: str, *sides: Term) -> ColumnTerm:
        if any(map(self.is_double, sides)):
            return calculated_doubles(self, operator, *sides)
        left, right = (self.number(side) for side in sides)
        found = _calculated(operator, left, right)
        return found.also(left, right)


def _constant(term: Constant) -> ColumnTerm:
    value = term.value
    if type(value) is int and abs(value) < _LONG:
        return ColumnTerm(Kind.INTEGER, constant_sql(value) if value >= 0 else f"({value}L)", most=abs(value))
    if type(value) is float:
        return double_constant(value)
    if type(value) is bool:
        return ColumnTerm(Kind.BOOLEAN, constant_sql(value))
    if type(value) is str and not _ODD.search(value):
        return ColumnTerm(Kind.STRING, constant_sql(value))
    raise NotAColumnError


def _calculated(operator: str, left: ColumnTerm, right: ColumnTerm) -> ColumnTerm:
    a, b = left.sql, right.sql
    if operator in _SYMBOLS:
        most = left.most * right.most if operator == "*" else left.most + right.most
        if most < _LONG:
            return ColumnTerm(Kind.INTEGER, f"({a} {operator} {b})", most=most)
        found = f"{_SYMBOLS[operator]}({a}, {b})"
        fits = f"({found} IS NOT NULL OR {a} IS NULL OR {b} IS NULL)"
        return ColumnTerm(Kind.INTEGER, found, (Condition(fits, left.texts | right.texts),), most=_LONG)
    if left.most >= _LONG:
        raise NotAColumnError  # the least integer by -1
    if right.most == 0:
        return nothing(Kind.INTEGER)
    always = _is_literal(b)
    by = b if always else f"IF({b} = 0, NULL, {b})"
    match operator:
        case "div":
            return ColumnTerm(Kind.INTEGER, f"({a} DIV {by})", most=left.most, always=always)
        case "%":
            return ColumnTerm(Kind.INTEGER, f"({a} % {by})", most=min(left.most, right.most), always=always)
        case _:
            whole = Condition(f"coalesce({a} % {by} = 0, TRUE)", left.texts | right.texts)
            return ColumnTerm(Kind.INTEGER, f"({a} DIV {by})", (whole,), most=left.most, always=always)


def _is_literal(sql: str) -> bool:
    return sql.strip("()-").removesuffix("L").isdigit()


def id_sql(found: ColumnTerm, collisions: CollisionTable) -> tuple[str, tuple[Condition, ...]]:
    """The id of a value, and what must hold for it."""
    match found.kind:
        case Kind.INTEGER:
            number = f"shiftleft({found.sql}, 2)"
            if found.most < INLINE:
                return number, found.exact
            inside = f"coalesce({found.sql} BETWEEN -{INLINE}L AND {INLINE - 1}L, TRUE)"
            return number, (*found.exact, Condition(inside, found.texts))
        case Kind.BOOLEAN:
            return (
                f"CASE WHEN {found.sql} THEN {id_of(True)}L WHEN NOT {found.sql} THEN {id_of(False)}L END",
                found.exact,
            )
        case Kind.DOUBLE:
            raise NotAColumnError  # the universe has to learn of each
        case _:
            if collisions.salts:
                raise NotAColumnError
            digest = f"xxhash64({int(Kind.STRING)}L, {found.sql}) & {(1 << collisions.hash_bits) - 1}L"
            number = f"(shiftleft({digest}, 5) | {int(Kind.STRING) << 2 | 2}L)"
            return number if found.always else f"IF({found.sql} IS NULL, NULL, {number})", found.exact


def known_of(column: str, found: ColumnTerm) -> Known:
    """The variable that has the value of an expression in every row."""
    match found.kind:
        case Kind.INTEGER:
            small = found.most <= SMALL_INTEGER
            return Known(column, SMALL_INTEGERS if small else INTEGERS, min(found.most, INLINE))
        case Kind.BOOLEAN:
            return Known(column, BOOLEANS)
        case Kind.DOUBLE:
            return Known(column, DOUBLES)
        case _:
            return Known(column, STRINGS, text=found.sql, of=found.texts)
