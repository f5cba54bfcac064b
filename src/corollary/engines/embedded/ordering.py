"""Kind and rank of every constant, by which kernels compare values.

Numbers of all types compare by value; strings, booleans and IRIs each among themselves, and so do dates, times and durations of
each datatype, of which two constants may be equal: the same moment in two time zones. While every number is exact as a
double, the double itself is the rank, also of a decimal such as 2.5; otherwise numbers are sorted by their exact values.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np
import pyarrow.compute as pc

from corollary.engines.embedded.tables import text_column
from corollary.engines.embedded.universe import Kind, Universe
from corollary.program import Literal
from corollary.program.datatypes import place_of, single_of
from corollary.program.values import XSD

Array: TypeAlias = np.ndarray[Any, Any]

NUMBER, STRING, BOOLEAN, IRI, FIRST_MOMENT = 1, 2, 3, 4, 5
"""Kinds; numbers and everything from the first kind of moments on are equal where their ranks are."""
_ORDER_KINDS = np.zeros(16, np.uint8)  # by kind of constant
_ORDER_KINDS[[Kind.INTEGER, Kind.DOUBLE, Kind.DECIMAL, Kind.LARGE_INTEGER]] = NUMBER
_ORDER_KINDS[[Kind.STRING, Kind.BOOLEAN, Kind.IRI]] = STRING, BOOLEAN, IRI
_EXACT = 1 << 53
_FEW, _FEW_TEXTS = 1000, 20_000


class Ordering:
    """Follows a universe; `arrays` are brought up to date when they are asked for."""

    def __init__(self, universe: Universe, *, texts: bool) -> None:
        self._universe = universe
        self._ranks_texts = texts  # only programs that order texts pay for sorting them
        self._is_plain = True
        self._size = 0
        self._revealed = universe.revealed
        self._kinds = np.empty(0, np.uint8)
        self._ranks = np.empty(0, np.float64)
        self._noted = 0  # literals below this code have been looked at
        self._moments: dict[str, dict[int, Any]] = {}  # by datatype: the places of the codes
        self._singles: dict[int, float] = {}  # numbers of xsd:float
        self._counted = self._slow = self._texts = 0

    @property
    def is_costly(self) -> bool:
        """Whether so many constants have to be ranked one by one that comparing columns of them is cheaper."""
        universe, start = self._universe, self._counted
        if universe.size > start:
            new = np.bincount(universe.kinds[start : universe.size], minlength=len(Kind))
            self._slow += int(new[Kind.DECIMAL] + new[Kind.LARGE_INTEGER])
            if new[Kind.LITERAL]:
                self._slow += int(np.count_nonzero(self._is_typed(self._literals(start))))
            self._texts += int(new[Kind.STRING] + new[Kind.IRI]) if self._ranks_texts else 0
            self._counted = universe.size
        return self._slow > _FEW or self._texts > _FEW_TEXTS

    def _literals(self, start: int) -> Array:
        universe = self._universe
        return (start + np.flatnonzero(universe.kinds[start : universe.size] == Kind.LITERAL)).astype(np.uint32)

    def _is_typed(self, codes: Array) -> Array:
        found: Array = pc.starts_with(text_column(self._universe, codes), XSD).to_numpy(zero_copy_only=False)
        return found.astype(np.bool_)

    def arrays(self) -> tuple[Array, Array]:
        universe = self._universe
        if universe.size != self._size or universe.revealed != self._revealed:
            if universe.revealed != self._revealed:
                self._noted = 0
                self._moments.clear()
                self._singles.clear()
            found = self._note_literals()
            if universe.revealed == self._revealed and not found and self._only_exact_numbers_are_new():
                self._append_exact()
            else:
                self._rebuild()
            self._size, self._revealed = universe.size, universe.revealed
        return self._kinds, self._ranks

    def _only_exact_numbers_are_new(self) -> bool:
        if self._size and not self._is_plain:
            return False
        new = slice(self._size, self._universe.size)
        if self._ranks_texts and np.isin(self._universe.kinds[new], [Kind.STRING, Kind.IRI]).any():
            return False
        return not len(self._inexact(self._size))

    def _note_literals(self) -> bool:
        """Looks at new literals for numbers and for dates, times and durations; whether one of the latter is there."""
        universe = self._universe
        codes = self._literals(self._noted)
        self._noted = universe.size
        if not len(codes):
            return False
        found = False
        # Texts in a language, of which there may be many, have no order.
        for code in codes[self._is_typed(codes)].tolist():
            literal = universe.value(code)
            assert isinstance(literal, Literal)
            if (place := place_of(literal)) is not None:
                self._moments.setdefault(place[0], {})[code] = place[1]
                found = True
            elif (number := single_of(literal)) is not None:
                self._singles[code] = number
        return found

    def _append_exact(self) -> None:
        kinds, ranks = self._plain(self._size)
        self._kinds = np.concatenate([self._kinds, kinds])
        self._ranks = np.concatenate([self._ranks, ranks])

    def _plain(self, start: int) -> tuple[Array, Array]:
        """Kinds and ranks of the constants from `start` on, with numbers as doubles and 0 for texts."""
        raw = self._universe.kinds[start : self._universe.size]
        words = self._universe.words[start : self._universe.size]
        ranks = np.where(raw == Kind.DOUBLE, words.view(np.float64), words.astype(np.float64))
        for code in np.flatnonzero((raw == Kind.DECIMAL) | (raw == Kind.LARGE_INTEGER)):
            ranks[code] = _nearest(self._fraction(start + int(code)))
        kinds = _ORDER_KINDS[raw]
        for single, number in self._singles.items():
            if single >= start:
                kinds[single - start], ranks[single - start] = NUMBER, number
        return kinds, ranks

    def _inexact(self, start: int) -> Array:
        """The codes from `start` on of numbers that no double equals."""
        raw = self._universe.kinds[start : self._universe.size]
        words = self._universe.words[start : self._universe.size]
        doubtful = (raw == Kind.INTEGER) & (np.abs(words.astype(np.float64)) >= _EXACT)
        doubtful |= (raw == Kind.DECIMAL) | (raw == Kind.LARGE_INTEGER)
        codes = [start + int(code) for code in np.flatnonzero(doubtful)]
        return np.array([code for code in codes if not _is_exact(self._fraction(code))], np.int64)

    def _fraction(self, code: int) -> Fraction:
        return Fraction(self._universe.value(code))  # type: ignore[arg-type]

    def _rebuild(self) -> None:
        self._kinds, self._ranks = self._plain(0)
        inexact = self._inexact(0)
        self._is_plain = not len(inexact)
        if len(inexact):
            self._rank_numbers(inexact)
        if self._ranks_texts:
            self._rank_texts(Kind.STRING)
            self._rank_texts(Kind.IRI)
        for number, places in enumerate(self._moments.values()):
            self._rank_moments(FIRST_MOMENT + number, places)

    def _rank_numbers(self, inexact: Array) -> None:
        """Puts the few numbers that no double equals between those that are doubles; ranks are places in that order."""
        is_double = (self._kinds == NUMBER) & np.isfinite(self._ranks)
        is_double[inexact] = False
        doubles, places = np.unique(self._ranks[is_double], return_inverse=True)
        between = {self._fraction(int(code)): 0 for code in inexact}
        for fraction in between:
            place = int(np.searchsorted(doubles, _nearest(fraction)))
            while place < len(doubles) and Fraction(float(doubles[place])) < fraction:
                place += 1
            while place and Fraction(float(doubles[place - 1])) > fraction:
                place -= 1
            between[fraction] = place
        ordered = sorted(between)
        starts = np.array([between[fraction] for fraction in ordered])
        self._ranks[is_double] = (np.arange(len(doubles)) + np.searchsorted(starts, np.arange(len(doubles)), "right"))[
            places
        ]
        rank_of = {fraction: between[fraction] + number for number, fraction in enumerate(ordered)}
        for code in inexact:
            self._ranks[code] = rank_of[self._fraction(int(code))]

    def _rank_moments(self, kind: int, places: dict[int, Any]) -> None:
        rank_of = {place: rank for rank, place in enumerate(sorted(set(places.values())))}
        for code, place in places.items():
            self._kinds[code], self._ranks[code] = kind, rank_of[place]

    def _rank_texts(self, kind: Kind) -> None:
        codes = np.flatnonzero(self._universe.kinds[: self._universe.size] == kind)
        texts = [str(value) for value in self._universe.values(codes.tolist())]
        for rank, position in enumerate(sorted(range(len(texts)), key=texts.__getitem__)):
            self._ranks[codes[position]] = rank


def _nearest(fraction: Fraction) -> float:
    try:
        return float(fraction)
    except OverflowError:
        return np.inf if fraction > 0 else -np.inf


def _is_exact(fraction: Fraction) -> bool:
    """Whether some double equals the number."""
    nearest = _nearest(fraction)
    return bool(np.isfinite(nearest)) and Fraction(nearest) == fraction
