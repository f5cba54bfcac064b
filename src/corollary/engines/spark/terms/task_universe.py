"""Conversion between ids and the codes of the embedded kernels, inside a task.

A task joins by identity, so it seldom needs to know the constant of an id: unexplained ids become opaque constants. If
the task itself makes a constant with the id of an opaque one, the two are taken to be the same and share one code; if
that is wrong, because two constants have the same hash, the collision check of the universe finds it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pyarrow as pa
from numba import njit

from corollary.engines.embedded.relations.relation import Codes
from corollary.engines.embedded.values.universe import OPAQUE, Kind, Universe, gather
from corollary.engines.spark.terms.forms import codes_of_forms, form_table
from corollary.engines.spark.terms.ids import (
    NO_COLLISIONS,
    CollisionTable,
    Ids,
    Tag,
    codes_of_inline,
    ids_of,
    ids_of_doubles,
    ids_of_encoded_texts,
    ids_of_integers,
    ids_of_universe,
    is_hashed,
    tag,
)
from corollary.program import Structure, Value

# -- id map ------------------------------------------------------------------------------------------------------------

# A hash map from hashed ids to codes; hashed ids are never 0, which marks a free slot.

NOT_FOUND = np.uint32(0xFFFFFFFF)
_U64 = np.uint64
_GOLDEN = _U64(0x9E3779B97F4A7C15)


class IdMap:
    """A map from ids to codes; the first code of an id stays."""

    def __init__(self) -> None:
        self._size = 0
        self._bits = 10
        self._keys = np.zeros(1 << self._bits, np.int64)
        self._codes = np.empty(1 << self._bits, np.uint32)

    def find(self, ids: np.ndarray[Any, np.dtype[np.int64]]) -> Codes:
        """Return the codes of ids, or `NOT_FOUND`."""
        found: Codes = _find(self._keys, self._codes, 64 - self._bits, np.ascontiguousarray(ids))
        return found

    def add(self, ids: np.ndarray[Any, np.dtype[np.int64]], codes: Codes) -> None:
        self._reserve(len(ids))
        self._size += _add(self._keys, self._codes, 64 - self._bits, np.ascontiguousarray(ids), codes)

    def number(self, ids: np.ndarray[Any, np.dtype[np.int64]], first: int) -> np.ndarray[Any, np.dtype[np.int64]]:
        """Assign codes from `first` on to ids without one; return those ids, in the order of their codes."""
        self._reserve(len(ids))
        new: np.ndarray[Any, np.dtype[np.int64]] = _number(self._keys, self._codes, 64 - self._bits, ids, first)
        self._size += len(new)
        return new

    def _reserve(self, more: int) -> None:
        wanted = (self._size + more) * 2
        if wanted > len(self._keys):
            taken = self._keys != 0
            before = self._keys[taken], self._codes[taken]
            self._bits = int(wanted).bit_length()
            self._keys, self._codes = np.zeros(1 << self._bits, np.int64), np.empty(1 << self._bits, np.uint32)
            _add(self._keys, self._codes, 64 - self._bits, *before)


@njit(cache=True, nogil=True)
def _find(keys: Any, codes: Any, shift: int, ids: Any) -> Any:
    mask = _U64(len(keys) - 1)
    found = np.empty(len(ids), np.uint32)
    for i in range(len(ids)):
        slot = (_U64(ids[i]) * _GOLDEN) >> _U64(shift)
        while keys[slot] != 0 and keys[slot] != ids[i]:
            slot = (slot + _U64(1)) & mask
        found[i] = codes[slot] if keys[slot] != 0 else NOT_FOUND
    return found


@njit(cache=True, nogil=True)
def _add(keys: Any, codes: Any, shift: int, ids: Any, values: Any) -> Any:
    mask = _U64(len(keys) - 1)
    added = 0
    for i in range(len(ids)):
        slot = (_U64(ids[i]) * _GOLDEN) >> _U64(shift)
        while keys[slot] != 0 and keys[slot] != ids[i]:
            slot = (slot + _U64(1)) & mask
        if keys[slot] == 0:
            keys[slot] = ids[i]
            codes[slot] = values[i]
            added += 1
    return added


@njit(cache=True, nogil=True)
def _number(keys: Any, codes: Any, shift: int, ids: Any, first: int) -> Any:
    mask = _U64(len(keys) - 1)
    new = np.empty(len(ids), np.int64)
    count = 0
    for i in range(len(ids)):
        slot = (_U64(ids[i]) * _GOLDEN) >> _U64(shift)
        while keys[slot] != 0 and keys[slot] != ids[i]:
            slot = (slot + _U64(1)) & mask
        if keys[slot] == 0:
            keys[slot] = ids[i]
            codes[slot] = first + count
            new[count] = ids[i]
            count += 1
    return new[:count].copy()


# -- task universe -----------------------------------------------------------------------------------------------------

TERM_FIELDS = pa.schema(
    [("id", pa.int64()), ("common", pa.string()), ("canonical", pa.string()), ("datatype", pa.string())]
)
"""The columns of the universe."""
TERM_SCHEMA = "id long, common string, canonical string, datatype string"
"""These columns as a schema for Spark's functions."""


