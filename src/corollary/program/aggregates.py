"""The six aggregates. Each takes the values of one group: one value per distinct binding of the body, in any order."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Sequence
from decimal import Decimal
from fractions import Fraction
from functools import reduce
from typing import TypeAlias

from corollary.program.arithmetic import EvaluationError, Number, calculate, compare, number_of
from corollary.program.datatypes import single
from corollary.program.values import Value, canonical, identity

Aggregate: TypeAlias = Callable[[Sequence[Value]], Value]


def find_aggregate(name: str) -> str | None:
    """Return the canonical name of the aggregate that `name` means (`MED` is `median`), or None."""
    lowered = name.lower()
    return _ALIASES.get(lowered, lowered) if lowered in AGGREGATES or lowered in _ALIASES else None


def aggregate(function: str, values: Sequence[Value], *, distinct: bool = False) -> Value:
    """Return the aggregate of a nonempty group; raise `EvaluationError` for a value of a type that it does not take."""
    if distinct:
        values = list({identity(value): value for value in values}.values())
    return AGGREGATES[function](values)


def _count(values: Sequence[Value]) -> Value:
    return len(values)


def _sum(values: Sequence[Value]) -> Value:
    numbers = _numbers("sum", values)
    if not any(isinstance(number, float) for number in numbers):
        return _exact_total(numbers)
    if all(type(value) is float for value in values):
        try:
            if total := math.fsum(numbers):  # correctly rounded; zeros and failures are handled below
                return total
        except (OverflowError, ValueError):
            pass
    return _unless_exact(numbers, 1, values)


def _average(values: Sequence[Value]) -> Value:
    numbers = _numbers("avg", values)
    try:
        if not any(isinstance(number, float) for number in numbers):
            return float(Fraction(_exact_total(numbers)) / len(numbers))
        return _mean(numbers)
    except OverflowError as error:
        raise EvaluationError("the average is out of range") from error


def _exact_total(numbers: Sequence[Number]) -> Number:
    """Return the sum of the numbers that are not doubles."""
    total: Value = 0
    for number in numbers:
        if not isinstance(number, float):
            total = calculate("+", total, number)
    return total  # type: ignore[return-value]


def _mean(numbers: Sequence[Number]) -> float:
    """Return the double nearest to the sum of numbers, some of which are doubles, divided by their count."""
    special = _special_sum(numbers)
    return special if special is not None else _nearest(_exact_sum(numbers) / len(numbers))


def _unless_exact(numbers: Sequence[Number], divisor: int, values: Sequence[Value]) -> Value:
    """Return the number nearest to the sum of `numbers` divided by `divisor`: a double, or an xsd:float if no value is
    a double.

    The exact result is rounded once, so that it depends neither on the order of the bindings nor on how they were
    partitioned.
    """
    special = _special_sum(numbers)
    is_double = any(type(value) is float for value in values)
    if special is not None:
        return special if is_double else single(special)
    exact = _exact_sum(numbers) / divisor
    return _nearest(exact) if is_double else single(_rounded_to_odd(exact))


def _special_sum(numbers: Sequence[Number]) -> float | None:
    """Return the sum if an infinity or NaN decides it, or if every number is zero; otherwise None.

    Raise `EvaluationError` if the exact numbers alone exceed all doubles, as arithmetic does.
    """
    doubles = [number for number in numbers if isinstance(number, float)]
    infinite = [double for double in doubles if not math.isfinite(double)]
    if infinite:
        return sum(infinite)
    if not any(numbers):
        return sum(doubles, -0.0) if len(doubles) == len(numbers) else 0.0
    calculate("+", _exact_total(numbers), 0.0)
    return None


def _exact_sum(numbers: Sequence[Number]) -> Fraction:
    """Return the sum of finite numbers. `fsum` rounds it correctly; the remainder is summed again until nothing is left."""
    doubles = [number for number in numbers if isinstance(number, float)]
    total = Fraction(_exact_total(numbers))
    try:
        while doubles and (part := math.fsum(doubles)):
            total += Fraction(part)
            doubles.append(-part)
    except OverflowError:  # a partial sum is out of range; the whole sum may not be
        return Fraction(_exact_total(numbers)) + sum(
            Fraction(number) for number in numbers if isinstance(number, float)
        )
    return total


def _nearest(exact: Fraction) -> float:
    try:
        return float(exact)
    except OverflowError:
        return math.inf if exact > 0 else -math.inf


def _rounded_to_odd(exact: Fraction) -> float:
    """Return a double from which rounding to xsd:float gives the same as from the exact number: never a tie by accident."""
    nearest = _nearest(exact)
    if not math.isfinite(nearest) or Fraction(nearest) == exact or struct.pack("<d", nearest)[0] & 1:
        return nearest
    return math.nextafter(nearest, math.inf if exact > nearest else -math.inf)


def _median(values: Sequence[Value]) -> Value:
    ordered = [value for _, value in sorted(zip(_numbers("median", values), values, strict=True), key=_by_value)]
    middle = len(ordered) // 2
    if len(ordered) % 2:
        return ordered[middle]
    both = ordered[middle - 1 : middle + 1]
    low, high = _numbers("median", both)
    if isinstance(low, float) or isinstance(high, float):
        return _unless_exact((low, high), 2, both)
    total = calculate("+", low, high)
    return canonical(calculate("*", total, Decimal("0.5")))


def _extreme(symbol: str) -> Aggregate:
    def better(best: Value, value: Value) -> Value:
        if compare(symbol, value, best):
            return value
        if compare("=", value, best):  # of equal numbers the exact one is kept, so that the order does not matter
            return min(best, value, key=lambda number: (isinstance(number, float), repr(number)))
        return best

    def extreme(values: Sequence[Value]) -> Value:
        numbers = [number_of(value) for value in values]
        nans = [value for value, number in zip(values, numbers, strict=True) if number != number]
        if nans and None not in numbers:  # NaN has no order: one of them makes the result NaN, whatever its position
            return min(nans, key=lambda nan: type(nan) is not float)
        compare(symbol, values[0], values[0])  # a single value without an order has no extreme, either
        return reduce(better, values)

    return extreme


def _numbers(name: str, values: Sequence[Value]) -> Sequence[Number]:
    numbers = [number_of(value) for value in values]
    if any(number is None for number in numbers):
        raise EvaluationError(f"{name} needs numbers")
    return numbers  # type: ignore[return-value]


def _by_value(pair: tuple[Number, Value]) -> tuple[bool, Number, int, float]:
    """Return a sort key: NaN first, then by value; of equal numbers the exact one first, then xsd:float, then the
    double; -0.0 before 0.0."""
    number, value = pair
    nan = number != number
    kind = 2 if type(value) is float else isinstance(number, float)
    return (not nan, 0 if nan else number, kind, math.copysign(1, number) if kind and not nan else 0)


AGGREGATES: dict[str, Aggregate] = {
    "count": _count,
    "sum": _sum,
    "min": _extreme("<"),
    "max": _extreme(">"),
    "avg": _average,
    "median": _median,
}
_ALIASES = {"med": "median"}
