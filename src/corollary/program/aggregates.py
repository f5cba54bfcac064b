"""The six aggregates. Each takes the values of one group: one value per distinct binding of the body, in any order."""

from __future__ import annotations

import math
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
    """The canonical name of the aggregate that `name` means (`MED` is `median`), or None."""
    lowered = name.lower()
    return _ALIASES.get(lowered, lowered) if lowered in AGGREGATES or lowered in _ALIASES else None


def aggregate(function: str, values: Sequence[Value], *, distinct: bool = False) -> Value:
    """The aggregate of a non-empty group; raises `EvaluationError` when a value has a type it cannot take."""
    if distinct:
        values = list({identity(value): value for value in values}.values())
    return AGGREGATES[function](values)


def _count(values: Sequence[Value]) -> Value:
    return len(values)


def _sum(values: Sequence[Value]) -> Value:
    total = _total(_numbers("sum", values))
    return _like(values, total) if isinstance(total, float) else total


def _total(numbers: Sequence[Number]) -> Number:
    inexact = [number for number in numbers if isinstance(number, float)]
    exact: Value = 0
    for number in numbers:
        if not isinstance(number, float):
            exact = calculate("+", exact, number)
    # One correctly rounded sum of all doubles: the result may not depend on the order of the bindings.
    return calculate("+", exact, _sum_of_doubles(inexact)) if inexact else exact  # type: ignore[return-value]


def _like(values: Sequence[Value], result: float) -> Value:
    """The result as an xsd:float where the values have such numbers and no doubles."""
    return result if any(type(value) is float for value in values) else single(result)


def _sum_of_doubles(doubles: Sequence[float]) -> float:
    try:
        return math.fsum(doubles)
    except ValueError:  # infinities of both signs meet
        return math.nan
    except OverflowError:  # a partial sum is out of range; the whole sum may not be
        infinite = [double for double in doubles if not math.isfinite(double)]
        if infinite:
            return sum(infinite)
        exact = sum((Fraction(double) for double in doubles), Fraction(0))
        try:
            return float(exact)
        except OverflowError:
            return math.inf if exact > 0 else -math.inf


def _average(values: Sequence[Value]) -> Value:
    total = _total(_numbers("avg", values))
    if isinstance(total, float):
        return total / len(values)
    try:
        return float(Fraction(total) / len(values))
    except OverflowError as error:
        raise EvaluationError("the average is out of range") from error


def _median(values: Sequence[Value]) -> Value:
    ordered = [value for _, value in sorted(zip(_numbers("median", values), values, strict=True), key=_by_value)]
    middle = len(ordered) // 2
    if len(ordered) % 2:
        return ordered[middle]
    both = ordered[middle - 1 : middle + 1]
    low, high = _numbers("median", both)
    if isinstance(low, float) or isinstance(high, float):
        return _like(both, _as_double(low) / 2 + _as_double(high) / 2)
    total = calculate("+", low, high)
    return canonical(calculate("*", total, Decimal("0.5")))


def _as_double(number: Number) -> float:
    try:
        return float(number)
    except OverflowError as error:
        raise EvaluationError("the median is out of range") from error


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
        if nans and None not in numbers:  # NaN is in no order: one of them makes the result NaN, wherever it stands
            return min(nans, key=lambda nan: type(nan) is not float)
        return reduce(better, values)

    return extreme


def _numbers(name: str, values: Sequence[Value]) -> Sequence[Number]:
    numbers = [number_of(value) for value in values]
    if any(number is None for number in numbers):
        raise EvaluationError(f"{name} needs numbers")
    return numbers  # type: ignore[return-value]


def _by_value(pair: tuple[Number, Value]) -> tuple[bool, Number, int]:
    """NaN first, then by value; of equal numbers the exact one first, then xsd:float, then the double."""
    number, value = pair
    nan = number != number
    return (not nan, 0 if nan else number, 2 if type(value) is float else isinstance(number, float))


AGGREGATES: dict[str, Aggregate] = {
    "count": _count,
    "sum": _sum,
    "min": _extreme("<"),
    "max": _extreme(">"),
    "avg": _average,
    "median": _median,
}
_ALIASES = {"med": "median"}