class TaskUniverse:
    """The ids of the codes of an embedded `universe`, which mean something in this task only."""

    def __init__(self, collisions: CollisionTable = NO_COLLISIONS) -> None:
        self.collisions = collisions
        self.universe: Universe = _MintingUniverse(self)
        self.universe.deepest = collisions.deepest
        self._map = IdMap()
        self._mapped = 0  # codes below this number are in the map
        self._ids = np.empty(1024, np.int64)
        self._reported = np.zeros(1024, np.bool_)  # codes of constants that were learned, or returned by `new_terms`
        self._known = 0  # codes below this number have their ids in `_ids`
        self._all_told = 0  # `new_terms` has nothing to return below this code
        self._opaque = 0
        self._is_minting = True

    def learn(self, terms: pa.RecordBatch | pa.Table) -> None:
        """Add the constants of ids, as rows of the universe; known ones may be repeated."""
        table = pa.table(terms) if isinstance(terms, pa.RecordBatch) else terms
        self._follow()
        ids = table.column("id").to_numpy()
        codes = self._codes_by_id().find(ids)
        missing = codes == NOT_FOUND
        opaque = ~missing
        self._reported[codes[opaque]] = True
        opaque[opaque] = self.universe.kinds[codes[opaque]] == Kind.OPAQUE
        if opaque.any():
            revealed, first = np.unique(codes[opaque], return_index=True)
            self._reveal(revealed, lambda: self._encode_forms(table, np.flatnonzero(opaque)[first]))
        if missing.any():
            made = self._encode_forms(table, None if missing.all() else np.flatnonzero(missing))
            self._register(made, ids[missing])
            self._map_codes(made, ids[missing])
            self._reported[made] = True

    def explains(self, ids: Ids) -> np.ndarray[Any, np.dtype[np.bool_]]:
        """Return which of these ids belong to a constant that is known here."""
        self._follow()
        codes = self._codes_by_id().find(ids)
        known: np.ndarray[Any, np.dtype[np.bool_]] = codes != NOT_FOUND
        known[known] = self.universe.kinds[codes[known]] != Kind.OPAQUE
        return known

    def codes(self, ids: Ids) -> Codes:
        """Return the codes of ids, in an array of any shape; unexplained hashed ids become opaque constants."""
        ids = np.asarray(ids, np.int64)
        flat = np.ascontiguousarray(ids).reshape(-1)
        tags = tag(flat)
        with self._learning():
            if not tags.any():
                return self.universe.encode_integers(flat >> 2).reshape(ids.shape)
            codes = np.empty(len(flat), np.uint32)
            for number in np.unique(tags).tolist():
                chosen = tags == number
                codes[chosen] = self._codes_of_tag(Tag(number), flat[chosen])
        return codes.reshape(ids.shape)

    def ids(self, codes: Codes) -> Ids:
        """Return the ids of codes, in an array of any shape; new constants of the task get theirs now."""
        self._follow()
        found: Ids = self._ids[codes]
        return found

    def new_terms(self) -> pa.Table:
        """Return rows of the universe (`TERM_FIELDS`) for hashed constants that only this task made; each is returned once."""
        self._follow()
        new = slice(self._all_told, self.universe.size)
        is_new = is_hashed(self._ids[new]) & ~self._reported[new] & (self.universe.kinds[new] != Kind.OPAQUE)
        codes = (np.flatnonzero(is_new) + new.start).astype(np.uint32)
        self._reported[codes] = True
        if not self._opaque:  # opaque constants may be returned once they are revealed
            self._all_told = self.universe.size
        forms = form_table(self.universe, codes)
        return pa.table([pa.array(self._ids[codes]), *forms.columns], schema=TERM_FIELDS)

    # -- before the universe makes a constant -----------------------------------------------------------

    def meets_opaque(self) -> bool:
        """Return whether a constant that is made now could be an opaque one."""
        return self._is_minting and self._opaque > 0

    def meet(self, ids: Ids, encode: Callable[[Any], Codes]) -> None:
        """Reveal opaque constants with these ids, which are about to be made; `encode` makes those at given positions only."""
        distinct, first = np.unique(ids, return_index=True)
        codes = self._codes_by_id().find(distinct)
        known = codes != NOT_FOUND
        known[known] = self.universe.kinds[codes[known]] == Kind.OPAQUE
        if known.any():
            self._reveal(codes[known], lambda: encode(first[known]))

    def _reveal(self, opaque: Codes, encode: Callable[[], Codes]) -> None:
        """Make the opaque constants those that `encode` makes, in the same order."""
        before = self.universe.size
        with self._learning():
            made = encode()
        fresh = made >= before
        self.universe.reveal(opaque[fresh], made[fresh])
        self._opaque -= int(fresh.sum())

    # -- bookkeeping -------------------------------------------------------------------------------------------------

    def _codes_of_tag(self, number: Tag, ids: Ids) -> Codes:
        if number != Tag.HASHED:
            return codes_of_inline(self.universe, number, ids)
        self._follow()
        codes = self._codes_by_id().find(ids)
        missing = codes == NOT_FOUND
        if missing.any():
            unknown = self._codes_by_id().number(ids[missing], self.universe.size)
            self._register(self.universe.add_opaque(unknown), unknown)
            self._opaque += len(unknown)
            codes[missing] = self._codes_by_id().find(ids[missing])
        return codes

    def _encode_forms(self, table: pa.Table, rows: Any | None) -> Codes:
        chosen = table.select(["canonical", "datatype"])
        if rows is not None:
            chosen = chosen.take(pa.array(rows))
        canonical, datatype = (_whole(chosen.column(name)) for name in ("canonical", "datatype"))
        with self._learning():
            return codes_of_forms(self.universe, canonical, datatype)

    def _follow(self) -> None:
        """Assign ids to the codes that were made since the last call."""
        codes = np.arange(self._known, self.universe.size, dtype=np.uint32)
        if len(codes):
            self._register(codes, ids_of_universe(self.universe, codes, self.collisions))

    def _register(self, codes: Codes, ids: Ids) -> None:
        size = self.universe.size
        if size > len(self._ids):
            capacity = max(size, len(self._ids) * 2)
            self._ids, self._reported = np.resize(self._ids, capacity), np.resize(self._reported, capacity)
        self._reported[self._known : size] = False
        self._ids[codes] = ids
        self._known = size

    def _codes_by_id(self) -> IdMap:
        """Return the map of hashed ids to codes, which tasks that only make constants never need."""
        if self._mapped < self._known:
            self._map_codes(
                np.arange(self._mapped, self._known, dtype=np.uint32), self._ids[self._mapped : self._known]
            )
        return self._map

    def _map_codes(self, codes: Codes, ids: Ids) -> None:
        """Add codes with their ids to the map; all codes from `_mapped` on are among them."""
        hashed = is_hashed(ids)
        self._map.add(ids[hashed], codes[hashed])
        self._mapped = self._known

    @contextmanager
    def _learning(self) -> Iterator[None]:
        before, self._is_minting = self._is_minting, False
        try:
            yield
        finally:
            self._is_minting = before


