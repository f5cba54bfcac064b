"""Indexes of a relation by some of its columns.

Both kinds map a key to an entry. A key of one column is its own entry if codes are dense enough; otherwise a hash table
maps keys to entries. A `RangeIndex` has a copy of the rows sorted by key, so that the rows of an entry are adjacent; a
`ChainIndex` links the rows of an entry, newest first, and adds new rows as they come. Their `fields` are what a kernel
needs: the addresses of rows (0 for the relation's own), entries and next rows, then those of the hash table. When one
of these arrays is replaced, so is the array of fields.
"""

from __future__ import annotations

from operator import is_
from typing import Any

import numpy as np
from numba import njit

from corollary.engines.embedded.relations.memory import EMPTY, NONE, U64, address, hash_row, slot_of

_NO_ARRAY = np.empty(0, np.uint32)
_NO_KEYS = np.empty(0, np.uint64)
_LEAST_PIECE = 4096


class _Keys:
    """The hash table from keys to entries; unused if keys of one column are their own entries."""

    def __init__(self) -> None:
        self.hashed = False
        self.keys: np.ndarray[Any, np.dtype[np.uint64]] = _NO_KEYS
        self.groups: np.ndarray[Any, np.dtype[np.uint32]] = _NO_ARRAY
        self.count = 0

    @property
    def mask(self) -> np.uint64:
        return U64(len(self.keys) - 1)

    @property
    def shift(self) -> np.uint64:
        return U64(64 - (len(self.keys).bit_length() - 1))

    def reserve(self, entries: int) -> None:
        """Make room for this many keys in all, keeping the existing ones."""
        if len(self.keys) >= entries * 2 and len(self.keys):
            return
        old_keys, old_groups = self.keys, self.groups
        slots = 1 << max(6, (entries * 2).bit_length())
        self.keys = np.full(slots, EMPTY, np.uint64)
        self.groups = np.zeros(slots, np.uint32)
        if len(old_keys):
            _copy_keys(old_keys, old_groups, self.keys, self.groups, self.shift, self.mask)

    def fields(self) -> tuple[int, int, int, int, int]:
        """Return the fields that a kernel needs: whether hashed, addresses of keys and groups, shift, mask."""
        if not self.hashed:
            return 0, 0, 0, 0, 0
        return 1, address(self.keys), address(self.groups), int(self.shift), int(self.mask)


class RangeIndex:
    """A copy of the `rows` sorted by key; the rows of entry e are those from `offsets[e]` up to `offsets[e + 1]`."""

    def __init__(self, rows: np.ndarray[Any, Any], columns: tuple[int, ...], universe: int) -> None:
        self.row_count = len(rows)
        self.keys = _Keys()
        self._set_up(rows, columns, universe)
        self.fields = self._fields()

    def _set_up(self, rows: np.ndarray[Any, Any], columns: tuple[int, ...], universe: int) -> None:
        if len(columns) == 1 and universe <= 4 * len(rows) + 1024:
            self.offsets, self.rows = _sort_directly(rows, columns[0], universe)
        else:
            self.keys.hashed = True
            self.keys.reserve(len(rows))
            groups = np.empty(len(rows), np.uint32)
            key_columns = np.array(columns, np.int64)
            keys = self.keys
            keys.count = int(
                _assign_groups(
                    rows, 0, len(rows), key_columns, keys.keys, keys.groups, keys.shift, keys.mask, 0, groups
                )
            )
            self.offsets, self.rows = _sort_by_group(rows, groups, keys.count)

    def cover(self, universe: int) -> None:
        """Make every code up to the size of the universe a valid key; new codes have no rows."""
        missing = universe + 1 - len(self.offsets)
        if not self.keys.hashed and missing > 0:
            self.offsets = np.concatenate([self.offsets, np.full(missing, self.offsets[-1], np.uint32)])
            self.fields = self._fields()

    def _fields(self) -> np.ndarray[Any, Any]:
        return np.array([address(self.rows), address(self.offsets), 0, *self.keys.fields()], np.int64)

    @property
    def nbytes(self) -> int:
        return int(self.offsets.nbytes + self.rows.nbytes + self.keys.keys.nbytes + self.keys.groups.nbytes)


class ChainIndex:
    """Linked rows: `heads[e]` is the newest row of entry e, `following[row]` the next older one; NONE ends a chain."""

    def __init__(self, columns: tuple[int, ...], arity: int) -> None:
        self._columns = np.array(columns, np.int64)
        self.keys = _Keys()
        self.keys.hashed = len(columns) != 1
        self.heads = _NO_ARRAY
        self.following = _NO_ARRAY
        self._indexed = 0
        self._addressed: tuple[object, ...] = (None,) * 3
        self.fields = np.zeros(8, np.int64)

    def extend(self, rows: np.ndarray[Any, Any], size: int, universe: int) -> None:
        """Add the rows from the last indexed one up to `size`."""
        if len(self.following) < size:
            self.following = _grown(self.following, max(size, len(rows)), fills=False)
        if self.keys.hashed:
            self._extend_groups(rows, size)
        else:
            self.heads = _grown(self.heads, universe)
            if self._indexed < size:
                _chain_directly(rows, self._columns[0], self._indexed, size, self.heads, self.following)
                self._indexed = size
        self._note_arrays()

    def _note_arrays(self) -> None:
        arrays = (self.heads, self.following, self.keys.keys)
        if not all(map(is_, arrays, self._addressed)):
            self._addressed = arrays
            self.fields = np.array([0, address(self.heads), address(self.following), *self.keys.fields()], np.int64)

    def make_room(self, rows: int) -> None:
        """Make room for this many new rows, each of which may have a new key; look-ups are not affected."""
        if self.keys.hashed:
            self.keys.reserve(self.keys.count + rows)
            self.heads = _grown(self.heads, self.keys.count + rows)
        self.following = _grown(self.following, self._indexed + rows, fills=False)
        self._note_arrays()

    def note_linked(self, size: int, keys: int) -> None:
        """Note that a kernel has linked all rows up to `size`, and that there are this many keys."""
        self._indexed = size
        self.keys.count = keys

    def _extend_groups(self, rows: np.ndarray[Any, Any], size: int) -> None:
        """Add rows in pieces: most rows have no new key, and a table with room for all of them would not fit the cache."""
        keys = self.keys
        keys.reserve(1)
        while self._indexed < size:
            stop = min(size, self._indexed + max(_LEAST_PIECE, keys.count))
            keys.reserve(keys.count + stop - self._indexed)
            groups = np.empty(stop - self._indexed, np.uint32)
            keys.count = int(
                _assign_groups(
                    rows,
                    self._indexed,
                    stop,
                    self._columns,
                    keys.keys,
                    keys.groups,
                    keys.shift,
                    keys.mask,
                    keys.count,
                    groups,
                )
            )
            self.heads = _grown(self.heads, keys.count)
            _chain_groups(groups, self._indexed, self.heads, self.following)
            self._indexed = stop

    @property
    def nbytes(self) -> int:
        return int(self.heads.nbytes + self.following.nbytes + self.keys.keys.nbytes + self.keys.groups.nbytes)


