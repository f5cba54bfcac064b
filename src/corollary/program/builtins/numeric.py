"""Numbers: arithmetic under its names, comparisons, rounding."""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal
from functools import partial
from typing import Any

from corollary.program.arithmetic import calculate, compare, number_of
from corollary.program.builtins.declaration import ROUND_TO_BITS
from corollary.program.builtins.registry import declare
from corollary.program.values import EXACT, Value
from corollary.settings import ALL_BITS

_NUMBERS = partial(declare, chapter="Numbers")

_ARITHMETIC: list[tuple[str, str, str, str, list[tuple[str, str | None]]]] = [
    ("+", "ADD", "numeric-add", "the sum", [("ADD(2, 3)", "5"), ("ADD(0.1, 0.2)", "0.3"), ("ADD(a, 1)", None)]),
    ("-", "SUBTRACT", "numeric-subtract", "the difference", [("SUBTRACT(2, 3)", "-1")]),
    ("*", "MULTIPLY", "numeric-multiply", "the product", [("MULTIPLY(2, 1.5)", "3")]),
    ("/", "DIVIDE", "numeric-divide", "the quotient", [("DIVIDE(5, 2)", "2.5"), ("DIVIDE(5, 0)", None)]),
    ("div", "INTEGER_DIVIDE", "numeric-integer-divide", "the whole part of the quotient",
     [("INTEGER_DIVIDE(-7, 2)", "-3"), ("INTEGER_DIVIDE(7, 0)", None)]),
    ("%", "MODULUS", "numeric-mod", "the remainder, with the sign of the left side",
     [("MODULUS(-7, 2)", "-1"), ("MODULUS(7.5, 2)", "1.5")]),
]  # fmt: skip
for _symbol, _iris, _rif, _summary, _examples in _ARITHMETIC:
    _NUMBERS(
        f"func:{_rif}", _iris, f"NUMERIC_{_iris}", of="number, number", gives="number",
        summary=_summary, examples=_examples, operator=_symbol, raw=True,
    )(partial(calculate, _symbol))  # fmt: skip

_COMPARISONS = [
    ("=", "numeric-equal", "NUMERIC_EQUAL", "the numbers are equal", "1, 1.0e0"),
    ("!=", "numeric-not-equal", "NUMERIC_NOT_EQUAL", "the numbers differ", "1, 2"),
    ("<", "numeric-less-than", "NUMERIC_LESS", "the first number is less", "1, 1.5"),
    ("<=", "numeric-less-than-or-equal", "NUMERIC_LESS_EQUAL", "the first number is not greater", "1, 1"),
    (">", "numeric-greater-than", "NUMERIC_GREATER", "the first number is greater", "2, 1"),
    (">=", "numeric-greater-than-or-equal", "NUMERIC_GREATER_EQUAL", "the first number is not less", "2, 2"),
]
for _symbol, _rif, _iris, _summary, _example in _COMPARISONS:
    _NUMBERS(
        f"pred:{_rif}", _iris, of="number, number", gives="boolean", summary=_summary, raw=True,
        examples=[(f"pred:{_rif}({_example})", "true"), (f"pred:{_rif}(a, b)", None)],
    )(partial(compare, _symbol))  # fmt: skip


@_NUMBERS(
    "abs", "ABS", of="number", gives="number", summary="the number without its sign",
    examples=[("abs(-2.5)", "2.5"), ("abs(a)", None)],
)  # fmt: skip
def _abs(value: Any) -> Any:
    return value.copy_abs() if isinstance(value, Decimal) else abs(value)


@_NUMBERS(
    "floor", "FLOOR", of="number", gives="number", summary="the greatest whole number that is not above",
    examples=[("floor(-2.5)", "-3"), ("floor(2.5e0)", "2.0e0"), ('floor("-INF"^^xsd:double)', '"-INF"^^xsd:double')],
)  # fmt: skip
def _floor(value: Any) -> Any:
    return _whole(math.floor, value)


@_NUMBERS(
    "ceiling", "CEILING", of="number", gives="number", summary="the smallest whole number that is not below",
    examples=[("ceiling(-2.5)", "-2"), ("ceiling(-0.5e0)", "-0.0e0")],
)  # fmt: skip
def _ceiling(value: Any) -> Any:
    return _whole(math.ceil, value)


@_NUMBERS(
    "round", "ROUND", of="number", gives="number", summary="the nearest whole number, a half goes up",
    examples=[("round(2.5)", "3"), ("round(-2.5)", "-2"), ("round(0.49999999999999994e0)", "0.0e0")],
)  # fmt: skip
def _round(value: Any) -> Any:
    return _whole(_nearest, value)


def _nearest(value: Any) -> int:
    if isinstance(value, float):
        below = math.floor(value)
        return below if value - below < 0.5 else below + 1  # adding a half to the double could round it up
    return value if isinstance(value, int) else math.floor(EXACT.add(value, Decimal("0.5")))


@_NUMBERS(
    ROUND_TO_BITS, of="any, integer", gives="any", raw=True,
    summary="the double nearest to a double or xsd:float that has so many significant bits (1 to 53), a half goes to the "
    "even one; anything else as it is",
    examples=[
        ("ROUND_TO_BITS(0.1e0, 4)", "0.1015625e0"), ("ROUND_TO_BITS(9.0e0, 3)", "8.0e0"), ("ROUND_TO_BITS(0.1, 4)", "0.1"),
        ("ROUND_TO_BITS(1.0e0, 54)", None),
    ],
)  # fmt: skip
def _round_to_bits(value: Value, bits: int) -> Value | None:
    number = number_of(value)
    if not 1 <= bits <= ALL_BITS:
        return None
    if not isinstance(number, float):
        return value
    if number == 0.0 or not math.isfinite(number):
        return number
    part, exponent = math.frexp(number)
    try:
        return math.ldexp(round(part * 2**bits), exponent - bits)
    except OverflowError:
        return math.copysign(math.inf, number)


def _whole(rounded: Callable[[Any], int], value: Any) -> Any:
    """Return the rounded number; doubles stay doubles, with infinities, NaN and the sign of zero."""
    if not isinstance(value, float):
        return rounded(value)
    return math.copysign(float(rounded(value)), value) if math.isfinite(value) else value
