"""Arithmetic, functions and comparisons on whole columns of codes.

Columns of machine integers and columns of doubles are computed by numpy; integer results that would leave 64 bits, decimals
and everything else go value by distinct value through the definitions of `corollary.program`, which every path agrees with.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from corollary.engines.embedded.relation import Codes
from corollary.engines.embedded.universe import Kind, Universe
from corollary.planning import Compare, Compute
from corollary.program import (
    Arithmetic,
    Constant,
    EvaluationError,
    FunctionTerm,
    Minus,
    Structure,
    Term,
    Value,
    Variable,
    compare,
    evaluate_term,
    variables_of,
)

Array: TypeAlias = np.ndarray[Any, Any]
NO_VALUE = Structure("\0no value", ())

_SAFE = float(1 << 62)  # results below this, as doubles see them, are surely within 64 bits


@dataclass
class _Numbers:
    """A column that numpy can work on: int64 or float64."""

    values: Array


class _NotVectorised(Exception):
    """This expression needs values of other types than numpy computes with."""


def compute_column(
    compute: Compute, columns: dict[str, Codes], count: int, universe: Universe
) -> tuple[Codes, np.ndarray[Any, np.dtype[np.bool_]]]:
    """The codes of an expression's values, and for which rows it has one."""
    if isinstance(compute.expression, Variable):
        return columns[compute.expression.name], np.ones(count, np.bool_)
    if isinstance(compute.expression, Constant):
        code = universe.encode(compute.expression.value)
        return np.full(count, code, np.uint32), np.ones(count, np.bool_)
    try:
        numbers, valid = _evaluate(compute.expression, columns, count, universe)
        codes = _encode(numbers, universe)
    except _NotVectorised:
        codes, valid = _by_value(compute.expression, columns, count, universe)
    if compute.total:
        codes = np.where(valid, codes, np.uint32(universe.encode(NO_VALUE)))
        valid = np.ones(count, np.bool_)
    return codes, valid


def first_error(term: Term, columns: dict[str, Codes], count: int, universe: Universe) -> str | None:
    """Why the term has no value in some row, or None where it has one in all of them."""
    _, valid = compute_column(Compute("", term), columns, count, universe)
    if valid.all():
        return None
    row = int(np.flatnonzero(~valid)[0])
    names = {variable.name for variable in variables_of(term)}
    try:
        evaluate_term(term, {name: universe.value(int(columns[name][row])) for name in names})
    except EvaluationError as error:
        return str(error)
    return "no value"


def holds_column(comparison: Compare, columns: dict[str, Codes], count: int, universe: Universe) -> Array:
    """For which rows a comparison of expressions holds (or, negated, does not)."""
    try:
        left, left_valid = _evaluate(comparison.left, columns, count, universe)
        right, right_valid = _evaluate(comparison.right, columns, count, universe)
        holds = _COMPARE[comparison.operator](left.values, right.values) & left_valid & right_valid
        if left.values.dtype != right.values.dtype and _beyond_doubles(left, right):
            raise _NotVectorised
    except _NotVectorised:
        holds = _compare_by_value(comparison, columns, count, universe)
    return ~holds if comparison.negated else holds


def _beyond_doubles(*columns: _Numbers) -> bool:
    """Whether numpy's conversion of integers to doubles could lose something in a mixed comparison."""
    return any(
        column.values.dtype == np.int64
        and len(column.values)
        and np.abs(column.values.astype(np.float64)).max() > 2**53
        for column in columns
    )


# -- numpy -------------------------------------------------------------------------------------------------------------


def _evaluate(term: Term, columns: dict[str, Codes], count: int, universe: Universe) -> tuple[_Numbers, Array]:
    everywhere = np.ones(count, np.bool_)
    match term:
        case Constant():
            if type(term.value) is int and abs(term.value) < 1 << 62:
                return _Numbers(np.full(count, term.value, np.int64)), everywhere
            if type(term.value) is float:
                return _Numbers(np.full(count, term.value, np.float64)), everywhere
            raise _NotVectorised
        case Variable():
            return _numbers_of(columns[term.name], universe), everywhere
        case Minus():
            operand, valid = _evaluate(term.operand, columns, count, universe)
            return _Numbers(_checked(-operand.values, -operand.values.astype(np.float64))), valid
        case Arithmetic():
            left, left_valid = _evaluate(term.left, columns, count, universe)
            right, right_valid = _evaluate(term.right, columns, count, universe)
            numbers, valid = _arithmetic(term.operator, left.values, right.values)
            return numbers, valid & left_valid & right_valid
        case FunctionTerm(name="abs"):
            operand, valid = _evaluate(term.arguments[0], columns, count, universe)
            return _Numbers(_checked(np.abs(operand.values), np.abs(operand.values.astype(np.float64)))), valid
        case _:
            raise _NotVectorised