def _grown(
    array: np.ndarray[Any, np.dtype[np.uint32]], wanted: int, *, fills: bool = True
) -> np.ndarray[Any, np.dtype[np.uint32]]:
    """Return a longer array; its end is filled with NONE if it may be read before it is written."""
    if len(array) >= wanted:
        return array
    grown = np.empty(max(wanted, len(array) * 2), np.uint32)
    grown[: len(array)] = array
    if fills:
        grown[len(array) :] = NONE
    return grown


@njit(inline="always")
def key_of_columns(rows: Any, row: int, columns: Any) -> Any:
    """Return the key of a row's columns, equal to the key that the join kernel makes of registers."""
    if len(columns) == 1:
        return U64(rows[row, columns[0]])
    if len(columns) == 2:
        return (U64(rows[row, columns[0]]) << U64(32)) | U64(rows[row, columns[1]])
    key = U64(0)
    for i in range(len(columns)):
        key = hash_row(key, U64(rows[row, columns[i]]))
    return key & U64(0x7FFFFFFFFFFFFFFF)


@njit(cache=True, nogil=True)
def _copy_keys(old_keys: Any, old_groups: Any, keys: Any, groups: Any, shift: Any, mask: Any) -> None:
    for i in range(len(old_keys)):
        if old_keys[i] != EMPTY:
            slot = slot_of(old_keys[i], shift)
            while keys[slot] != EMPTY:
                slot = (slot + U64(1)) & mask
            keys[slot] = old_keys[i]
            groups[slot] = old_groups[i]


@njit(cache=True, nogil=True)
def _assign_groups(
    rows: Any, start: int, stop: int, columns: Any, keys: Any, groups: Any, shift: Any, mask: Any, count: int, out: Any
) -> int:
    """Give each row the number of its key, with the next numbers for new keys; return how many keys there are."""
    before, slot = EMPTY, U64(0)
    for row in range(start, stop):
        key = key_of_columns(rows, row, columns)
        if key == before:  # rows that were derived together often have the same key
            out[row - start] = groups[slot]
            continue
        before = key
        slot = slot_of(key, shift)
        while keys[slot] != EMPTY and keys[slot] != key:
            slot = (slot + U64(1)) & mask
        if keys[slot] == EMPTY:
            keys[slot] = key
            groups[slot] = count
            count += 1
        out[row - start] = groups[slot]
    return count


@njit(cache=True, nogil=True)
def _sort_directly(rows: Any, column: int, universe: int) -> Any:
    offsets = np.zeros(universe + 2, np.uint32)
    for row in range(rows.shape[0]):
        offsets[rows[row, column] + 2] += 1
    for code in range(2, universe + 2):
        offsets[code] += offsets[code - 1]
    ordered = np.empty(rows.shape, np.uint32)
    for row in range(rows.shape[0]):
        place = offsets[rows[row, column] + 1]
        offsets[rows[row, column] + 1] += 1
        for c in range(rows.shape[1]):
            ordered[place, c] = rows[row, c]
    return offsets[: universe + 1].copy(), ordered


@njit(cache=True, nogil=True)
def _sort_by_group(rows: Any, groups: Any, count: int) -> Any:
    offsets = np.zeros(count + 2, np.uint32)
    for row in range(rows.shape[0]):
        offsets[groups[row] + 2] += 1
    for group in range(2, count + 2):
        offsets[group] += offsets[group - 1]
    ordered = np.empty(rows.shape, np.uint32)
    for row in range(rows.shape[0]):
        place = offsets[groups[row] + 1]
        offsets[groups[row] + 1] += 1
        for c in range(rows.shape[1]):
            ordered[place, c] = rows[row, c]
    return offsets[: count + 1].copy(), ordered


@njit(cache=True, nogil=True)
def _chain_directly(rows: Any, column: int, start: int, stop: int, heads: Any, following: Any) -> None:
    for row in range(start, stop):
        code = rows[row, column]
        following[row] = heads[code]
        heads[code] = row


@njit(cache=True, nogil=True)
def _chain_groups(groups: Any, start: int, heads: Any, following: Any) -> None:
    for i in range(len(groups)):
        following[start + i] = heads[groups[i]]
        heads[groups[i]] = start + i
