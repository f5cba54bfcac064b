"""Expressions as Spark column expressions over ids, for the rows in which these are exact.

An id contains the class of its constant, and integers, doubles and booleans are inside their ids. So most arithmetic
needs neither Python nor the universe. Tasks do what Spark would compute differently, or not at all: each expression has
conditions under which it is right, most of which the profiles of the relations prove in advance.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import TYPE_CHECKING, TypeAlias

from corollary.engines.embedded.values.universe import Kind
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
from corollary.engines.spark.terms.double_ids import MOST, double_sql, inline_double_id
from corollary.engines.spark.terms.ids import CollisionTable, boolean_sql, id_of
from corollary.program import Arithmetic, Constant, FunctionTerm, Minus, Term, Variable

if TYPE_CHECKING:
    pass

# -- column term -------------------------------------------------------------------------------------------------------

# The value of an expression as SQL text, with the conditions under which it is right.


class NotAColumnError(Exception):
    """Raised for a term that Spark's expressions cannot compute."""


@dataclass(frozen=True)
class Condition:
    """A condition under which an expression is right; it has a value in every row, and may depend on texts."""

    sql: str
    texts: frozenset[str] = frozenset()


@dataclass(frozen=True)
class ColumnTerm:
    """An expression for the value of a term, NULL for no value; `always` if it has a value in every row."""

    kind: Kind
    sql: str
    exact: tuple[Condition, ...] = ()
    most: int = 0
    always: bool = True
    texts: frozenset[str] = frozenset()

    def also(self, *others: ColumnTerm) -> ColumnTerm:
        """Return a copy that also has the conditions and texts of its parts."""
        return replace(
            self,
            exact=tuple(dict.fromkeys([*self.exact, *(one for other in others for one in other.exact)])),
            always=self.always and all(other.always for other in others),
            texts=self.texts.union(*(other.texts for other in others)),
        )


def text_column(column: str) -> str:
    """Return the name of the column with the texts of a column's strings."""
    return f"{column}_text"


# -- column doubles ----------------------------------------------------------------------------------------------------

# Doubles as column expressions, for comparisons: literal ones, columns with nothing but doubles, and what is computed
# from these. A new double is made by tasks, because Spark has no expression for its bits.
#
# Spark's arithmetic on doubles is the usual one. Only its order differs: there, NaN equals itself and is above all numbers.

_WHOLE = 1 << 53  # every integer up to here is exactly a double
_ANY = 10**300
"""From here on a result may be infinite, and what is computed with it NaN."""
_SQL = {"!=": "<>"}
_NOT_BELOW = {"<": "<=", "<=": "<=", ">": ">", ">=": ">"}
_NOT_ABOVE = {"<": "<", "<=": "<", ">": ">=", ">=": ">="}


def double_constant(value: float) -> ColumnTerm:
    if not math.isfinite(value):
        raise NotAColumnError
    return ColumnTerm(Kind.DOUBLE, f"({value!r}D)", most=math.ceil(abs(value)))


def double_column(column: str) -> ColumnTerm:
    """Return the values of a column of inline doubles."""
    return ColumnTerm(Kind.DOUBLE, double_sql(column), most=MOST)


def negative_double(operand: ColumnTerm) -> ColumnTerm:
    return ColumnTerm(Kind.DOUBLE, f"(- {operand.sql})", most=operand.most).also(operand)


def calculated_doubles(terms: ColumnTerms, operator: str, left: Term, right: Term) -> ColumnTerm:
    """Return `left operator right` if one side is a double."""
    a, b = (_nearest(terms, side) for side in (left, right))
    match operator:
        case "+" | "-":
            most = a.most + b.most
        case "*":
            most = a.most * b.most
        case "/" if isinstance(right, Constant) and abs(float(right.value)) > 1e-300:  # type: ignore[arg-type]
            most = a.most * math.ceil(1 / abs(float(right.value)))  # type: ignore[arg-type]
        case _:
            raise NotAColumnError
    return ColumnTerm(Kind.DOUBLE, f"({a.sql} {operator} {b.sql})", most=most).also(a, b)


