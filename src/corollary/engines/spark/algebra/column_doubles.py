"""Arithmetic of doubles with integers as column expressions, for comparisons: what is computed is finite for sure.

Only a double that a rule names starts such an expression: doubles in relations are hashed, and their values are in the universe.
"""

from __future__ import annotations

import math
from decimal import Decimal
from typing import TYPE_CHECKING

from corollary.engines.embedded.universe import Kind
from corollary.engines.spark.algebra.column_term import ColumnTerm, NotAColumnError
from corollary.program import Constant, Term

if TYPE_CHECKING:
    from corollary.engines.spark.algebra.column_terms import ColumnTerms

_EXACT = 1 << 53  # up to here every integer is a double
_FINITE = 10**300


def double_constant(value: float) -> ColumnTerm:
    if not math.isfinite(value):
        raise NotAColumnError
    return _finite(f"({value!r}D)", math.ceil(abs(value)))


def negative_double(operand: ColumnTerm) -> ColumnTerm:
    return ColumnTerm(Kind.DOUBLE, f"(- {operand.sql})", most=operand.most).also(operand)


def calculated_doubles(terms: ColumnTerms, operator: str, left: Term, right: Term) -> ColumnTerm:
    """`left operator right` where one side is a double."""
    a, b = (_as_double(terms, side) for side in (left, right))
    match operator:
        case "+" | "-":
            most = a.most + b.most
        case "*":
            most = a.most * b.most
        case "/" if isinstance(right, Constant) and float(right.value) != 0.0:  # type: ignore[arg-type]
            most = math.ceil(a.most / abs(float(right.value)))  # type: ignore[arg-type]
        case _:
            raise NotAColumnError
    return _finite(f"({a.sql} {operator} {b.sql})", most).also(a, b)


def compared_doubles(terms: ColumnTerms, operator: str, left: Term, right: Term) -> ColumnTerm:
    """Whether `left operator right` holds, an operator of SQL, where one side is a double."""
    sides = [_as_double(terms, side) for side in (left, right)]
    if any(not _is_same(terms, side) for side in (left, right)):
        raise NotAColumnError
    a, b = sides
    return ColumnTerm(Kind.BOOLEAN, f"({a.sql} {operator} {b.sql})").also(a, b)


def _finite(sql: str, most: int) -> ColumnTerm:
    if most >= _FINITE:
        raise NotAColumnError
    return ColumnTerm(Kind.DOUBLE, sql, most=most)


def _as_double(terms: ColumnTerms, side: Term) -> ColumnTerm:
    """The double nearest to a number, which is what arithmetic takes."""
    if isinstance(side, Constant) and type(side.value) is Decimal:
        return double_constant(float(side.value))
    if terms.is_double(side):
        return terms.of(side)
    number = terms.number(side, strict=True)
    return ColumnTerm(Kind.DOUBLE, f"CAST({number.sql} AS DOUBLE)", most=number.most).also(number)


def _is_same(terms: ColumnTerms, side: Term) -> bool:
    """Whether a side is equal to its nearest double in every row."""
    if isinstance(side, Constant):
        return Decimal(float(side.value)) == Decimal(side.value)  # type: ignore[arg-type]
    return terms.is_double(side) or terms.number(side, strict=True).most <= _EXACT
