"""Parts of dates, times and durations, each under one name for all datatypes."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from corollary.program.builtins.calendar import DURATION_PARTS, PARTS, time_zone
from corollary.program.builtins.registry import declare
from corollary.program.datatypes import duration_of, moment_of
from corollary.program.values import XSD, Literal, Value

_PART = partial(declare, chapter="Dates and times", of="any", raw=True)

_TYPES: dict[str, tuple[str, tuple[str, ...], str, str]] = {
    # the part of a moment, the datatypes that have it, and an example with its value
    "year": ("year", ("dateTime", "date", "gYear", "gYearMonth"), '"2026-01"^^xsd:gYearMonth', "2026"),
    "month": ("month", ("dateTime", "date", "gMonth", "gYearMonth", "gMonthDay"), '"2026-01-31"^^xsd:date', "1"),
    "day": ("day", ("dateTime", "date", "gDay", "gMonthDay"), '"---31"^^xsd:gDay', "31"),
    "hour": ("hours", ("dateTime", "time"), '"12:30:45.5Z"^^xsd:time', "12"),
    "minute": ("minutes", ("dateTime", "time"), '"PT1H30M"^^xsd:duration', "30"),
    "second": ("seconds", ("dateTime", "time"), '"2026-01-31T12:30:45.5"^^xsd:dateTime', "45.5"),
}


def _part(part: str, types: tuple[str, ...]) -> Callable[[Value], Value | None]:
    find = PARTS[part][1]
    of_duration = DURATION_PARTS[part if part.endswith("s") else part + "s"][0]

    def found(value: Value) -> Value | None:
        if not isinstance(value, Literal):
            return None
        if value.datatype.removeprefix(XSD) in types:
            moment = moment_of(value)
            return None if moment is None else find(moment)
        duration = duration_of(value)
        return None if duration is None else of_duration(duration)

    return found


for _name, (_of, _types, _sample, _value) in _TYPES.items():
    _PART(
        f"{_name.upper()}_PART", gives="decimal" if _name == "second" else "integer",
        summary=f"the {_of} of a date, a time or a duration that has such a part",
        examples=[(f"{_name.upper()}_PART({_sample})", _value), (f'{_name.upper()}_PART("2026")', None)],
    )(_part(_of, _types))  # fmt: skip


@_PART(
    "TIMEZONE_PART", gives="dayTimeDuration", summary="the time zone of a date or a time; it has no value where there is none",
    examples=[
        ('TIMEZONE_PART("12:00:00-05:00"^^xsd:time)', '"-PT5H"^^xsd:dayTimeDuration'),
        ('TIMEZONE_PART("2026-01-31"^^xsd:date)', None),
    ],
)  # fmt: skip
def _time_zone(value: Value) -> Literal | None:
    moment = moment_of(value) if isinstance(value, Literal) else None
    return None if moment is None else time_zone(moment)
