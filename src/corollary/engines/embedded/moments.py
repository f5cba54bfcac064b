"""Columns of dates, times and points in time: read from the canonical texts of the universe, computed with, and written again.

Years of four digits and fractions of up to six are read here; anything else is left to be computed value by value.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Any, TypeAlias

import numpy as np

from corollary.engines.embedded.moment_kernels import (
    CLOCK_PART,
    DAY_PART,
    MONTH_PART,
    NO_ZONE,
    PARTS,
    YEAR_PART,
    move,
    places_of,
    read_moments,
    write_moments,
    write_spans,
)
from corollary.engines.embedded.relation import Codes
from corollary.engines.embedded.universe import Kind, Universe
from corollary.program import Literal
from corollary.program.datatypes import moment_of
from corollary.program.values import EXACT, XSD

Array: TypeAlias = np.ndarray[Any, Any]

_FORMS = {"date": (True, False), "dateTime": (True, True), "time": (False, True)}
"""Whether texts of a datatype have a date, and a time of the day."""
_MILLION = Decimal(1_000_000)
_WIDEST = 40  # bytes of a text without the name of its datatype


class NotReadError(Exception):
    """Literals that are not all of one of these datatypes, or too long."""


@dataclass(frozen=True)
class Moments:
    """Rows of year, month, day, microseconds of the day, and minutes of the time zone."""

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
        """Microseconds of the day."""
        return self.parts[:, CLOCK_PART]

    def places(self) -> Array:
        """Microseconds on the time line of UTC: the order of moments. What has no zone counts as UTC."""
        found: Array = places_of(self.parts)
        return found

    def moved(self, microseconds: int) -> Moments:
        """So much later, in the same zone; a date forgets the time of the day."""
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
    """Durations of days and less, in microseconds."""

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
    """What literals say; raises `NotReadError` where they are not all of one of these datatypes."""
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
    """How the universe begins the text of a literal of this datatype."""
    return np.frombuffer(f"{XSD}{name}\0\0".encode(), np.uint8)
