"""Durations of XML Schema: a number of months and a number of seconds, of which a duration of one kind has only one."""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal

from corollary.program.values import EXACT

_FORM = re.compile(
    r"(?P<sign>-)?P(?=.)(?:(?P<years>\d+)Y)?(?:(?P<months>\d+)M)?(?:(?P<days>\d+)D)?"
    r"(?P<time>T(?=.)(?:(?P<hours>\d+)H)?(?:(?P<minutes>\d+)M)?(?:(?P<seconds>\d+(?:\.\d+)?)S)?)?",
    re.ASCII,
)
DURATION_TYPES = ("duration", "dayTimeDuration", "yearMonthDuration")


@dataclass(frozen=True, slots=True)
class Duration:
    """Both numbers have the same sign, or one of them is 0."""

    months: int
    seconds: Decimal

    @property
    def datatype(self) -> str:
        """The narrowest datatype that has this value; no time at all is a dayTimeDuration."""
        if not self.months:
            return "dayTimeDuration"
        return "duration" if self.seconds else "yearMonthDuration"

    def is_a(self, name: str) -> bool:
        return name == "duration" or not (self.months if name == "dayTimeDuration" else self.seconds)


def parse_duration(lexical: str, name: str) -> Duration | None:
    """Return the value of a lexical form of a datatype; None where it is not one."""
    match = _FORM.fullmatch(lexical)
    if match is None:
        return None
    found = match.groupdict()
    if name == "dayTimeDuration" and (found["years"] or found["months"]):
        return None
    if name == "yearMonthDuration" and (found["days"] or found["time"]):
        return None
    whole = {part: int(found[part] or 0) for part in ("years", "months", "days", "hours", "minutes")}
    months = whole["years"] * 12 + whole["months"]
    seconds = EXACT.add(
        Decimal(((whole["days"] * 24 + whole["hours"]) * 60 + whole["minutes"]) * 60), Decimal(found["seconds"] or 0)
    )
    return Duration(-months, EXACT.minus(seconds)) if found["sign"] else Duration(months, seconds)


def duration_text(duration: Duration) -> str:
    """The canonical form."""
    months, seconds = abs(duration.months), EXACT.abs(duration.seconds)
    whole = int(seconds)
    date = _parts((months // 12, "Y"), (months % 12, "M"), (whole // 86_400, "D"))
    time = _parts((whole // 3600 % 24, "H"), (whole // 60 % 60, "M"))
    rest = EXACT.subtract(seconds, Decimal(whole - whole % 60))
    if rest:
        time += format(rest.normalize(EXACT), "f") + "S"
    sign = "-" if duration.months < 0 or duration.seconds < 0 else ""
    return f"{sign}P{date}{'T' if time else ''}{time}" if date or time else "PT0S"


def _parts(*parts: tuple[int, str]) -> str:
    return "".join(f"{number}{letter}" for number, letter in parts if number)