class _MintingUniverse(Universe):
    """A universe that looks among the opaque constants before it makes a new one."""

    def __init__(self, task: TaskUniverse) -> None:
        super().__init__()
        self._task = task

    def encode_texts(self, kind: Kind, data: np.ndarray[Any, Any], offsets: np.ndarray[Any, Any]) -> Codes:
        if self._task.meets_opaque():
            ids = ids_of_encoded_texts(kind, data, offsets, self._task.collisions)
            self._task.meet(ids, lambda places: self.encode_texts(kind, *_texts_at(data, offsets, places)))
        return super().encode_texts(kind, data, offsets)

    def encode_integers(self, values: Ids) -> Codes:
        if self._task.meets_opaque():
            ids = ids_of_integers(np.ascontiguousarray(values, np.int64), self._task.collisions)
            self._task.meet(ids, lambda places: self.encode_integers(values[places]))
        return super().encode_integers(values)

    def encode_doubles(self, values: np.ndarray[Any, np.dtype[np.float64]]) -> Codes:
        if self._task.meets_opaque():
            ids = ids_of_doubles(values, self._task.collisions)
            self._task.meet(ids, lambda places: self.encode_doubles(values[places]))
        return super().encode_doubles(values)

    def _encode_term(self, value: Value) -> int:
        if isinstance(value, Structure) and value.name == OPAQUE:
            return int(self._task.codes(np.array(value.arguments, np.int64))[0])
        if self._task.meets_opaque():
            ids = ids_of([value], self._task.collisions)
            self._task.meet(ids, lambda _: np.array([self._encode_term(value)], np.uint32))
        return super()._encode_term(value)


def _texts_at(data: Any, offsets: Any, places: Any) -> tuple[Any, Any]:
    chosen = np.zeros(len(places) + 1, np.int64)
    np.cumsum(offsets[places + 1] - offsets[places], out=chosen[1:])
    return gather(data, offsets[places], chosen), chosen


def _whole(column: pa.ChunkedArray) -> pa.Array:
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
