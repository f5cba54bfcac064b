"""Comparisons as column expressions: integers with any number that a rule names, booleans, strings."""

from __future__ import annotations

import math
from decimal import Decimal
from typing import TypeAlias

from corollary.engines.embedded.values.universe import Kind
from corollary.engines.spark.algebra.column_doubles import compared_doubles
from corollary.engines.spark.algebra.column_term import ColumnTerm, NotAColumnError
from corollary.engines.spark.algebra.column_terms import ColumnTerms
from corollary.engines.spark.algebra.profiles import STRINGS
from corollary.program import Constant, Term, Variable

_LONG = 1 << 63
_TURNED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "=": "=", "!=": "!="}
_SQL = {"!=": "<>"}
_Number: TypeAlias = int | float | Decimal


def compared(terms: ColumnTerms, operator: str, left: Term, right: Term) -> ColumnTerm:
    """Whether `left operator right` holds, NULL where that has no value."""
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
        case _:  # two variables may both be something else, which has an order too
            plain = kind is None or operator == "!="
            sides = [terms.number(side, strict=plain) for side in (left, right)]
    return _holds(operator, sides)


def numbers_compared(terms: ColumnTerms, operator: str, left: Term, right: Term) -> ColumnTerm:
    """Compare two terms as numbers: anything else has no value."""
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
    """Raise `NotAColumnError` where a value may be missing: values of different types differ, and no expression can tell the two
    apart."""
    if operator == "!=" and not all(side.always for side in sides):
        raise NotAColumnError


def _kind(terms: ColumnTerms, side: Term) -> Kind | None:
    """The kind of a side, where it shows: of variables only that they are strings."""
    if isinstance(side, Variable):
        return Kind.STRING if not terms.variables[side.name].classes & ~STRINGS else None
    return terms.of(side).kind


def _of_doubles(terms: ColumnTerms, operator: str, left: Term, right: Term) -> ColumnTerm | None:
    """The comparison of a double; integers are compared with a double that a rule names as integers."""
    if not isinstance(left, Constant) and terms.is_double(left):
        return compared_doubles(terms, operator, left, right)
    if not isinstance(right, Constant) and terms.is_double(right):
        return compared_doubles(terms, _TURNED[operator], right, left)
    return None


def _is_number(side: Term) -> bool:
    return isinstance(side, Constant) and type(side.value) in (int, float, Decimal)


def _with_number(side: ColumnTerm, operator: str, number: _Number) -> ColumnTerm:
    """Integers compared with a number of any kind are integers compared with a whole one."""

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
    whole = low if operator in ("<=", ">") else high  # an integer below 2.5 is below 3, one above it is above 2
    if abs(whole) >= _LONG:
        return always(operator == "!=" or operator.startswith("<" if whole > 0 else ">"))
    return ColumnTerm(Kind.BOOLEAN, f"({side.sql} {_SQL.get(operator, operator)} ({whole}L))").also(side)
