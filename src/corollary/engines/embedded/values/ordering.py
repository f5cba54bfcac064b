"""Kind and rank of every constant, by which kernels compare values.

Numbers of all types compare by value; strings, booleans and IRIs each among themselves, and so do dates, times and durations of
each datatype, of which two constants may be equal: the same moment in two time zones. While every number is exact as a
double, the double itself is the rank, also of a decimal such as 2.5; otherwise numbers are sorted by their exact values. What is
sorted gets whole numbers as ranks, and few new constants later get ranks between those of their neighbours.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable
from decimal import Decimal
from functools import partial
from itertools import takewhile
from operator import itemgetter
from typing import Any, TypeAlias

import numpy as np
import pyarrow.compute as pc

from corollary.engines.embedded.values.tables import text_column
from corollary.engines.embedded.values.universe import Kind, Universe
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
_FEW_NEW = 64  # so few times as many new constants as known ones are put between them one by one


class Ordering:
    """Follows a universe; `arrays` are brought up to date when they are asked for.

    The caller says whether texts are compared by order, because only that pays for sorting them; once they have been sorted,
    they stay so. There is no way to ask for ranks without saying it.
    """

    def __init__(self, universe: Universe) -> None:
        self._universe = universe
        self._ranks_texts = False
        self._is_plain = True
        self._size = 0
        self._revealed = universe.revealed
        self._kinds = np.empty(0, np.uint8)
        self._ranks = np.empty(0, np.float64)
        self._noted = 0  # literals below this code have been looked at
        self._moments: dict[str, dict[int, Any]] = {}  # by datatype: the places of the codes
        self._singles: dict[int, float] = {}  # numbers of xsd:float
        self._sorted: dict[
            int, list[int]
        ] = {}  # by kind with ranks that are places: one constant of each value, in order
        self._counted = self._slow = self._texts = 0

    def is_costly(self, *, texts: bool) -> bool:
        """Whether so many constants have to be ranked one by one that comparing columns of them is cheaper."""
        universe, start = self._universe, self._counted
        if universe.size > start:
            new = np.bincount(universe.kinds[start : universe.size], minlength=len(Kind))
            self._slow += int(new[Kind.DECIMAL] + new[Kind.LARGE_INTEGER])
            if new[Kind.LITERAL]:
                self._slow += int(np.count_nonzero(self._is_typed(self._literals(start))))
            self._texts += int(new[Kind.STRING] + new[Kind.IRI])
            self._counted = universe.size
        return self._slow > _FEW or (texts and self._texts > _FEW_TEXTS)

    def _literals(self, start: int) -> Array:
        universe = self._universe
        return (start + np.flatnonzero(universe.kinds[start : universe.size] == Kind.LITERAL)).astype(np.uint32)

    def _is_typed(self, codes: Array) -> Array:
        found: Array = pc.starts_with(text_column(self._universe, codes), XSD).to_numpy(zero_copy_only=False)
        return found.astype(np.bool_)

    def arrays(self, *, texts: bool) -> tuple[Array, Array]:
        """Return kind and rank of every constant by its code; ranks tell the order of texts where `texts` says so."""
        universe = self._universe
        if universe.revealed != self._revealed:
            self._revealed, self._noted = universe.revealed, 0
            self._moments.clear()
            self._singles.clear()
            self._start_again(is_plain=True)
        if texts and not self._ranks_texts:
            self._ranks_texts = True
            self._start_again(is_plain=self._is_plain)
        if universe.size != self._size:
            self._note_literals()
            if self._is_plain and len(self._inexact(self._size)):
                self._start_again(is_plain=False)
            self._take_in()
        return self._kinds[: self._size], self._ranks[: self._size]

    def _start_again(self, *, is_plain: bool) -> None:
        self._size, self._is_plain = 0, is_plain
        self._sorted.clear()

    def _note_literals(self) -> None:
        """Looks at new literals for numbers and for dates, times and durations."""
        universe = self._universe
        codes = self._literals(self._noted)
        self._noted = universe.size
        # Texts in a language, of which there may be many, have no order.
        for code in codes[self._is_typed(codes)].tolist() if len(codes) else ():
            literal = universe.value(code)
            assert isinstance(literal, Literal)
            if (place := place_of(literal)) is not None:
                self._moments.setdefault(place[0], {})[code] = place[1]
            elif (number := single_of(literal)) is not None:
                self._singles[code] = number

    def _take_in(self) -> None:
        """Ranks the constants that are new: the others keep their ranks where there is room between them."""
        start, stop = self._size, self._universe.size
        if stop > len(self._kinds):
            self._kinds, self._ranks = _grown(self._kinds, start, stop), _grown(self._ranks, start, stop)
        self._kinds[start:stop], self._ranks[start:stop] = self._plain(start)
        self._size = stop
        if not self._is_plain:
            self._rank(NUMBER, self._numbers(start), lambda: self._numbers(0), self._number, self._numbers_in_order)
        value = self._universe.value
        for kind in (Kind.STRING, Kind.IRI) if self._ranks_texts else ():
            self._rank(
                _ORDER_KINDS[kind],
                self._of_kind(kind, start),
                partial(self._of_kind, kind, 0),
                lambda code: str(value(code)),
            )
        for number, places in enumerate(self._moments.values()):
            moment = FIRST_MOMENT + number
            new = np.array(list(takewhile(lambda code: code >= start, reversed(places))), np.int64)
            self._kinds[new] = moment
            self._rank(moment, new, partial(_all_codes, places), places.__getitem__)

    def _of_kind(self, kind: Kind, start: int) -> Array:
        return start + np.flatnonzero(self._universe.kinds[start : self._size] == kind)

    def _numbers(self, start: int) -> Array:
        """The numbers that have a place among others: no infinite doubles, which are beyond all of them, and no NaN."""
        universe = self._universe
        words = universe.words[start : self._size]
        is_number = self._kinds[start : self._size] == NUMBER
        is_double = universe.kinds[start : self._size] == Kind.DOUBLE
        is_number &= ~is_double | np.isfinite(words.view(np.float64))
        for code, number in self._singles.items():
            if code >= start:
                is_number[code - start] = np.isfinite(number)
        return start + np.flatnonzero(is_number)

    def _number(self, code: int) -> Any:
        """A number that compares exactly with those of other types."""
        single = self._singles.get(code)
        return self._universe.value(code) if single is None else single

    def _rank(
        self,
        kind: int,
        new: Array,
        everything: Callable[[], Array],
        value: Callable[[int], Any],
        in_order: Callable[[Array], tuple[Array, Array]] | None = None,
    ) -> None:
        """Gives new constants of a kind the ranks between those of their neighbours, or all of the kind new ones."""
        known = self._sorted.setdefault(int(kind), [])
        if not len(new) or (
            known and len(new) * _FEW_NEW <= len(known) and self._put_between(known, new.tolist(), value)
        ):
            return
        codes, is_first = self._by_value(everything(), value) if in_order is None else in_order(everything())
        self._ranks[codes] = np.cumsum(is_first) - 1
        known[:] = codes[is_first].tolist()

    def _by_value(self, codes: Array, value: Callable[[int], Any]) -> tuple[Array, Array]:
        """Constants by value, and whether each is the first one of its value."""
        ordered = sorted(((value(code), code) for code in codes.tolist()), key=itemgetter(0))
        is_first = np.ones(len(ordered), np.bool_)
        for place in range(1, len(ordered)):
            is_first[place] = ordered[place][0] != ordered[place - 1][0]
        return np.array([code for _, code in ordered], np.int64), is_first

    def _put_between(self, known: list[int], new: list[int], value: Callable[[int], Any]) -> bool:
        """Whether there was room; `known` has one constant of each value, in order."""
        ranks = self._ranks
        for code in new:
            own = value(code)
            at = bisect_left(known, own, key=value)
            if at < len(known) and value(known[at]) == own:
                ranks[code] = ranks[known[at]]
                continue
            below = ranks[known[at - 1]] if at else ranks[known[0]] - 2
            above = ranks[known[at]] if at < len(known) else below + 2
            between = (below + above) / 2
            if not below < between < above:
                return False
            ranks[code] = between
            known.insert(at, code)
        return True

    def _numbers_in_order(self, codes: Array) -> tuple[Array, Array]:
        """Put numbers in order: only those with the same nearest double have to be compared exactly."""
        nearest = self._plain(0)[1][codes]
        order = np.argsort(nearest, kind="stable")
        codes, nearest = codes[order], nearest[order]
        is_first = np.ones(len(codes), np.bool_)
        np.not_equal(nearest[1:], nearest[:-1], out=is_first[1:])
        starts = np.append(np.flatnonzero(is_first), len(codes))
        group_of = np.cumsum(is_first) - 1
        for group in np.unique(group_of[np.isin(codes, self._inexact(0))]).tolist():
            some = slice(int(starts[group]), int(starts[group + 1]))
            codes[some], is_first[some] = self._by_value(codes[some], self._number)
        return codes, is_first

    def _plain(self, start: int) -> tuple[Array, Array]:
        """Kinds and ranks of the constants from `start` on, with numbers as doubles and 0 for texts."""
        raw = self._universe.kinds[start : self._universe.size]
        words = self._universe.words[start : self._universe.size]
        ranks = np.where(raw == Kind.DOUBLE, words.view(np.float64), words.astype(np.float64))
        ranks[(raw == Kind.STRING) | (raw == Kind.IRI)] = 0
        for code in np.flatnonzero((raw == Kind.DECIMAL) | (raw == Kind.LARGE_INTEGER)).tolist():
            ranks[code] = _nearest(self._number(start + code))
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
        codes = (start + np.flatnonzero(doubtful)).tolist()
        return np.array([code for code in codes if not _is_exact(self._number(code))], np.int64)


def _all_codes(places: dict[int, Any]) -> Array:
    return np.fromiter(places, np.int64, len(places))


def _grown(array: Array, size: int, wanted: int) -> Array:
    grown = np.empty(max(wanted, 2 * len(array)), array.dtype)
    grown[:size] = array[:size]
    return grown


def _nearest(number: int | Decimal) -> float:
    try:
        return float(number)
    except OverflowError:
        return math.inf if number > 0 else -math.inf


def _is_exact(number: int | Decimal) -> bool:
    """Whether some double equals the number."""
    nearest = _nearest(number)
    return math.isfinite(nearest) and nearest == number
