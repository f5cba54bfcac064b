"""Dates, times and durations: comparison, their parts, and arithmetic. Values without a time zone count as UTC."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterator
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from functools import partial
from typing import Any

from corollary.program.arithmetic import calculate
from corollary.program.builtins.registry import declare
from corollary.program.datatypes import of_duration, of_moment
from corollary.program.datatypes.calendar import DAY, Duration, Moment
from corollary.program.values import EXACT, Literal, Value

_TIME = partial(declare, chapter="Dates and times")
_DURATION = partial(declare, chapter="Durations")

_SIGNS: list[tuple[str, str, str, Callable[[Any, Any], bool]]] = [
    ("equal", "EQUAL", "equal", operator.eq),
    ("not-equal", "NOT_EQUAL", "different", operator.ne),
    ("less-than", "LESS", "in order", operator.lt),
    ("less-than-or-equal", "LESS_EQUAL", "in order or equal", operator.le),
    ("greater-than", "GREATER", "in the opposite order", operator.gt),
    ("greater-than-or-equal", "GREATER_EQUAL", "in the opposite order or equal", operator.ge),
]
_ORDERED: dict[str, tuple[str, str, str]] = {
    "dateTime": ("", '"2026-01-01T12:00:00+01:00"^^xsd:dateTime', '"2026-01-01T11:30:00Z"^^xsd:dateTime'),
    "date": ("", '"2026-01-01"^^xsd:date', '"2026-01-02"^^xsd:date'),
    "time": ("", '"11:00:00"^^xsd:time', '"12:00:00+00:30"^^xsd:time'),
    "yearMonthDuration": ("duration", '"P11M"^^xsd:yearMonthDuration', '"P1Y"^^xsd:yearMonthDuration'),
    "dayTimeDuration": ("duration", '"PT23H"^^xsd:dayTimeDuration', '"P1D"^^xsd:dayTimeDuration'),
}


def _place(value: Moment | Duration) -> Any:
    return value.place if isinstance(value, Moment) else (value.months, value.seconds)


def _compared(holds: Callable[[Any, Any], bool]) -> Callable[[Any, Any], bool]:
    return lambda left, right: holds(_place(left), _place(right))


for _type, (_family, _earlier, _later) in _ORDERED.items():
    for _local, _iris, _says, _holds in _SIGNS:
        if _family and _local in ("equal", "not-equal"):
            continue  # all durations share one
        _is_true = _holds(1, 2)
        (_DURATION if _family else _TIME)(
            f"pred:{_type}-{_local}", f"{_type.upper()}_{_iris}", of=f"{_type}, {_type}", gives="boolean",
            summary=f"two constants of xsd:{_type} are {_says}",
            examples=[(f"pred:{_type}-{_local}({_earlier}, {_later})", "true" if _is_true else "false")],
        )(_compared(_holds))  # fmt: skip
for _local, _iris, _says, _holds in _SIGNS[:2]:
    _DURATION(
        f"pred:duration-{_local}", f"DURATION_{_iris}", of="duration, duration", gives="boolean",
        summary=f"two durations are {_says}",
        examples=[
            (f'pred:duration-{_local}("P1Y"^^xsd:duration, "P12M"^^xsd:yearMonthDuration)', str(_holds(1, 1)).lower())
        ],
    )(_compared(_holds))  # fmt: skip

# -- parts -------------------------------------------------------------------------------------------------------------


def _second(moment: Moment) -> Value:
    return EXACT.add(Decimal(moment.seconds % 60), moment.fraction)


PARTS: dict[str, tuple[tuple[str, ...], Callable[[Moment], Value]]] = {
    "year": (("dateTime", "date"), lambda moment: moment.year),
    "month": (("dateTime", "date"), lambda moment: moment.month),
    "day": (("dateTime", "date"), lambda moment: moment.day),
    "hours": (("dateTime", "time"), lambda moment: moment.seconds // 3600),
    "minutes": (("dateTime", "time"), lambda moment: moment.seconds // 60 % 60),
    "seconds": (("dateTime", "time"), _second),
}
_SAMPLE = {"dateTime": '"2026-01-31T12:30:45.5Z"', "date": '"2026-01-31Z"', "time": '"12:30:45.5Z"'}
_SAMPLED = {"year": "2026", "month": "1", "day": "31", "hours": "12", "minutes": "30", "seconds": "45.5"}
_IRIS_PARTS = {"hours": "HOUR", "minutes": "MINUTE", "seconds": "SECOND"}


def _spelled(part: str, name: str) -> Iterator[str]:
    """Yield the names as in IRIS: HOURS_FROM_TIME, and HOUR_FROM_TIME."""
    for word in dict.fromkeys((_IRIS_PARTS.get(part, part.upper()), part.upper())):
        yield f"{word}_FROM_{name.upper()}"


for _part, (_types, _find) in PARTS.items():
    for _type in _types:
        _TIME(
            f"func:{_part}-from-{_type}", *_spelled(_part, _type),
            of=_type, gives="decimal" if _part == "seconds" else "integer", summary=f"the {_part} of a {_type}",
            examples=[(f"func:{_part}-from-{_type}({_SAMPLE[_type]}^^xsd:{_type})", _SAMPLED[_part])],
        )(_find)  # fmt: skip


def time_zone(moment: Moment) -> Literal | None:
    return None if moment.zone is None else of_duration(Duration(0, Decimal(moment.zone * 60)))


for _type, _sample in (("dateTime", "2026-01-31T12:00:00"), ("date", "2026-01-31"), ("time", "12:00:00")):
    _TIME(
        f"func:timezone-from-{_type}", f"TIMEZONE_FROM_{_type.upper()}", of=_type, gives="dayTimeDuration",
        summary=f"the time zone of a {_type}; it has no value where there is none",
        examples=[
            (f'func:timezone-from-{_type}("{_sample}-05:00"^^xsd:{_type})', '"-PT5H"^^xsd:dayTimeDuration'),
            (f'func:timezone-from-{_type}("{_sample}"^^xsd:{_type})', None),
        ],
    )(time_zone)  # fmt: skip

DURATION_PARTS: dict[str, tuple[Callable[[Duration], Value], str]] = {
    "years": (lambda one: _towards_zero(one.months, 12), "-1"),
    "months": (lambda one: one.months - 12 * _towards_zero(one.months, 12), "-2"),
    "days": (lambda one: _towards_zero(one.seconds, DAY), "-3"),
    "hours": (lambda one: _towards_zero(EXACT.remainder(one.seconds, Decimal(DAY)), 3600), "-4"),
    "minutes": (lambda one: _towards_zero(EXACT.remainder(one.seconds, Decimal(3600)), 60), "-5"),
    "seconds": (lambda one: EXACT.remainder(one.seconds, Decimal(60)), "-6.5"),
}


def _towards_zero(amount: int | Decimal, unit: int) -> int:
    size: int | Decimal = -amount if amount < 0 else amount
    whole = int(size) // unit
    return -whole if amount < 0 else whole


for _part, (_meaning, _sampled) in DURATION_PARTS.items():
    _DURATION(
        f"func:{_part}-from-duration", f"{_part.upper()}_FROM_DURATION", of="duration",
        gives="decimal" if _part == "seconds" else "integer", summary=f"the {_part} of a duration, with its sign",
        examples=[(f'func:{_part}-from-duration("-P1Y2M3DT4H5M6.5S"^^xsd:duration)', _sampled)],
    )(_meaning)  # fmt: skip

# -- arithmetic --------------------------------------------------------------------------------------------------------


def _difference(left: Moment, right: Moment) -> Literal:
    (whole, fraction), (less, rest) = left.place, right.place
    return of_duration(Duration(0, EXACT.add(Decimal(whole - less), EXACT.subtract(fraction, rest))))


for _type, _left, _right, _result in [
    ("dateTime", "2026-03-01T00:00:00Z", "2026-02-28T12:00:00Z", "PT12H"),
    ("date", "2026-03-01", "2026-02-28", "P1D"),
    ("time", "11:12:00Z", "04:00:00Z", "PT7H12M"),
]:
    _TIME(
        f"func:subtract-{_type}s", f"SUBTRACT_{_type.upper()}S", f"{_type.upper()}_SUBTRACT", of=f"{_type}, {_type}",
        gives="dayTimeDuration",
        summary=f"how much time lies between two values of {_type}, the second one first",
        examples=[
            (f'func:subtract-{_type}s("{_left}"^^xsd:{_type}, "{_right}"^^xsd:{_type})',
             f'"{_result}"^^xsd:dayTimeDuration')
        ],
    )(_difference)  # fmt: skip


def _moved(name: str, sign: int) -> Callable[[Moment, Duration], Literal]:
    """Return the sum of a moment and a duration: first the months, then the seconds; a date drops the time of day."""

    def moved(moment: Moment, duration: Duration) -> Literal:
        whole = int(duration.seconds // 1)
        rest = EXACT.subtract(duration.seconds, Decimal(whole))
        if sign < 0:
            whole, rest = -whole, -rest
        found = moment.moved_months(sign * duration.months).moved(whole, rest)
        if name == "date":
            found = replace(found, seconds=0, fraction=Decimal(0))
        return of_moment(found, name)

    return moved


_MOVES = [
    ("yearMonthDuration", "dateTime", "2026-01-31T12:00:00", "P1M", "2026-02-28T12:00:00", "2025-12-31T12:00:00"),
    ("yearMonthDuration", "date", "2024-02-29", "P1Y", "2025-02-28", "2023-02-28"),
    ("dayTimeDuration", "dateTime", "2026-12-31T23:00:00Z", "PT1H30M", "2027-01-01T00:30:00Z", "2026-12-31T21:30:00Z"),
    ("dayTimeDuration", "date", "2026-12-31", "P1D", "2027-01-01", "2026-12-30"),
    ("dayTimeDuration", "time", "23:00:00", "PT2H", "01:00:00", "21:00:00"),
]
for _duration, _type, _sample, _by, _later, _earlier in _MOVES:
    for _verb, _word, _sign, _result in (("add", "to", 1, _later), ("subtract", "from", -1, _earlier)):
        _TIME(
            f"func:{_verb}-{_duration}-{_word}-{_type}", f"{_verb}_{_duration}_{_word}_{_type}".upper(),
            of=f"{_type}, {_duration}", gives=_type,
            summary=f"the {_type} so much {'later' if _sign > 0 else 'earlier'}",
            examples=[
                (f'func:{_verb}-{_duration}-{_word}-{_type}("{_sample}"^^xsd:{_type}, "{_by}"^^xsd:{_duration})',
                 f'"{_result}"^^xsd:{_type}')
            ],
        )(_moved(_type, _sign))  # fmt: skip


def _sum(sign: int) -> Callable[[Duration, Duration], Literal]:
    return lambda left, right: of_duration(
        Duration(
            left.months + sign * right.months, EXACT.add(left.seconds, EXACT.multiply(Decimal(sign), right.seconds))
        )
    )


def _amount(number: Any) -> Fraction:
    return Fraction(repr(number)) if isinstance(number, float) else Fraction(number)


def _one_part(number: Any) -> Fraction:
    """Return one divided by a number; divided by infinity, that is zero."""
    return Fraction(0) if isinstance(number, float) and math.isinf(number) else 1 / _amount(number)


def _scaled(duration: Duration, factor: Fraction) -> Literal:
    """Return the duration times a factor: months are rounded half up, seconds have as many digits as a division gives."""
    months = (Fraction(duration.months) * factor + Fraction(1, 2)).__floor__()
    product = Fraction(duration.seconds) * factor
    seconds = calculate("/", product.numerator, product.denominator)
    return of_duration(Duration(months, Decimal(seconds)))  # type: ignore[arg-type]


def _quotient(left: Duration, right: Duration) -> Value:
    here, there = (one.months or Fraction(one.seconds) for one in (left, right))
    found = Fraction(here) / Fraction(there)
    return calculate("/", found.numerator, found.denominator)


for _type, _one, _two, _both, _less, _twice, _third in [
    ("yearMonthDuration", "P2Y", "P3M", "P2Y3M", "P1Y9M", "P5Y", "P8M"),
    ("dayTimeDuration", "P1D", "PT6H", "P1DT6H", "PT18H", "P2DT12H", "PT8H"),
]:
    _a, _b = f'"{_one}"^^xsd:{_type}', f'"{_two}"^^xsd:{_type}'
    _upper = _type.upper()
    _DURATION(
        f"func:add-{_type}s", f"ADD_{_upper}S", f"ADD_{_upper}", f"{_upper}_ADD", of=f"{_type}, {_type}", gives=_type,
        summary="the sum",
        examples=[(f"func:add-{_type}s({_a}, {_b})", f'"{_both}"^^xsd:{_type}')],
    )(_sum(1))  # fmt: skip
    _DURATION(
        f"func:subtract-{_type}s", f"SUBTRACT_{_upper}S", f"{_upper}_SUBTRACT", of=f"{_type}, {_type}", gives=_type,
        summary="the difference", examples=[(f"func:subtract-{_type}s({_a}, {_b})", f'"{_less}"^^xsd:{_type}')],
    )(_sum(-1))  # fmt: skip
    _DURATION(
        f"func:multiply-{_type}", f"MULTIPLY_{_upper}", f"{_upper}_MULTIPLY", of=f"{_type}, number", gives=_type,
        summary="the duration so many times", examples=[(f"func:multiply-{_type}({_a}, 2.5)", f'"{_twice}"^^xsd:{_type}')],
    )(lambda duration, number: _scaled(duration, _amount(number)))  # fmt: skip
    _DURATION(
        f"func:divide-{_type}", f"DIVIDE_{_upper}", f"{_upper}_DIVIDE", of=f"{_type}, number", gives=_type,
        summary="a part of the duration",
        examples=[
            (f"func:divide-{_type}({_a}, 3)", f'"{_third}"^^xsd:{_type}'), (f"func:divide-{_type}({_a}, 0)", None),
            (f'func:divide-{_type}({_a}, "INF"^^xsd:double)', '"PT0S"^^xsd:dayTimeDuration'),
        ],
    )(lambda duration, number: _scaled(duration, _one_part(number)))  # fmt: skip
    _DURATION(
        f"func:divide-{_type}-by-{_type}", f"DIVIDE_{_upper}_BY_{_upper}", f"{_upper}_DIVIDE_BY_{_upper}",
        of=f"{_type}, {_type}", gives="decimal",
        summary="how often the second duration goes into the first",
        examples=[(f"func:divide-{_type}-by-{_type}({_a}, {_b})", "8" if _one == "P2Y" else "4")],
    )(_quotient)  # fmt: skip
