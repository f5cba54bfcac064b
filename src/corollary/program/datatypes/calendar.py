"""Dates, times and parts of dates of XML Schema: lexical forms, canonical forms, and positions on the time line.

A value keeps the time zone that it was written with. Two values with different zones may be the same moment: they are
equal, but different constants. Values without a zone count as UTC when moments are compared or subtracted.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, replace
from decimal import Decimal

from corollary.program.values import EXACT

_ZONE = r"(?P<zone>Z|[+-](?:0\d|1[0-3]):[0-5]\d|[+-]14:00)?"
_YEAR = r"(?P<year>-?(?:[1-9]\d{3,}|0\d{3}))"
_MONTH, _DAY = r"(?P<month>0[1-9]|1[0-2])", r"(?P<day>0[1-9]|[12]\d|3[01])"
_TIME = r"(?P<time>(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d+)?|24:00:00(?:\.0+)?)"
_FORMS = {
    "dateTime": re.compile(rf"{_YEAR}-{_MONTH}-{_DAY}T{_TIME}{_ZONE}", re.ASCII),
    "date": re.compile(rf"{_YEAR}-{_MONTH}-{_DAY}{_ZONE}", re.ASCII),
    "time": re.compile(rf"{_TIME}{_ZONE}", re.ASCII),
    "gYear": re.compile(rf"{_YEAR}{_ZONE}", re.ASCII),
    "gYearMonth": re.compile(rf"{_YEAR}-{_MONTH}{_ZONE}", re.ASCII),
    "gMonth": re.compile(rf"--{_MONTH}{_ZONE}", re.ASCII),
    "gMonthDay": re.compile(rf"--{_MONTH}-{_DAY}{_ZONE}", re.ASCII),
    "gDay": re.compile(rf"---{_DAY}{_ZONE}", re.ASCII),
}
CALENDAR_TYPES = tuple(_FORMS)

_LEAP_YEAR = 1972  # the year of values without one
DAY = 86_400


@dataclass(frozen=True, slots=True)
class Moment:
    """The parts of a date or time; those that its datatype lacks have the least value. The zone is in minutes or None."""

    year: int = _LEAP_YEAR
    month: int = 1
    day: int = 1
    seconds: int = 0
    """Whole seconds of the day."""
    fraction: Decimal = Decimal(0)
    """The fraction of a second, at least 0 and below 1."""
    zone: int | None = None

    @property
    def place(self) -> tuple[int, Decimal]:
        """Return the whole seconds on the time line of UTC, and the fraction: the order of moments."""
        whole = days_of(self.year, self.month, self.day) * DAY + self.seconds - 60 * (self.zone or 0)
        return whole, self.fraction

    def moved(self, seconds: int, fraction: Decimal = Decimal(0)) -> Moment:
        """Return the moment this much later (or earlier), in the same zone; days carry over."""
        total = EXACT.add(self.fraction, fraction)
        carried = math.floor(total)
        days, rest = divmod(self.seconds + seconds + carried, DAY)
        year, month, day = date_of(days_of(self.year, self.month, self.day) + days)
        return replace(
            self, year=year, month=month, day=day, seconds=rest, fraction=EXACT.subtract(total, Decimal(carried))
        )

    def moved_months(self, months: int) -> Moment:
        """Return this day some months later, or the last day of that month if it is shorter."""
        years, month = divmod(self.month - 1 + months, 12)
        year = self.year + years
        return replace(self, year=year, month=month + 1, day=min(self.day, days_in(year, month + 1)))


def days_of(year: int, month: int, day: int) -> int:
    """Return the number of a day, with 0 for 0000-03-01, in the proleptic calendar."""
    year -= month <= 2
    era, of_era = divmod(year, 400)
    of_year = (153 * (month - 3 if month > 2 else month + 9) + 2) // 5 + day - 1
    return era * 146_097 + of_era * 365 + of_era // 4 - of_era // 100 + of_year


def date_of(days: int) -> tuple[int, int, int]:
    """Return the day with that number."""
    era, of_era = divmod(days, 146_097)
    year = (of_era - of_era // 1460 + of_era // 36_524 - of_era // 146_096) // 365
    of_year = of_era - (365 * year + year // 4 - year // 100)
    shifted = (5 * of_year + 2) // 153
    month = shifted + 3 if shifted < 10 else shifted - 9
    return year + era * 400 + (month <= 2), month, of_year - (153 * shifted + 2) // 5 + 1


def days_in(year: int, month: int) -> int:
    following = (year + 1, 1) if month == 12 else (year, month + 1)
    return days_of(*following, 1) - days_of(year, month, 1)


def parse_moment(lexical: str, name: str) -> Moment | None:
    """Return the value of a lexical form of a datatype; None if it is invalid."""
    match = _FORMS[name].fullmatch(lexical)
    if match is None:
        return None
    found = match.groupdict()
    year, month, day = (
        int(found.get(part) or least) for part, least in (("year", _LEAP_YEAR), ("month", 1), ("day", 1))
    )
    if day > days_in(year, month):
        return None
    moment = Moment(year, month, day, zone=_minutes(found["zone"]))
    if time := found.get("time"):
        hour, minute, second = time.split(":")
        whole, _, fraction = second.partition(".")
        moment = replace(moment, fraction=Decimal(f"0.{fraction or 0}").normalize(EXACT))
        moment = moment.moved(int(hour) * 3600 + int(minute) * 60 + int(whole))  # 24:00:00 is the next day
    return replace(moment, year=_LEAP_YEAR, month=1, day=1) if name == "time" else moment


def moment_text(moment: Moment, name: str) -> str:
    """Return the canonical form of a moment as a value of that datatype."""
    year = f"{'-' * (moment.year < 0)}{abs(moment.year):04}"
    date = {
        "dateTime": f"{year}-{moment.month:02}-{moment.day:02}T",
        "date": f"{year}-{moment.month:02}-{moment.day:02}",
        "gYear": year,
        "gYearMonth": f"{year}-{moment.month:02}",
        "gMonth": f"--{moment.month:02}",
        "gMonthDay": f"--{moment.month:02}-{moment.day:02}",
        "gDay": f"---{moment.day:02}",
    }
    return date.get(name, "") + (_clock(moment) if name in ("dateTime", "time") else "") + zone_text(moment.zone)


def zone_text(zone: int | None) -> str:
    if zone is None:
        return ""
    return f"{'-' if zone < 0 else '+'}{abs(zone) // 60:02}:{abs(zone) % 60:02}" if zone else "Z"


def _clock(moment: Moment) -> str:
    text = f"{moment.seconds // 3600:02}:{moment.seconds // 60 % 60:02}:{moment.seconds % 60:02}"
    return text + format(moment.fraction.normalize(EXACT), "f")[1:] if moment.fraction else text


def _minutes(zone: str | None) -> int | None:
    if not zone:
        return None
    if zone == "Z":
        return 0
    minutes = int(zone[1:3]) * 60 + int(zone[4:6])
    return -minutes if zone[0] == "-" else minutes


# -- durations ---------------------------------------------------------------------------------------------------------

# Durations of XML Schema: a number of months and a number of seconds; some datatypes have only one of them.

_FORM = re.compile(
    r"(?P<sign>-)?P(?=.)(?:(?P<years>\d+)Y)?(?:(?P<months>\d+)M)?(?:(?P<days>\d+)D)?"
    r"(?P<time>T(?=.)(?:(?P<hours>\d+)H)?(?:(?P<minutes>\d+)M)?(?:(?P<seconds>\d+(?:\.\d+)?)S)?)?",
    re.ASCII,
)
DURATION_TYPES = ("duration", "dayTimeDuration", "yearMonthDuration")


@dataclass(frozen=True, slots=True)
class Duration:
    """Months and seconds; both have the same sign, or one of them is 0."""

    months: int
    seconds: Decimal

    @property
    def datatype(self) -> str:
        """The narrowest datatype with this value; the empty duration is a dayTimeDuration."""
        if not self.months:
            return "dayTimeDuration"
        return "duration" if self.seconds else "yearMonthDuration"

    def is_a(self, name: str) -> bool:
        return name == "duration" or not (self.months if name == "dayTimeDuration" else self.seconds)


def parse_duration(lexical: str, name: str) -> Duration | None:
    """Return the value of a lexical form of a datatype; None if it is invalid."""
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
    """Return the canonical form."""
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
