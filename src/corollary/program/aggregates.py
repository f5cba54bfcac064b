"""The six aggregates. Each takes the values of one group: one value per distinct binding of the body, in any order."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from decimal import Decimal
from fractions import Fraction
from functools import reduce
from typing import TypeAlias

from corollary.program.arithmetic import EvaluationError, Number, calculate, compare, is_number
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
    numbers = _numbers("sum", values)
    doubles = [float(number) for number in numbers if isinstance(number, float)]
    exact: Value = 0
    for number in _exact(numbers):
        exact = calculate("+", exact, number)
    # One correctly rounded sum of the doubles: the result may not depend on the order of the bindings.
    return calculate("+", exact, _sum_of_doubles(doubles)) if doubles else exact


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
    total = _sum(values)
    if isinstance(total, float):
        return total / len(values)
    try:
        return float(Fraction(total) / len(values))  # type: ignore[arg-type]
    except OverflowError as error:
        raise EvaluationError("the average is out of range") from error


def _median(values: Sequence[Value]) -> Value:
    ordered = sorted(_numbers("median", values), key=_by_value)
    middle = len(ordered) // 2
    if len(ordered) % 2:
        return ordered[middle]
    low, high = ordered[middle - 1], ordered[middle]
    if isinstance(low, float) or isinstance(high, float):
        return float(low) / 2 + float(high) / 2
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
        nans = [value for value in values if isinstance(value, float) and math.isnan(value)]
        if nans and all(is_number(value) for value in values):
            return nans[0]  # NaN is in no order: one of them makes the result NaN, wherever it stands
        return reduce(better, values)

    return extreme


def _numbers(name: str, values: Sequence[Value]) -> Sequence[Number]:
    if not all(is_number(value) for value in values):
        raise EvaluationError(f"{name} needs numbers")
    return values  # type: ignore[return-value]


def _exact(numbers: Sequence[Number]) -> list[Number]:
    return [number for number in numbers if not isinstance(number, float)]


def _by_value(number: Number) -> tuple[bool, Number, bool]:
    """NaN first, then by value; of equal numbers the exact one first."""
    nan = isinstance(number, float) and math.isnan(number)
    return (not nan, 0 if nan else number, isinstance(number, float))


AGGREGATES: dict[str, Aggregate] = {
    "count": _count,
    "sum": _sum,
    "min": _extreme("<"),
    "max": _extreme(">"),
    "avg": _average,
    "median": _median,
}
_ALIASES = {"med": "median"}