def compared_doubles(terms: ColumnTerms, operator: str, left: Term, right: Term) -> ColumnTerm:
    """Return whether `left operator right` holds if the left side is a double and not a constant."""
    a, b = terms.double(left), _nearest(terms, right)
    if isinstance(right, Constant):
        nearest = float(right.value)  # type: ignore[arg-type]
        operator = _with_nearest(operator, Decimal(right.value), Decimal(nearest))  # type: ignore[arg-type]
        number = inline_double_id(nearest + 0.0)  # adding 0.0 turns -0.0 into 0.0, which it equals
        if isinstance(left, Variable) and number is not None and terms.variables[left.name].double is None:
            sql = f"({terms.variables[left.name].column} {_SQL.get(operator, operator)} {number}L)"
            return ColumnTerm(Kind.BOOLEAN, sql)
    elif not terms.is_double(right) and terms.number(right, strict=True).most > _WHOLE:
        raise NotAColumnError
    unsure = [side.sql for side in (a, b) if side.most >= _ANY]
    if operator == "!=":
        tests = [f"{a.sql} {_SQL[operator]} {b.sql}", *(f"isnan({sql})" for sql in unsure)]
        return ColumnTerm(Kind.BOOLEAN, f"({' OR '.join(tests)})").also(a, b)
    tests = [f"{a.sql} {operator} {b.sql}", *(f"NOT isnan({sql})" for sql in unsure)]
    return ColumnTerm(Kind.BOOLEAN, f"({' AND '.join(tests)})").also(a, b)


def _with_nearest(operator: str, number: Decimal, nearest: Decimal) -> str:
    """Return the operator that compares a double with the nearest double of a number as `operator` does with the number."""
    if nearest == number:
        return operator
    if operator in ("=", "!="):
        raise NotAColumnError
    return _NOT_BELOW[operator] if nearest < number else _NOT_ABOVE[operator]


def _nearest(terms: ColumnTerms, side: Term) -> ColumnTerm:
    """Return the double nearest to a number, which arithmetic uses."""
    if isinstance(side, Constant) and type(side.value) in (int, Decimal):
        try:
            return double_constant(float(side.value))  # type: ignore[arg-type]
        except OverflowError:
            raise NotAColumnError from None
    if terms.is_double(side):
        return terms.double(side)
    number = terms.number(side, strict=True)
    return ColumnTerm(Kind.DOUBLE, f"CAST({number.sql} AS DOUBLE)", most=number.most).also(number)


# -- column terms ------------------------------------------------------------------------------------------------------

INLINE = 1 << 61
"""Integers from here on are not inside their ids."""
_LONG = 1 << 63
_ODD = re.compile("[\ud800-\udfff]")  # lone surrogates, which Spark's texts cannot contain
_SYMBOLS = {"+": "try_add", "-": "try_subtract", "*": "try_multiply"}


@dataclass(frozen=True)
class Known:
    """A variable: the column of its ids, their classes, and the greatest absolute value of its integers.

    A text computed before has its expression in `text`, over the text columns `of`. A double that tasks will make has
    its value in `double`, and no column yet.
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
    """Return a term without a value in any row."""
    return ColumnTerm(kind, _NOTHING[kind], always=False)


class ColumnTerms:
    """Terms as column expressions; `variables` holds what is known of each. Only texts of strings are looked up."""

    def __init__(self, variables: Mapping[str, Known]) -> None:
        self.variables = variables

    def of(self, term: Term) -> ColumnTerm:
        """Return a term whose kind is known; a variable alone has none."""
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
                except ValueError:  # a wrong number of arguments
                    raise NotAColumnError from None
            case _:
                raise NotAColumnError

    def number(self, term: Term, *, strict: bool = False) -> ColumnTerm:
        """Return a term as an integer; other numbers are left to tasks, and other values are no value (with `strict`,
        they are left to tasks, too)."""
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
        """Return whether all values of a term are inline doubles; a column with other numbers, too, is left to tasks."""
        if isinstance(term, Variable):
            known = self.variables[term.name]
            return known.double is not None or (bool(known.classes) and not known.classes & ~INLINE_DOUBLES)
        return self.of(term).kind == Kind.DOUBLE

    def double(self, term: Term) -> ColumnTerm:
        """Return a term all of whose values are doubles."""
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
        """Return an expression of this kind; without a value where the term is of another kind."""
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
        raise NotAColumnError  # the least integer divided by -1
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
    """Return the id of a value, and the conditions for it."""
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
            raise NotAColumnError  # the universe must learn each of them
        case _:
            if collisions.salts:
                raise NotAColumnError
            digest = f"xxhash64({int(Kind.STRING)}L, {found.sql}) & {(1 << collisions.hash_bits) - 1}L"
            number = f"(shiftleft({digest}, 5) | {int(Kind.STRING) << 2 | 2}L)"
            return number if found.always else f"IF({found.sql} IS NULL, NULL, {number})", found.exact


def known_of(column: str, found: ColumnTerm) -> Known:
    """Return the variable for an expression with a value in every row."""
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
