"""A relation of the embedded engine: growing rows of codes, a set of them, and indexes made on demand."""

from __future__ import annotations

import copy
from functools import cache
from typing import Any, Protocol, TypeAlias

import numpy as np
from numba import njit

from corollary.engines.embedded.relations import memory
from corollary.engines.embedded.relations.index import ChainIndex, RangeIndex
from corollary.engines.embedded.relations.memory import (
    BITMAP,
    EMPTY,
    NONE,
    U64,
    address,
    bit_of_pair,
    contains_bit,
    contains_key,
    hash_row,
    insert_bit,
    insert_key,
    insert_wide,
    prefetch_u64,
    slot_of,
)

Codes: TypeAlias = np.ndarray[Any, np.dtype[np.uint32]]
Counts: TypeAlias = np.ndarray[Any, np.dtype[np.uint32]]


class Pairs(Protocol):
    """A set of pairs that is not written out yet."""

    count: int

    def rows(self) -> Codes: ...


_FIRST_CAPACITY = 64  # rows of the first allocation; many predicates of a long program have none at all
_FEWEST_SLOTS = 1 << 7
_AHEAD = 32
_GROWS_FOURFOLD = 1 << 21
_PLENTY_OF_ROWS = 1 << 26  # bytes; below that, rows grow fourfold, because untouched pages cost nothing
BITMAP_FROM = 50_000  # rows; for fewer pairs a small hash table is better
BITMAP_CODE_BITS = 14  # a bitmap has 32 MB at most, of which only touched pages exist
_NO_COUNTS = np.empty(0, np.uint32)
_NO_TABLE = np.empty(0, np.uint64)


