"""Kind and rank of every constant, by which kernels compare values.

Numbers of all types compare by value; strings, booleans and IRIs each among themselves, and so do dates, times and
durations of each datatype, two of which may be equal: the same moment in two time zones. While every number is exact as
a double, the double itself is the rank, even of a decimal such as 2.5; otherwise numbers are sorted by their exact
values. Sorted constants get integers as ranks; a few new constants later get ranks between those of their neighbours.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from functools import partial
from itertools import takewhile
from operator import itemgetter
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import pyarrow.compute as pc

from corollary.engines.embedded.relations.index import ChainIndex
from corollary.engines.embedded.relations.memory import NONE
from corollary.engines.embedded.relations.relation import Codes, Relation
from corollary.engines.embedded.values.tables import text_column
from corollary.engines.embedded.values.universe import Kind, Universe
from corollary.program import Literal, Term
from corollary.program.datatypes import place_of, single_of
from corollary.program.values import XSD

if TYPE_CHECKING:
    from collections.abc import Callable

Array: TypeAlias = np.ndarray[Any, Any]

NUMBER, STRING, BOOLEAN, IRI, FIRST_MOMENT = 1, 2, 3, 4, 5
"""Kinds; numbers, and all kinds from the first kind of moments on, are equal if their ranks are."""
_ORDER_KINDS = np.zeros(16, np.uint8)  # by kind of constant
_ORDER_KINDS[[Kind.INTEGER, Kind.DOUBLE, Kind.DECIMAL, Kind.LARGE_INTEGER]] = NUMBER
_ORDER_KINDS[[Kind.STRING, Kind.BOOLEAN, Kind.IRI]] = STRING, BOOLEAN, IRI
_EXACT = 1 << 53
_FEW, _FEW_TEXTS = 1000, 20_000
_FEW_NEW = 64  # if known constants are this many times as many as the new ones, the new ones are inserted one by one


class Ordering:
    """The order of a universe's constants; `arrays` is updated on request.

    The caller tells whether texts are compared by order, since sorting them pays only then; once sorted, they stay so.
    Ranks cannot be requested without that choice.
    """

    def __init__(self, universe: Universe) -> None:
        self._universe = universe
        self._ranks_texts = False
        self._is_plain = True
        self._size = 0
        self._revealed = universe.revealed
        self._kinds = np.empty(0, np.uint8)
        self._ranks = np.empty(0, np.float64)
        self._noted = 0  # literals below this code have been processed
        self._moments: dict[str, dict[int, Any]] = {}  # by datatype: the order keys of the codes
        self._singles: dict[int, float] = {}  # numbers of xsd:float
        self._sorted: dict[int, list[int]] = {}  # by kind with positions as ranks: one constant of each value, in order
        self._counted = self._slow = self._texts = 0

    def is_costly(self, *, texts: bool) -> bool:
        """Return whether so many constants must be ranked one by one that comparing columns is cheaper."""
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
        """Return kind and rank of every constant by its code; ranks of texts mean something only with `texts`."""
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
        """Find numbers, dates, times and durations among new literals."""
        universe = self._universe
        codes = self._literals(self._noted)
        self._noted = universe.size
        # Texts with a language tag, of which there may be many, have no order.
        for code in codes[self._is_typed(codes)].tolist() if len(codes) else ():
            literal = universe.value(code)
            assert isinstance(literal, Literal)
            if (place := place_of(literal)) is not None:
                self._moments.setdefault(place[0], {})[code] = place[1]
            elif (number := single_of(literal)) is not None:
                self._singles[code] = number

    def _take_in(self) -> None:
        """Rank the new constants; the others keep their ranks if there is room between them."""
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
        """Return the numbers that are ranked: no infinities, which are beyond all others, and no NaN."""
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
        """Return a number that compares exactly with those of other types."""
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
        """Give new constants of a kind ranks between those of their neighbours, or all constants of the kind new ones."""
        known = self._sorted.setdefault(int(kind), [])
        if not len(new) or (
            known and len(new) * _FEW_NEW <= len(known) and self._put_between(known, new.tolist(), value)
        ):
            return
        codes, is_first = self._by_value(everything(), value) if in_order is None else in_order(everything())
        self._ranks[codes] = np.cumsum(is_first) - 1
        known[:] = codes[is_first].tolist()

    def _by_value(self, codes: Array, value: Callable[[int], Any]) -> tuple[Array, Array]:
        """Return constants ordered by value, and whether each is the first of its value."""
        ordered = sorted(((value(code), code) for code in codes.tolist()), key=itemgetter(0))
        is_first = np.ones(len(ordered), np.bool_)
        for place in range(1, len(ordered)):
            is_first[place] = ordered[place][0] != ordered[place - 1][0]
        return np.array([code for _, code in ordered], np.int64), is_first

    def _put_between(self, known: list[int], new: list[int], value: Callable[[int], Any]) -> bool:
        """Rank new constants between known ones, of which there is one per value; return whether there was room."""
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
        """Return numbers in order; only those with the same nearest double need an exact comparison."""
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
        """Return kinds and ranks of the constants from `start` on, with numbers as doubles and 0 for texts."""
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
        """Return the codes, from `start` on, of numbers that no double equals."""
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
    """Return whether some double equals the number."""
    nearest = _nearest(number)
    return math.isfinite(nearest) and nearest == number


# -- value keys --------------------------------------------------------------------------------------------------------

# Value keys: numbers that are the same for constants that `=` finds equal, so that comparing by value becomes a join.
#
# While no constant can equal another one, the key of a constant is its code. From the first double or literal on, keys
# are the codes of values in a second universe: an integer, an integral double and an xsd:float of one value become one
# integer there; every other number becomes the double that equals it exactly, or its own text; equal moments become
# one. Keys never change once given; NaN, which equals nothing, has none.

Columns: TypeAlias = tuple[tuple[str, int], ...]

_TWINS = (Kind.DOUBLE, Kind.LITERAL)  # constants of these kinds may equal others, or not even themselves


class ValueKeys:
    """The value keys of a universe's constants, updated on request; `version` changes when keys do."""

    def __init__(self, universe: Universe) -> None:
        self._universe = universe
        self._size = 0
        self._revealed = universe.revealed
        self._keys = np.empty(0, np.uint32)
        self._values: Universe | None = None
        self._places: dict[object, int] = {}
        self.version = 0

    def by_code(self) -> Codes:
        """Return the key of every constant by its code, NONE for one that equals nothing."""
        universe = self._universe
        if universe.revealed != self._revealed:
            self._revealed = universe.revealed
            self._start_again()
        if universe.size > self._size:
            if self._values is None and np.isin(universe.kinds[self._size : universe.size], _TWINS).any():
                self._start_again()
                self._values = Universe()
            if universe.size > len(self._keys):
                grown = np.empty(max(universe.size, 2 * len(self._keys)), np.uint32)
                grown[: self._size] = self._keys[: self._size]
                self._keys = grown
            new = slice(self._size, universe.size)
            self._keys[new] = np.arange(self._size, universe.size) if self._values is None else self._mapped(new)
            self._size = universe.size
        return self._keys

    def _start_again(self) -> None:
        self._size = 0
        self._values = None
        self._places.clear()
        self.version += 1

    def _mapped(self, new: slice) -> Codes:
        universe, values = self._universe, self._values
        assert values is not None
        kinds, words = universe.kinds[new], universe.words[new]
        # Most constants equal only themselves.
        own = np.arange(new.start, new.stop, dtype=np.int64)
        keys = np.full(len(kinds), NONE, np.uint32)
        is_number = kinds == Kind.INTEGER
        keys[is_number] = values.encode_integers(words[is_number])
        is_double = kinds == Kind.DOUBLE
        keys[is_double] = self._of_doubles(words[is_double].view(np.float64))
        is_slow = (kinds == Kind.DECIMAL) | (kinds == Kind.LARGE_INTEGER) | (kinds == Kind.LITERAL)
        for place in np.flatnonzero(is_slow).tolist():
            keys[place] = self._of_value(universe.value(new.start + place), new.start + place)
        others = ~(is_number | is_double | is_slow)
        keys[others] = values.encode_identities(own[others])
        return keys

    def _of_doubles(self, doubles: Array) -> Codes:
        assert self._values is not None
        whole = (doubles >= -(2.0**63)) & (doubles < 2.0**63) & (doubles == np.floor(doubles))
        keys = np.full(len(doubles), NONE, np.uint32)
        keys[whole] = self._values.encode_integers(doubles[whole].astype(np.int64))
        others = ~whole & ~np.isnan(doubles)
        keys[others] = self._values.encode_doubles(doubles[others])
        return keys

    def _of_value(self, value: object, code: int) -> int:
        assert self._values is not None
        if isinstance(value, Literal):
            number = single_of(value)
            if number is None:
                place = place_of(value)
                first = code if place is None else self._places.setdefault(place, code)
                return int(self._values.encode_identities(np.array([first], np.int64))[0])
        else:
            assert isinstance(value, (int, Decimal))
            number = _equal_double(value)
            if number is None:
                return self._values.encode(value)
        return int(self._of_doubles(np.array([number], np.float64))[0])


