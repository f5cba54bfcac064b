"""Arithmetic and comparison on values: the one definition that every engine must agree with.

Integers and decimals are exact; with a double on either side the result is a double. `/` rounds to 18 digits after the
point (half to even); `div` and `%` truncate towards zero. An operation without a value raises `EvaluationError`.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from decimal import Decimal, DecimalException
from fractions import Fraction
from typing import Any, TypeAlias

from corollary.program.datatypes import place_of, single, single_of
from corollary.program.values import EXACT, Iri, Literal, Value, canonical, identity

Number: TypeAlias = int | Decimal | float

DIVISION_DIGITS = 18
COMPARISON_OPERATORS = ("=", "!=", "<", "<=", ">", ">=")
ARITHMETIC_OPERATORS = ("+", "-", "*", "/", "div", "%")


class EvaluationError(Exception):
    """Raised if an expression has no value for its arguments (a wrong type, a division by zero, an overflow)."""


def is_number(value: Value) -> bool:
    """Return whether a constant is a number that Python computes with; `number_of` also covers xsd:float."""
    return type(value) in (int, Decimal, float)


def number_of(value: Value) -> Number | None:
    """Return the number of a constant, including one of xsd:float; None if it is not a number."""
    if isinstance(value, Literal):
        return single_of(value)
    return value if is_number(value) else None  # type: ignore[return-value]


def calculate(symbol: str, left: Value, right: Value) -> Value:
    """Return `left symbol right` for one of `ARITHMETIC_OPERATORS`."""
    if not (is_number(left) and is_number(right)):
        return _calculate_single(symbol, left, right)
    try:
        if type(left) is float or type(right) is float:
            return _DOUBLE[symbol](float(left), float(right))  # type: ignore[arg-type]
        return canonical(_EXACT[symbol](left, right))
    except (OverflowError, DecimalException) as error:
        raise EvaluationError("the result is out of range") from error


def _calculate_single(symbol: str, left: Value, right: Value) -> Value:
    """Return the result with an xsd:float on one side: an xsd:float, unless the other side is a double."""
    numbers = number_of(left), number_of(right)
    if numbers[0] is None or numbers[1] is None:
        raise EvaluationError(f"'{symbol}' needs numbers")
    try:
        result = calculate(symbol, float(numbers[0]), float(numbers[1]))
    except OverflowError as error:
        raise EvaluationError("the result is out of range") from error
    return single(result) if isinstance(result, float) and float not in (type(left), type(right)) else result


def negate(value: Value) -> Value:
    if isinstance(value, Literal) and (number := single_of(value)) is not None:
        return single(-number)
    if not is_number(value):
        raise EvaluationError("'-' needs a number")
    return canonical(EXACT.minus(value)) if isinstance(value, Decimal) else -value  # type: ignore[operator]


def compare(symbol: str, left: Value, right: Value) -> bool:
    """Return whether `left symbol right` holds: numbers by value across types, everything else within its own type."""
    if symbol in ("=", "!="):
        return equal(left, right) is (symbol == "=")
    if type(left) is type(right) and isinstance(left, (str, bool, Iri)):
        return _ORDER[symbol](left, right)
    a, b = number_of(left), number_of(right)
    if a is not None and b is not None:
        return a == a and b == b and _ORDER[symbol](a, b)  # NaN has no order
    if isinstance(left, Literal) and isinstance(right, Literal):
        here, there = place_of(left), place_of(right)
        if here is not None and there is not None and here[0] == there[0]:
            return _ORDER[symbol](here[1], there[1])
    raise EvaluationError(f"'{symbol}' cannot compare these values")


def equal(left: Value, right: Value) -> bool:
    """Return whether `=` holds: numbers and moments by value, everything else by identity."""
    a, b = number_of(left), number_of(right)
    if a is not None and b is not None:
        return a == b
    if isinstance(left, Literal) and isinstance(right, Literal):
        here = place_of(left)
        if here is not None:
            return here == place_of(right)
    return identity(left) == identity(right)


def _decimal(value: object) -> Decimal:
    return value if isinstance(value, Decimal) else Decimal(value)  # type: ignore[arg-type]


def _exactly(on_integers: Callable[..., int], on_decimals: Callable[..., Decimal]) -> Callable[..., Value]:
    def operation(left: Value, right: Value) -> Value:
        if type(left) is int and type(right) is int:
            return on_integers(left, right)
        return on_decimals(_decimal(left), _decimal(right))

    return operation


def _divide(left: int | Decimal, right: int | Decimal) -> Value:
    if right == 0:
        raise EvaluationError("division by zero")
    scaled = round(Fraction(left) / Fraction(right) * 10**DIVISION_DIGITS)
    return EXACT.scaleb(Decimal(scaled), -DIVISION_DIGITS)


def _quotient(left: int | Decimal, right: int | Decimal) -> int:
    if right == 0:
        raise EvaluationError("division by zero")
    return math.trunc(Fraction(left) / Fraction(right))


def _remainder(left: int | Decimal, right: int | Decimal) -> Value:
    product = _EXACT["*"](right, _quotient(left, right))
    return _EXACT["-"](left, product)


def _double_divide(left: float, right: float) -> float:
    if right != 0.0:
        return left / right
    if left == 0.0 or math.isnan(left):
        return math.nan
    return math.copysign(math.inf, left) * math.copysign(1.0, right)


def _double_quotient(left: float, right: float) -> Value:
    if right == 0.0 or not math.isfinite(left) or math.isnan(right):
        raise EvaluationError("no integer quotient")
    if math.isinf(right):
        return 0
    return math.trunc(Fraction(left) / Fraction(right))  # exact, so that the remainder is, too


def _double_remainder(left: float, right: float) -> float:
    if right == 0.0 or math.isinf(left):
        return math.nan
    return math.fmod(left, right)


_EXACT: dict[str, Callable[..., Value]] = {
    "+": _exactly(operator.add, EXACT.add),
    "-": _exactly(operator.sub, EXACT.subtract),
    "*": _exactly(operator.mul, EXACT.multiply),
    "/": _divide,
    "div": _quotient,
    "%": _remainder,
}
_DOUBLE: dict[str, Callable[[float, float], Value]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": _double_divide,
    "div": _double_quotient,
    "%": _double_remainder,
}
_ORDER: dict[str, Callable[[Any, Any], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