class Relation:
    """Facts of one predicate as an array of codes, one row for each fact; rows are numbered in the order of insertion.

    `size` rows are in use. The set is maintained from the first insertion on; a relation filled by `append_distinct`
    builds it at the first look-up. A `counted` relation knows for each row and owner how often the owner derives it
    (its support); its set leads to row numbers.
    """

    def __init__(self, arity: int, code_bits: int = 32, *, counted: bool = False) -> None:
        self.arity = arity
        self.counted = counted
        self._support: dict[str, Counts] = {}
        self.size = 0
        self._rows: Codes = _no_rows(arity)
        self._pending: Pairs | None = None
        self._addressed_rows: Codes | None = None
        self._rows_address = 0
        self._addressed_table: np.ndarray[Any, Any] | None = None
        self._set_fields: np.ndarray[Any, Any] | None = None
        self._code_bits = code_bits
        self._bits = 0 if counted else _packed_bits(arity, code_bits)
        self._stride = 0
        self._table: np.ndarray[Any, np.dtype[np.uint64]] = _NO_TABLE
        self._hashed = 0  # the rows below this number are in the table
        self._ranges: dict[tuple[int, ...], RangeIndex] = {}
        self._chains: dict[tuple[int, ...], ChainIndex] = {}
        self.value_indexes: dict[object, Any] = {}  # by terms over the columns; see `value_keys`

    @property
    def rows(self) -> Codes:
        """All rows, those in use first; pairs that were only counted are written out now."""
        if self._pending is not None:
            self._rows, self._pending = np.ascontiguousarray(self._pending.rows()), None
        return self._rows

    @rows.setter
    def rows(self, rows: Codes) -> None:
        self._rows, self._pending = rows, None

    # -- facts -------------------------------------------------------------------------------------------------------

    @property
    def facts(self) -> Codes:
        """The rows in use, as a view."""
        return self.rows[: self.size]

    def insert(self, rows: Codes, owner: str | None = None) -> int:
        """Add the rows that are new, as the last rows; return their number.

        With an owner, every row counts as one derivation by it.
        """
        before = self.size
        if self.arity == 0:
            self.size = max(self.size, min(1, len(rows)))
            if owner is not None:
                counts = self.support_of(owner)
                memory.check_counts(int(counts[0]) + len(rows))
                counts[0] += len(rows)
            return self.size - before
        # In pieces, so that many duplicates do not make the relation grow in vain.
        rows = np.ascontiguousarray(rows, dtype=np.uint32)
        step = 1 << 20
        for start in range(0, len(rows), step):
            piece = rows[start : start + step]
            self.reserve(len(piece))
            self.size, overflown = _insert_rows(
                piece,
                self.rows,
                self.size,
                self._table,
                self.table_shift,
                self.table_mask,
                U64(self._bits),
                _NO_COUNTS if owner is None else self.support_of(owner),
            )
            self._hashed = self.size
            if overflown:
                memory.check_counts(memory.MOST_COUNTED + 1)
        return self.size - before

    def insert_with_counts(self, rows: Codes, counts: Counts, owner: str) -> None:
        """Add distinct rows, each with its number of derivations by the owner."""
        places = self.place(rows)
        known = self.support_of(owner)
        total = known[places] + counts.astype(np.uint64)
        memory.check_counts(int(total.max(initial=0)))
        known[places] = total

    def append_distinct(self, rows: Codes, owner: str | None = None) -> None:
        """Add rows that are known to be new and distinct, without updating the set."""
        if len(rows):
            self._grow_rows(self.size + len(rows))
            self.rows[self.size : self.size + len(rows)] = rows
            self.size += len(rows)
            if owner is not None:
                self.mark(owner, self.size - len(rows))

    # -- support -----------------------------------------------------------------------------------------------------

    @property
    def owners(self) -> list[str]:
        return list(self._support)

    def support_of(self, owner: str) -> Counts:
        """Return how often the owner derives each row; aligned with `rows`, writable."""
        if owner not in self._support:
            self._support[owner] = np.zeros(max(1, len(self.rows)), np.uint32)
        return self._support[owner]

    def rename_owner(self, owner: str, successor: str) -> None:
        """Give the support of one owner to another, who has none."""
        self._support[successor] = self._support.pop(owner)

    def mark(self, owner: str, start: int) -> None:
        """Make the owner support the rows from `start` on, once."""
        self.support_of(owner)[start : self.size] = 1

    @property
    def is_pending(self) -> bool:
        """Whether the rows are still to be written out."""
        return self._pending is not None

    def copy_of_pending(self) -> Relation:
        """Return a relation whose rows, still to be written out, do not depend on what becomes of these."""
        assert self._pending is not None
        found = Relation(self.arity)
        found.become(copy.deepcopy(self._pending))
        return found

    def become(self, pairs: Pairs) -> None:
        """Replace the rows by these pairs, which contain all of them."""
        memory.check_rows(pairs.count)
        self._pending = pairs
        self.size = pairs.count
        self._forget_structures()

    def contains(self, rows: Codes) -> np.ndarray[Any, np.dtype[np.bool_]]:
        """Return, for each row, whether it is in the relation."""
        if self.arity == 0:
            return np.full(len(rows), self.size > 0)
        self.ensure_set()
        return _contains_rows(  # type: ignore[no-any-return]
            np.ascontiguousarray(rows, dtype=np.uint32),
            self.rows,
            self._table,
            self.table_shift,
            self.table_mask,
            U64(self._bits),
        )

    def number_rows(self) -> None:
        """Let the set lead to row numbers, which changing the support of a row needs."""
        if not self.counted:
            self.counted = True
            self._bits = 0
            self._hashed = 0
            self._table = _NO_TABLE

    def place(self, rows: Codes) -> np.ndarray[Any, np.dtype[np.int64]]:
        """Return the numbers of rows in a relation with numbered rows; new rows are added."""
        if self.arity == 0:
            self.size = max(self.size, min(1, len(rows)))
            return np.zeros(min(1, len(rows)), np.int64)
        self.reserve(len(rows))
        places = np.empty(len(rows), np.int64)
        new = np.ascontiguousarray(rows, np.uint32)
        self.size = int(
            _find_or_insert(new, self.rows, self.size, self._table, self.table_shift, self.table_mask, places)
        )
        self._hashed = self.size
        return places

    def locate(self, rows: Codes) -> np.ndarray[Any, np.dtype[np.int64]]:
        """Return the numbers of rows in a relation with numbered rows, -1 for missing rows."""
        if self.arity == 0:
            return np.full(min(1, len(rows)), 0 if self.size else -1, np.int64)
        self.ensure_set()
        places = np.empty(len(rows), np.int64)
        wanted = np.ascontiguousarray(rows, np.uint32)
        _find(wanted, self.rows, self._table, self.table_shift, self.table_mask, places)
        return places

    def keep(self, wanted: np.ndarray[Any, np.dtype[np.bool_]]) -> None:
        """Remove all rows but the wanted ones, which keep their order and get new numbers."""
        kept = self.facts[wanted]  # a copy, because the old rows may still be in use
        for owner, counts in self._support.items():
            self._support[owner] = counts[: self.size][wanted] if len(kept) else np.zeros(1, np.uint32)
        self.rows, self.size = kept, len(kept)
        self._forget_structures()

    def _forget_structures(self) -> None:
        self._hashed = 0
        if self._bits == BITMAP:
            self._bits = 32
        self._table = _NO_TABLE
        self._ranges.clear()
        self._chains.clear()
        self.value_indexes.clear()

    # -- the set -----------------------------------------------------------------------------------------------------

    @property
    def bits(self) -> int:
        """The bits per column of a packed key; 0 for wide keys."""
        return self._bits

    @property
    def table(self) -> np.ndarray[Any, np.dtype[np.uint64]]:
        return self._table

    @property
    def table_mask(self) -> np.uint64:
        return U64(len(self._table) - 1)

    @property
    def table_shift(self) -> np.uint64:
        if self._bits == BITMAP:
            return U64(self._stride)
        return U64(64 - (len(self._table).bit_length() - 1))

    @property
    def room(self) -> int:
        """The number of rows up to which nothing must grow."""
        return len(self.rows) if self._bits == BITMAP else min(len(self.rows), len(self._table) * 7 // 10)

    @property
    def code_bits(self) -> int:
        """The number of bits that holds every code of its rows."""
        return self._code_bits

    def widen(self, code_bits: int) -> None:
        """Adapt packed keys to codes of this many bits."""
        self._code_bits = code_bits
        if self._bits == BITMAP and code_bits <= self._stride:
            return
        if not self.counted and _packed_bits(self.arity, code_bits) != self._bits:
            self._bits = _packed_bits(self.arity, code_bits)
            self._hashed = 0
            self._table = _NO_TABLE

    def reserve(self, extra: int) -> None:
        """Make room for this many new rows, in the rows and in the set."""
        self._grow_rows(self.size + extra)
        self.ensure_set(self.size + extra)

    def ensure_set(self, rows: int = 0) -> None:
        """Bring the set up to date, with room for `rows` rows."""
        rows = max(rows, self.size)
        if self._bits == 32 and self._deserves_bitmap(rows):
            self._bits, self._stride = BITMAP, self._code_bits
            self._table = np.zeros(1 << max(0, 2 * self._stride - 6), np.uint64)  # untouched pages cost nothing
            self._hashed = 0
        elif self._bits == BITMAP:
            pass
        elif len(self._table) * 7 // 10 < rows or not len(self._table):
            slots = max(_FEWEST_SLOTS, 1 << (rows * 10 // 7).bit_length())
            if len(self._table) and slots <= _GROWS_FOURFOLD:
                slots *= 2  # grow more than necessary, because every growth moves all keys
            known, self._table = self._table, np.full(slots, EMPTY, np.uint64)
            if self._bits and self._hashed:
                _move_keys(known, self._table, self.table_shift, self.table_mask)
            else:
                self._hashed = 0
        if self._hashed < self.size:
            _hash_rows(
                self.rows, self._hashed, self.size, self._table, self.table_shift, self.table_mask, U64(self._bits)
            )
            self._hashed = self.size

    def make_room(self, extra: int) -> None:
        """Make room for at least this many more rows, without the set."""
        self._grow_rows(self.size + max(extra, 64))

    def _deserves_bitmap(self, rows: int) -> bool:
        return self.arity == 2 and rows >= BITMAP_FROM and self._code_bits <= BITMAP_CODE_BITS

    def note_inserted(self, size: int) -> None:
        """Note that the join kernel has inserted rows: there are `size` now, all in the set."""
        self.size = size
        self._hashed = size

    def note_appended(self, size: int) -> None:
        """Note that the join kernel has appended rows without updating the set."""
        self.size = size

    def _grow_rows(self, wanted: int) -> None:
        if wanted > len(self.rows):
            memory.check_rows(wanted)
            factor = 4 if self.rows.nbytes < _PLENTY_OF_ROWS else 2
            room = max(wanted, _FIRST_CAPACITY, min(len(self.rows) * factor, memory.MOST_ROWS))
            grown = np.empty((room, self.arity), np.uint32)
            grown[: self.size] = self.facts
            self.rows = grown
            for owner, counts in self._support.items():
                self._support[owner] = np.zeros(len(grown), np.uint32)
                self._support[owner][: len(counts)] = counts

    # -- indexes -----------------------------------------------------------------------------------------------------

    def range_index(self, columns: tuple[int, ...], universe: int) -> RangeIndex:
        """Return a clustered index of all rows, for relations that do not change while it is used."""
        index = self._ranges.get(columns)
        if index is None or index.row_count != self.size:
            index = self._ranges[columns] = RangeIndex(self.facts, columns, universe)
        index.cover(universe)
        return index

    def chain_index(self, columns: tuple[int, ...], universe: int) -> ChainIndex:
        """Return an index that follows the relation as it grows."""
        index = self._chains.get(columns)
        if index is None:
            index = self._chains[columns] = ChainIndex(columns, self.arity)
        index.extend(self.rows, self.size, universe)
        return index

    @property
    def nbytes(self) -> int:
        ranges = sum(index.nbytes for index in self._ranges.values())
        chains = sum(index.nbytes for index in (*self._chains.values(), *self.value_indexes.values()))
        support = sum(counts.nbytes for counts in self._support.values())
        return int(self._rows.nbytes + self._table.nbytes + ranges + chains + support)

    @property
    def rows_address(self) -> int:
        rows = self.rows
        if rows is not self._addressed_rows:
            self._addressed_rows, self._rows_address = rows, address(rows)
        return self._rows_address

    @property
    def set_fields(self) -> np.ndarray[Any, Any]:
        """The fields of the set that a kernel needs: addresses of table and rows, shift, mask, bits; a new array for a
        new table."""
        if self._set_fields is None or self._table is not self._addressed_table:
            self._addressed_table = self._table
            numbers = (address(self._table), 0, int(self.table_shift), int(self.table_mask), self._bits)
            self._set_fields = np.array(numbers, np.int64)
        self._set_fields[1] = self.rows_address
        return self._set_fields


@cache
def _no_rows(arity: int) -> Codes:
    return np.empty((0 if arity else 1, arity), np.uint32)  # a proposition is an empty row


def _packed_bits(arity: int, code_bits: int) -> int:
    if arity <= 2:
        return 32
    bits = 64 // arity
    return bits if code_bits < bits else 0


@njit(inline="always")
def _row_key(rows: Any, row: int, bits: Any) -> Any:
    key = U64(0)
    if bits == U64(0):
        for column in range(rows.shape[1]):
            key = hash_row(key, U64(rows[row, column]))
    elif bits == U64(BITMAP):
        key = U64(rows[row, 0]) | (U64(rows[row, 1]) << U64(32))
    else:
        for column in range(rows.shape[1]):
            key |= U64(rows[row, column]) << (bits * U64(column))
    return key


@njit(inline="always")
def _place(key: Any, shift: Any, bits: Any) -> Any:
    """Return the slot where the search for a key starts."""
    return bit_of_pair(key, shift) >> U64(6) if bits == U64(BITMAP) else slot_of(key, shift)


@njit(cache=True, nogil=True)
def _insert_rows(new: Any, rows: Any, size: int, table: Any, shift: Any, mask: Any, bits: Any, counts: Any) -> Any:
    """Insert rows; return the new number of rows, and whether a count exceeded 32 bits."""
    count, arity = new.shape[0], new.shape[1]
    overflown = False
    slots, places = U64(table.ctypes.data), U64(rows.ctypes.data)
    flat = U64(new.ctypes.data)
    for row in range(count):
        if row + _AHEAD < count:
            prefetch_u64(slots, _place(_row_key(new, row + _AHEAD, bits), shift, bits))
        key = _row_key(new, row, bits)
        if bits == U64(0):
            found = insert_wide(slots, shift, mask, places, U64(arity), flat, U64(row * arity), key, U64(size))
            is_new = found == U64(size)
            if len(counts):
                overflown |= counts[found] == NONE
                counts[found] += np.uint32(1)
        elif bits == U64(BITMAP):
            is_new = insert_bit(slots, shift, key)
        else:
            is_new = insert_key(slots, shift, mask, key)
        if is_new:
            for column in range(arity):
                rows[size, column] = new[row, column]
            size += 1
    return size, overflown


@njit(cache=True, nogil=True)
def _find_or_insert(new: Any, rows: Any, size: int, table: Any, shift: Any, mask: Any, places: Any) -> int:
    """Find the numbers of rows in a table of row numbers, adding new rows; return the new number of rows."""
    slots, start = U64(table.ctypes.data), U64(rows.ctypes.data)
    arity = new.shape[1]
    flat = U64(new.ctypes.data)
    for row in range(new.shape[0]):
        key = _row_key(new, row, U64(0))
        found = insert_wide(slots, shift, mask, start, U64(arity), flat, U64(row * arity), key, U64(size))
        if found == U64(size):
            for column in range(arity):
                rows[size, column] = new[row, column]
            size += 1
        places[row] = found
    return size


@njit(inline="always")
def _number_of(wanted: Any, row: int, key: Any, rows: Any, table: Any, shift: Any, mask: Any) -> Any:
    """Return the number of a row in a table of row numbers, or -1."""
    slot = slot_of(key, shift)
    tag = (key >> U64(32)) << U64(32)
    while table[slot] != EMPTY:
        entry = table[slot]
        if (entry >> U64(32)) << U64(32) == tag:
            other = np.int64(entry & U64(0xFFFFFFFF))
            same = True
            for column in range(rows.shape[1]):
                if rows[other, column] != wanted[row, column]:
                    same = False
                    break
            if same:
                return other
        slot = (slot + U64(1)) & mask
    return np.int64(-1)


@njit(cache=True, nogil=True)
def _find(wanted: Any, rows: Any, table: Any, shift: Any, mask: Any, places: Any) -> None:
    """Find the numbers of rows, -1 for missing ones, in a table of row numbers."""
    for row in range(wanted.shape[0]):
        places[row] = _number_of(wanted, row, _row_key(wanted, row, U64(0)), rows, table, shift, mask)


@njit(cache=True, nogil=True)
def _hash_rows(rows: Any, start: int, stop: int, table: Any, shift: Any, mask: Any, bits: Any) -> None:
    """Insert rows that are known to be distinct into the table."""
    slots = U64(table.ctypes.data)
    for row in range(start, stop):
        if row + _AHEAD < stop:
            prefetch_u64(slots, _place(_row_key(rows, row + _AHEAD, bits), shift, bits))
        key = _row_key(rows, row, bits)
        if bits == U64(BITMAP):
            insert_bit(slots, shift, key)
            continue
        slot = slot_of(key, shift)
        while table[slot] != EMPTY:
            slot = (slot + U64(1)) & mask
        table[slot] = key if bits != U64(0) else ((key >> U64(32)) << U64(32)) | U64(row)


@njit(cache=True, nogil=True)
def _move_keys(known: Any, table: Any, shift: Any, mask: Any) -> None:
    """Fill a larger table; slots are high bits of hashes, so keys arrive nearly in the order in which they are written."""
    for old_slot in range(len(known)):
        key = known[old_slot]
        if key != EMPTY:
            slot = slot_of(key, shift)
            while table[slot] != EMPTY:
                slot = (slot + U64(1)) & mask
            table[slot] = key


@njit(cache=True, nogil=True)
def _contains_rows(wanted: Any, rows: Any, table: Any, shift: Any, mask: Any, bits: Any) -> Any:
    found = np.zeros(wanted.shape[0], np.bool_)
    slots = U64(table.ctypes.data)
    for row in range(wanted.shape[0]):
        key = _row_key(wanted, row, bits)
        if bits == U64(BITMAP):
            found[row] = contains_bit(slots, shift, key)
            continue
        if bits != U64(0):
            found[row] = contains_key(slots, shift, mask, key)
            continue
        found[row] = _number_of(wanted, row, key, rows, table, shift, mask) >= 0
    return found


def facts_of(relation: Relation) -> Codes:
    """Return the facts of an independent relation, with or without arguments."""
    return relation.facts if relation.arity else np.empty((relation.size, 0), np.uint32)


def relation_of(facts: Codes) -> Relation:
    """Return an independent relation with distinct facts."""
    relation = Relation(facts.shape[1])
    if relation.arity:
        relation.append_distinct(facts)
    else:
        relation.size = min(1, len(facts))
    return relation
