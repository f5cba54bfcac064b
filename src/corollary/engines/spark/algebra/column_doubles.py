"""Doubles as column expressions, for comparisons: those that rules name, those of columns that hold nothing else, and what is
computed from them. A new double is made by tasks, since Spark has no expression for the bits of one.

Spark computes with doubles as everybody does. Only its order is another one: there NaN equals itself and is above all numbers.
"""

from __future__ import annotations

import math
from decimal import Decimal
from typing import TYPE_CHECKING

from corollary.engines.embedded.values.universe import Kind
from corollary.engines.spark.algebra.column_term import ColumnTerm, NotAColumnError
from corollary.engines.spark.terms.double_ids import MOST, double_sql, inline_double_id
from corollary.program import Constant, Term, Variable

if TYPE_CHECKING:
    from corollary.engines.spark.algebra.column_terms import ColumnTerms

_WHOLE = 1 << 53  # up to here every integer is a double
_ANY = 10**300
"""From here on a result may be infinite, and what is computed with it no number."""
_SQL = {"!=": "<>"}
_NOT_BELOW = {"<": "<=", "<=": "<=", ">": ">", ">=": ">"}
_NOT_ABOVE = {"<": "<", "<=": "<", ">": ">=", ">=": ">="}


def double_constant(value: float) -> ColumnTerm:
    if not math.isfinite(value):
        raise NotAColumnError
    return ColumnTerm(Kind.DOUBLE, f"({value!r}D)", most=math.ceil(abs(value)))


def double_column(column: str) -> ColumnTerm:
    """The values of a column of doubles that are their own ids."""
    return ColumnTerm(Kind.DOUBLE, double_sql(column), most=MOST)


def negative_double(operand: ColumnTerm) -> ColumnTerm:
    return ColumnTerm(Kind.DOUBLE, f"(- {operand.sql})", most=operand.most).also(operand)


def calculated_doubles(terms: ColumnTerms, operator: str, left: Term, right: Term) -> ColumnTerm:
    """`left operator right` where one side is a double."""
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
    """Whether `left operator right` holds where the left side is a double and no constant."""
    a, b = terms.double(left), _nearest(terms, right)
    if isinstance(right, Constant):
        nearest = float(right.value)  # type: ignore[arg-type]
        operator = _with_nearest(operator, Decimal(right.value), Decimal(nearest))  # type: ignore[arg-type]
        number = inline_double_id(nearest + 0.0)  # 0.0 for the one with a minus, which it equals
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
    """How a double compares with the double nearest to a number where it compares so with the number itself."""
    if nearest == number:
        return operator
    if operator in ("=", "!="):
        raise NotAColumnError
    return _NOT_BELOW[operator] if nearest < number else _NOT_ABOVE[operator]


def _nearest(terms: ColumnTerms, side: Term) -> ColumnTerm:
    """The double nearest to a number, which is what arithmetic takes."""
    if isinstance(side, Constant) and type(side.value) in (int, Decimal):
        try:
            return double_constant(float(side.value))  # type: ignore[arg-type]
        except OverflowError:
            raise NotAColumnError from None
    if terms.is_double(side):
        return terms.double(side)
    number = terms.number(side, strict=True)
    return ColumnTerm(Kind.DOUBLE, f"CAST({number.sql} AS DOUBLE)", most=number.most).also(number)