def _equal_double(value: int | Decimal) -> float | None:
    """Return the double that equals a number exactly."""
    try:
        nearest = float(value)
    except OverflowError:
        return None
    return nearest if math.isfinite(nearest) and Fraction(nearest) == Fraction(value) else None


def value_keys_of(universe: Universe) -> ValueKeys:
    """Return the value keys of a universe, which are kept with it."""
    known = universe.value_keys
    if not isinstance(known, ValueKeys):
        known = universe.value_keys = ValueKeys(universe)
    return known


class ValueIndex:
    """An index from the key of a term's value, perhaps with the code of one column, to rows."""

    def __init__(self, keys: ValueKeys, column: int | None) -> None:
        self._keys = keys
        self._column = column
        self._version = keys.version
        self._shadow = np.empty((0, 1 if column is None else 2), np.uint32)
        self._size = 0
        self._chain = self._new_chain()

    def _new_chain(self) -> ChainIndex:
        chain = ChainIndex(tuple(range(self._shadow.shape[1])), self._shadow.shape[1])
        chain.keys.hashed = True  # a row without a value has no code that could be an entry
        return chain

    @property
    def fields(self) -> Array:
        return self._chain.fields

    @property
    def nbytes(self) -> int:
        return int(self._shadow.nbytes) + self._chain.nbytes

    def extend(self, relation: Relation, evaluate: Callable[[Codes], tuple[Codes, Array]]) -> None:
        """Add the new rows; `evaluate` returns the codes of the term's values, and which rows have one."""
        codes, valid = evaluate(relation.rows[self._size : relation.size])  # this may add new constants
        keys = self._keys.by_code()
        if self._version != self._keys.version:
            self._version, self._size, self._chain = self._keys.version, 0, self._new_chain()
            codes, valid = evaluate(relation.rows[: relation.size])
        if relation.size > len(self._shadow):
            grown = np.empty((max(relation.size, 2 * len(self._shadow)), self._shadow.shape[1]), np.uint32)
            grown[: self._size] = self._shadow[: self._size]
            self._shadow = grown
        new = slice(self._size, relation.size)
        self._shadow[new, 0] = np.where(valid, keys[codes], NONE)
        if self._column is not None:
            self._shadow[new, 1] = relation.rows[new, self._column]
        self._size = relation.size
        self._chain.extend(self._shadow, self._size, 0)


def value_index(
    relation: Relation, term: Term, columns: Columns, column: int | None, keys: ValueKeys,
    evaluate: Callable[[Codes], tuple[Codes, Array]],
) -> ValueIndex:  # fmt: skip
    """Return the index of a relation by the value of a term over its columns."""
    key = (term, columns, column)
    index = relation.value_indexes.get(key)
    if not isinstance(index, ValueIndex):
        index = ValueIndex(keys, column)
        relation.value_indexes[key] = index
    index.extend(relation, evaluate)
    return index