def _numbers_of(codes: Codes, universe: Universe) -> _Numbers:
    kinds = universe.kinds[codes]
    if (kinds == Kind.INTEGER).all():
        return _Numbers(universe.words[codes])
    if (kinds == Kind.DOUBLE).all():
        return _Numbers(universe.words[codes].view(np.float64))
    raise _NotVectorised


def _arithmetic(operator: str, left: Array, right: Array) -> tuple[_Numbers, Array]:
    if left.dtype != right.dtype:
        left, right = left.astype(np.float64), right.astype(np.float64)
    everywhere = np.ones(len(left), np.bool_)
    with np.errstate(all="ignore"):
        if left.dtype == np.float64:
            return _double_arithmetic(operator, left, right)
        rough_left, rough_right = left.astype(np.float64), right.astype(np.float64)
        if operator in "+-*":
            operation = {"+": np.add, "-": np.subtract, "*": np.multiply}[operator]
            return _Numbers(_checked(operation(left, right), operation(rough_left, rough_right))), everywhere
        valid = right != 0
        divisor = np.where(valid, right, 1)
        if operator == "/":
            if (left % divisor != 0).any():
                raise _NotVectorised  # a decimal comes out
            return _Numbers(_checked(left // divisor, rough_left)), valid
        quotient = np.sign(left) * np.sign(divisor) * (np.abs(left) // np.abs(divisor))
        _checked(left, rough_left)
        return _Numbers(quotient if operator == "div" else left - quotient * divisor), valid


def _double_arithmetic(operator: str, left: Array, right: Array) -> tuple[_Numbers, Array]:
    everywhere = np.ones(len(left), np.bool_)
    match operator:
        case "+":
            return _Numbers(left + right), everywhere
        case "-":
            return _Numbers(left - right), everywhere
        case "*":
            return _Numbers(left * right), everywhere
        case "/":
            return _Numbers(left / right), everywhere
        case "%":
            return _Numbers(np.fmod(left, right)), everywhere
        case _:
            raise _NotVectorised


def _checked(result: Array, rough: Array) -> Array:
    if result.dtype == np.int64 and len(rough) and np.abs(rough).max() >= _SAFE:
        raise _NotVectorised
    return result


def _encode(numbers: _Numbers, universe: Universe) -> Codes:
    if numbers.values.dtype == np.int64:
        return universe.encode_integers(numbers.values)
    return universe.encode_doubles(numbers.values)


# -- value by value ----------------------------------------------------------------------------------------------------


def _by_value(expression: Term, columns: dict[str, Codes], count: int, universe: Universe) -> tuple[Codes, Array]:
    def one(row: dict[str, Value]) -> int | None:
        try:
            return universe.encode(evaluate_term(expression, row))
        except EvaluationError:
            return None

    results, places = _for_distinct(expression, columns, count, universe, one)
    codes = np.array([0 if result is None else result for result in results], np.uint32)
    valid = np.array([result is not None for result in results], np.bool_)
    return codes[places], valid[places]


def _compare_by_value(comparison: Compare, columns: dict[str, Codes], count: int, universe: Universe) -> Array:
    def one(row: dict[str, Value]) -> bool:
        try:
            left, right = evaluate_term(comparison.left, row), evaluate_term(comparison.right, row)
            return compare(comparison.operator, left, right)
        except EvaluationError:
            return False

    both = Arithmetic("+", comparison.left, comparison.right)  # only its variables matter
    results, places = _for_distinct(both, columns, count, universe, one)
    return np.array(results, np.bool_)[places]


def _for_distinct(
    term: Term, columns: dict[str, Codes], count: int, universe: Universe, one: Callable[[dict[str, Value]], Any]
) -> tuple[list[Any], Array]:
    """The result for each distinct combination of the variables' values, and which of them each row has."""
    names = sorted({variable.name for variable in variables_of(term)})
    if not names:
        return [one({})], np.zeros(count, np.int64)
    table = np.stack([columns[name] for name in names], axis=1)
    distinct, places = np.unique(table, axis=0, return_inverse=True)
    values = universe.values(distinct.reshape(-1).tolist())
    width = len(names)
    rows = (values[at : at + width] for at in range(0, len(values), width))
    return [one(dict(zip(names, row, strict=True))) for row in rows], places.reshape(-1)


_COMPARE: dict[str, Callable[[Array, Array], Array]] = {
    "=": np.equal,
    "!=": np.not_equal,
    "<": np.less,
    "<=": np.less_equal,
    ">": np.greater,
    ">=": np.greater_equal,
}
