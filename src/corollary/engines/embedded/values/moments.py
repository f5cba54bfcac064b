"""Columns of dates, times and points in time: read from the canonical texts of the universe, computed with, and written
again.

Only years of four digits and fractions of up to six digits are read here; all others are computed value by value.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Any, TypeAlias

import numpy as np
from numba import njit

from corollary.engines.embedded.relations.relation import Codes
from corollary.engines.embedded.values.universe import Kind, Universe
from corollary.program import Literal
from corollary.program.datatypes import moment_of
from corollary.program.values import EXACT, XSD

DAY = 86_400_000_000  # microseconds
_MINUTE = 60_000_000
NO_ZONE = -32_768
YEAR_PART, MONTH_PART, DAY_PART, CLOCK_PART, ZONE_PART, PARTS = 0, 1, 2, 3, 4, 5
_LEAP_YEAR = 1972  # the year of times of day, which have no date
_T, _Z, _PLUS, _MINUS, _COLON, _POINT, _ZERO, _NINE = 84, 90, 43, 45, 58, 46, 48, 57


@njit(inline="always")
def _days_of(year: int, month: int, day: int) -> int:
    """Return the number of a day, as `corollary.program.datatypes.calendar` counts them."""
    if month <= 2:
        year -= 1
        month += 9
    else:
        month -= 3
    era = year // 400
    of_era = year - era * 400
    return era * 146_097 + of_era * 365 + of_era // 4 - of_era // 100 + (153 * month + 2) // 5 + day - 1


@njit(inline="always")
def _number(texts: Any, at: int, width: int) -> Any:
    """Return the number in this many digits; -1 if one is not a digit."""
    number: Any = 0
    for i in range(at, at + width):
        if texts[i] < _ZERO or texts[i] > _NINE:
            return -1
        number = number * 10 + (np.int64(texts[i]) - _ZERO)
    return number


@njit(inline="always")
def _days_in(year: int, month: int) -> int:
    if month == 2:
        return 29 if year % 4 == 0 and (year % 100 != 0 or year % 400 == 0) else 28
    return 30 if month in (4, 6, 9, 11) else 31


@njit(cache=True, nogil=True)
def read_moments(
    texts: Any, starts: Any, lengths: Any, codes: Any, prefix: Any, has_date: bool, has_time: bool, parts: Any
) -> bool:
    for i in range(len(codes)):
        at = starts[codes[i]]
        stop = at + np.int64(lengths[codes[i]])
        if stop - at < len(prefix) + 8:
            return False
        for b in range(len(prefix)):
            if texts[at + b] != prefix[b]:
                return False
        at += len(prefix)
        year, month, day = _LEAP_YEAR, 1, 1
        if has_date:
            if stop - at < 10 or texts[at + 4] != _MINUS or texts[at + 7] != _MINUS:
                return False
            year, month, day = _number(texts, at, 4), _number(texts, at + 5, 2), _number(texts, at + 8, 2)
            if year < 1 or month < 1 or month > 12 or day < 1 or day > _days_in(year, month):
                return False
            at += 10
        clock: Any = 0
        if has_time:
            if has_date:
                if at >= stop or texts[at] != _T:
                    return False
                at += 1
            if stop - at < 8 or texts[at + 2] != _COLON or texts[at + 5] != _COLON:
                return False
            hour, minute, second = _number(texts, at, 2), _number(texts, at + 3, 2), _number(texts, at + 6, 2)
            if hour < 0 or hour > 23 or minute < 0 or minute > 59 or second < 0 or second > 59:
                return False
            at += 8
            clock = ((hour * 60 + minute) * 60 + second) * 1_000_000
            if at < stop and texts[at] == _POINT:
                at += 1
                unit = 100_000
                while at < stop and _ZERO <= texts[at] <= _NINE:
                    if unit == 0:
                        return False
                    clock += (np.int64(texts[at]) - _ZERO) * unit
                    unit //= 10
                    at += 1
        zone = NO_ZONE
        if at < stop:
            if texts[at] == _Z and stop == at + 1:
                zone = 0
            elif (texts[at] == _PLUS or texts[at] == _MINUS) and stop == at + 6 and texts[at + 3] == _COLON:
                hours, minutes = _number(texts, at + 1, 2), _number(texts, at + 4, 2)
                if hours < 0 or hours > 14 or minutes < 0 or minutes > 59:
                    return False
                zone = hours * 60 + minutes if texts[at] == _PLUS else -(hours * 60 + minutes)
            else:
                return False
        parts[i, YEAR_PART], parts[i, MONTH_PART], parts[i, DAY_PART] = year, month, day
        parts[i, CLOCK_PART], parts[i, ZONE_PART] = clock, zone
    return True


@njit(cache=True, nogil=True)
def places_of(parts: Any) -> Any:
    found = np.empty(len(parts), np.int64)
    for i in range(len(parts)):
        zone = 0 if parts[i, ZONE_PART] == NO_ZONE else parts[i, ZONE_PART]
        day = _days_of(parts[i, YEAR_PART], parts[i, MONTH_PART], parts[i, DAY_PART])
        found[i] = day * DAY + parts[i, CLOCK_PART] - zone * _MINUTE
    return found


@njit(cache=True, nogil=True)
def move(parts: Any, microseconds: int, keeps_date: bool) -> bool:
    """Move each row by some microseconds; return False if a year would no longer have four digits."""
    for i in range(len(parts)):
        moved = parts[i, CLOCK_PART] + microseconds
        days = moved // DAY
        parts[i, CLOCK_PART] = moved - days * DAY
        if days == 0 or not keeps_date:
            continue
        days += _days_of(parts[i, YEAR_PART], parts[i, MONTH_PART], parts[i, DAY_PART])
        era = days // 146_097
        of_era = days - era * 146_097
        year = (of_era - of_era // 1460 + of_era // 36_524 - of_era // 146_096) // 365
        of_year = of_era - (365 * year + year // 4 - year // 100)
        shifted = (5 * of_year + 2) // 153
        month = shifted + 3 if shifted < 10 else shifted - 9
        year += era * 400 + (1 if month <= 2 else 0)
        if year < 1 or year > 9999:
            return False
        parts[i, YEAR_PART], parts[i, MONTH_PART] = year, month
        parts[i, DAY_PART] = of_year - (153 * shifted + 2) // 5 + 1
    return True


@njit(inline="always")
def _put(data: Any, at: int, number: int, width: int) -> int:
    for place in range(at + width - 1, at - 1, -1):
        data[place] = _ZERO + number % 10
        number //= 10
    return at + width


@njit(inline="always")
def _put_fraction(data: Any, at: int, fraction: int) -> int:
    if fraction == 0:
        return at
    data[at] = _POINT
    width = 6
    while fraction % 10 == 0:
        fraction //= 10
        width -= 1
    return _put(data, at + 1, fraction, width)


@njit(cache=True, nogil=True)
def write_moments(parts: Any, prefix: Any, has_date: bool, has_time: bool, data: Any, offsets: Any) -> None:
    at = 0
    for i in range(len(parts)):
        for b in range(len(prefix)):
            data[at + b] = prefix[b]
        at += len(prefix)
        if has_date:
            at = _put(data, at, parts[i, YEAR_PART], 4)
            data[at] = _MINUS
            at = _put(data, at + 1, parts[i, MONTH_PART], 2)
            data[at] = _MINUS
            at = _put(data, at + 1, parts[i, DAY_PART], 2)
        if has_time:
            if has_date:
                data[at] = _T
                at += 1
            seconds = parts[i, CLOCK_PART] // 1_000_000
            at = _put(data, at, seconds // 3600, 2)
            data[at] = _COLON
            at = _put(data, at + 1, seconds // 60 % 60, 2)
            data[at] = _COLON
            at = _put(data, at + 1, seconds % 60, 2)
            at = _put_fraction(data, at, parts[i, CLOCK_PART] % 1_000_000)
        zone = parts[i, ZONE_PART]
        if zone == 0:
            data[at] = _Z
            at += 1
        elif zone != NO_ZONE:
            data[at] = _MINUS if zone < 0 else _PLUS
            zone = abs(zone)
            at = _put(data, at + 1, zone // 60, 2)
            data[at] = _COLON
            at = _put(data, at + 1, zone % 60, 2)
        offsets[i + 1] = at


@njit(inline="always")
def _put_part(data: Any, at: int, number: int, letter: int) -> int:
    if number == 0:
        return at
    width, size = 1, number // 10
    while size > 0:
        size //= 10
        width += 1
    at = _put(data, at, number, width)
    data[at] = letter
    return at + 1


@njit(cache=True, nogil=True)
def write_spans(microseconds: Any, prefix: Any, data: Any, offsets: Any) -> None:
    at = 0
    for i in range(len(microseconds)):
        for b in range(len(prefix)):
            data[at + b] = prefix[b]
        at += len(prefix)
        rest = microseconds[i]
        if rest < 0:
            data[at] = _MINUS
            at += 1
            rest = -rest
        data[at] = 80  # P
        at = _put_part(data, at + 1, rest // DAY, 68)  # D
        clock = rest % DAY
        if clock != 0 or rest == 0:
            data[at] = _T
            seconds = clock // 1_000_000
            at = _put_part(data, at + 1, seconds // 3600, 72)  # H
            at = _put_part(data, at, seconds // 60 % 60, 77)  # M
            if clock % _MINUTE != 0 or rest == 0:
                at = _put(data, at, seconds % 60, 2 if seconds % 60 > 9 else 1)
                at = _put_fraction(data, at, clock % 1_000_000)
                data[at] = 83  # S
                at += 1
        offsets[i + 1] = at


Array: TypeAlias = np.ndarray[Any, Any]

_FORMS = {"date": (True, False), "dateTime": (True, True), "time": (False, True)}
"""By datatype: whether its texts have a date, and a time of day."""
_MILLION = Decimal(1_000_000)
_WIDEST = 40  # bytes of a text without the name of its datatype


class NotReadError(Exception):
    """Raised for literals that are too long, or not all of one of these datatypes."""


@dataclass(frozen=True)
class Moments:
    """Points in time by columns: year, month, day, microseconds of the day, and minutes of the time zone."""

    name: str
    parts: Array

    def __len__(self) -> int:
        return len(self.parts)

    def __getitem__(self, rows: Array) -> Moments:
        return Moments(self.name, self.parts[rows])

    @property
    def years(self) -> Array:
        return self.parts[:, YEAR_PART]

    @property
    def months(self) -> Array:
        return self.parts[:, MONTH_PART]

    @property
    def days(self) -> Array:
        return self.parts[:, DAY_PART]

    @property
    def clock(self) -> Array:
        """Return the microseconds of the day."""
        return self.parts[:, CLOCK_PART]

    def places(self) -> Array:
        """Return the microseconds on the time line of UTC, the order of moments. Values without a zone count as UTC."""
        found: Array = places_of(self.parts)
        return found

    def moved(self, microseconds: int) -> Moments:
        """Return moments later by this many microseconds, in the same zone; a date drops the time of day."""
        parts = self.parts.copy()
        if not move(parts, microseconds, self.name != "time"):
            raise NotReadError
        if self.name == "date":
            parts[:, CLOCK_PART] = 0
        return Moments(self.name, parts)

    def encoded(self, universe: Universe) -> Codes:
        prefix = _prefix(self.name)
        data = np.empty(len(self) * (len(prefix) + _WIDEST), np.uint8)
        offsets = np.zeros(len(self) + 1, np.int64)
        write_moments(self.parts, prefix, *_FORMS[self.name], data, offsets)
        return universe.encode_texts(Kind.LITERAL, data, offsets)


@dataclass(frozen=True)
class Spans:
    """Durations of days, hours, minutes and seconds, in microseconds."""

    microseconds: Array

    def __len__(self) -> int:
        return len(self.microseconds)

    def __getitem__(self, rows: Array) -> Spans:
        return Spans(self.microseconds[rows])

    def encoded(self, universe: Universe) -> Codes:
        prefix = _prefix("dayTimeDuration")
        data = np.empty(len(self) * (len(prefix) + _WIDEST), np.uint8)
        offsets = np.zeros(len(self) + 1, np.int64)
        write_spans(self.microseconds, prefix, data, offsets)
        return universe.encode_texts(Kind.LITERAL, data, offsets)


def moments_of_codes(codes: Codes, universe: Universe) -> Moments:
    """Return the moments of literals. Raise `NotReadError` if they are not all of one of these datatypes."""
    first = universe.value(int(codes[0])) if len(codes) else None
    name = first.datatype.removeprefix(XSD) if isinstance(first, Literal) else ""
    if name not in _FORMS:
        raise NotReadError
    parts = np.empty((len(codes), PARTS), np.int64)
    if not read_moments(universe.texts, universe.words, universe.lengths, codes, _prefix(name), *_FORMS[name], parts):
        raise NotReadError
    return Moments(name, parts)


def moments_of_constant(literal: Literal, count: int) -> Moments:
    moment, name = moment_of(literal), literal.datatype.removeprefix(XSD)
    if moment is None or name not in _FORMS or not 1 <= moment.year <= 9999:
        raise NotReadError
    fraction = EXACT.multiply(moment.fraction, _MILLION)
    if fraction != int(fraction):
        raise NotReadError
    clock = moment.seconds * 1_000_000 + int(fraction)
    zone = NO_ZONE if moment.zone is None else moment.zone
    return Moments(name, np.tile(np.array([moment.year, moment.month, moment.day, clock, zone], np.int64), (count, 1)))


def _prefix(name: str) -> Array:
    """Return the bytes with which the universe begins the text of a literal of this datatype."""
    return np.frombuffer(f"{XSD}{name}\0\0".encode(), np.uint8)
