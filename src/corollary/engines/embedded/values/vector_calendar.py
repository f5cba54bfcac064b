"""Dates and times on whole columns: comparison, their parts, differences, and moving them by a constant duration."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any

from corollary.engines.embedded.values.decimals import Units
from corollary.engines.embedded.values.moments import Moments, NotReadError, Spans
from corollary.engines.embedded.values.universe import Kind
from corollary.engines.embedded.values.vector_arithmetic import compared
from corollary.engines.embedded.values.vectors import NotVectorisedError, Vector
from corollary.program import Literal
from corollary.program.builtins.declaration import FUNC, PRED
from corollary.program.datatypes import duration_of
from corollary.program.values import EXACT

CALENDAR_KERNELS: dict[str, Callable[[Sequence[Vector]], Vector]] = {}
"""By the canonical name of the built-in."""

_LONGEST = 1 << 61  # microseconds
_TYPES = ("dateTime", "date", "time")
_SIGNS = (("equal", "="), ("not-equal", "!="), ("less-than", "<"), ("less-than-or-equal", "<="), ("greater-than", ">"),
          ("greater-than-or-equal", ">="))  # fmt: skip
_PARTS: dict[str, Callable[[Moments], Any]] = {
    "year": lambda moments: moments.years,
    "month": lambda moments: moments.months,
    "day": lambda moments: moments.days,
    "hours": lambda moments: moments.clock // 3_600_000_000,
    "minutes": lambda moments: moments.clock // 60_000_000 % 60,
    "seconds": lambda moments: Units(moments.clock % 60_000_000, 6),
}


def _moments(vector: Vector, name: str) -> Moments:
    if not isinstance(vector.values, Moments) or vector.values.name != name:
        raise NotVectorisedError
    return vector.values


def _comparing(name: str, sign: str) -> Callable[[Sequence[Vector]], Vector]:
    def kernel(arguments: Sequence[Vector]) -> Vector:
        for one in arguments:
            _moments(one, name)
        return compared(sign, *arguments)

    return kernel


def _part(name: str, part: str) -> Callable[[Sequence[Vector]], Vector]:
    def kernel(arguments: Sequence[Vector]) -> Vector:
        (vector,) = arguments
        found = _PARTS[part](_moments(vector, name))
        return Vector(Kind.DECIMAL if part == "seconds" else Kind.INTEGER, found, vector.valid)

    return kernel


def _difference(name: str) -> Callable[[Sequence[Vector]], Vector]:
    def kernel(arguments: Sequence[Vector]) -> Vector:
        left, right = arguments
        spans = Spans(_moments(left, name).places() - _moments(right, name).places())
        return Vector(Kind.LITERAL, spans).only(left, right)

    return kernel


def _moving(name: str, sign: int) -> Callable[[Sequence[Vector]], Vector]:
    def kernel(arguments: Sequence[Vector]) -> Vector:
        vector, by = arguments
        duration = duration_of(by.constant) if isinstance(by.constant, Literal) else None
        if duration is None or duration.months:
            raise NotVectorisedError
        microseconds = EXACT.multiply(duration.seconds, Decimal(1_000_000))
        if microseconds != int(microseconds) or abs(microseconds) > _LONGEST:
            raise NotVectorisedError
        try:
            moved = _moments(vector, name).moved(sign * int(microseconds))
        except NotReadError:
            raise NotVectorisedError from None
        return Vector(Kind.LITERAL, moved, vector.valid)

    return kernel


for _name in _TYPES:
    for _local, _sign in _SIGNS:
        CALENDAR_KERNELS[f"{PRED}{_name}-{_local}"] = _comparing(_name, _sign)
    for _word in _PARTS:
        CALENDAR_KERNELS[f"{FUNC}{_word}-from-{_name}"] = _part(_name, _word)
    CALENDAR_KERNELS[f"{FUNC}subtract-{_name}s"] = _difference(_name)
    CALENDAR_KERNELS[f"{FUNC}add-dayTimeDuration-to-{_name}"] = _moving(_name, 1)
    CALENDAR_KERNELS[f"{FUNC}subtract-dayTimeDuration-from-{_name}"] = _moving(_name, -1)
