"""The pairs that an update deleted from a relation and inserted; counted at once, written out on demand."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numba import njit

from corollary.engines.embedded.closures.graph import (
    CHANGED,
    CHANGED_COUNT,
    COMPONENT_MARK,
    CURSOR,
    EPOCH,
    FIRST,
    INDEX,
    NEXT,
    PATH,
    ROW,
    SIZE,
    STACK,
    Array,
    ClosureShape,
    kernel_part,
)
from corollary.engines.embedded.relations.relation import Codes, Pairs

# Lanes that are unused by then: the old component whose row was compared with the new one of a component, and the result.
PAST, GONE, COME = INDEX, STACK, PATH


class Some:
    """A known number of pairs, which `write` makes on first use."""

    def __init__(self, count: int, write: Callable[[], Codes]) -> None:
        self.count = count
        self._write: Callable[[], Codes] | None = write
        self._rows = np.empty((0, 2), np.uint32)

    def rows(self) -> Codes:
        if self._write is not None:
            self._rows, self._write = self._write(), None
        return self._rows


class PairDifference:
    """The exact difference of a relation before and after an update: `deleted` and `inserted`, two sets of distinct
    pairs.

    Its pairs are read from the closure until the closure changes again; then it copies what it needs, so it stays
    valid.
    """

    def __init__(self, deleted: Pairs, inserted: Pairs, keep: Callable[[], None] | None = None) -> None:
        self.deleted = deleted
        self.inserted = inserted
        self._keep = keep

    @property
    def count(self) -> int:
        return self.deleted.count + self.inserted.count

    def detach(self) -> None:
        """Copy what the difference needs from the closure, which is about to change."""
        if self._keep is not None:
            self._keep()
            self._keep = None


def difference_of_rows(deleted: Codes, inserted: Codes) -> PairDifference:
    return PairDifference(Some(len(deleted), lambda: deleted), Some(len(inserted), lambda: inserted))


class Groups(NamedTuple):
    """Nodes that had the same row before (`old`) and have the same row now (`new`); -1 is the empty row."""

    start: Array
    end: Array
    members: Array
    old: Array
    new: Array


class BitDifference:
    """The difference between rows of bits, group by group. With `own`, the bit of a node in its own row does not count."""

    def __init__(
        self, groups: Groups, old_bits: Array, new_bits: Array, words: int, names: tuple[Array, Array, Array]
    ) -> None:
        self._groups = groups
        self._old, self._new = old_bits, new_bits
        self._words = words
        self._names = names  # own column of each node (-1: none), code of each node, code of each column

    def keep(self) -> None:
        groups = self._groups
        self._old = _copied(self._old, groups.old, self._words)
        self._new = _copied(self._new, groups.new, self._words)
        numbers = np.arange(len(groups.old))
        self._groups = Groups(groups.start, groups.end, groups.members, numbers, numbers)

    def rows(self, count: int, extra: Codes, *, inserted: bool) -> Codes:
        """Return the pairs that are only in the new rows (if `inserted`) or only in the old ones, followed by the extra
        pairs."""
        rows = np.empty((count, 2), np.uint32)
        rows[count - len(extra) :] = extra
        _emit(self._groups, self._old, self._new, self._words, *self._names, inserted, rows)
        return rows


def _copied(bits: Array, places: Array, words: int) -> Array:
    copied = bits[places, :words]
    copied[places < 0] = 0
    return copied


# -- kernels -----------------------------------------------------------------------------------------------------------


@kernel_part
def popcount(word: Any) -> Any:
    word = word - ((word >> np.uint64(1)) & np.uint64(0x5555555555555555))
    word = (word & np.uint64(0x3333333333333333)) + ((word >> np.uint64(2)) & np.uint64(0x3333333333333333))
    word = (word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return np.int64((word * np.uint64(0x0101010101010101)) >> np.uint64(56))


@kernel_part
def _has(bits: Any, row: Any, column: Any) -> Any:
    return row >= 0 and (bits[row, column >> 6] >> np.uint64(column & 63)) & np.uint64(1) != np.uint64(0)


@njit(cache=True, nogil=True)
def group_changes(
    shape: ClosureShape,
    origin: Any,
    old_row: Any,
    old_bits: Any,
    new_bits: Any,
    words: int,
    own: Any,
    direction: int,
    compared: bool,
) -> Any:
    """Return groups of the members of all changed components, and how many pairs they lost and gained.

    `origin` is the old component of each node (-1: its present one), `old_row` the row in `old_bits` of an old
    component. With a direction, all rows have only lost bits (-1) or gained bits (1). `compared`: see `fill_rows`.
    """
    fields, lanes, counters = shape.fields, shape.lanes, shape.counters
    total = 0
    for i in range(counters[CHANGED_COUNT]):
        total += fields[SIZE, lanes[CHANGED, i]]
    members, starts, ends = np.empty(total, np.int64), np.empty(total, np.int64), np.empty(total, np.int64)
    olds, news = np.empty(total, np.int64), np.empty(total, np.int64)
    gone, come = np.empty(total, np.int64), np.empty(total, np.int64)
    mark, group_of = lanes[COMPONENT_MARK], lanes[CURSOR]
    groups, placed, lost, gained = 0, 0, 0, 0
    for i in range(counters[CHANGED_COUNT]):
        c = lanes[CHANGED, i]
        counters[EPOCH] += 2
        epoch = counters[EPOCH]
        new, first = fields[ROW, c], groups
        node = fields[FIRST, c]
        for _ in range(fields[SIZE, c]):
            past = origin[node] if origin[node] >= 0 else c
            if mark[past] != epoch:
                mark[past] = epoch
                group_of[past] = -1
                if compared and lanes[PAST, c] == past:
                    gone[groups], come[groups] = lanes[GONE, c], lanes[COME, c]
                else:
                    gone[groups], come[groups] = compare(old_bits, old_row[past], new_bits, new, words, direction)
                if gone[groups] + come[groups] > 0:
                    group_of[past] = groups
                    olds[groups], news[groups], ends[groups] = old_row[past], new, 0
                    groups += 1
            if group_of[past] >= 0:
                ends[group_of[past]] += 1
            node = fields[NEXT, node]
        for group in range(first, groups):
            lost += gone[group] * ends[group]
            gained += come[group] * ends[group]
            starts[group] = placed
            placed += ends[group]
            ends[group] = starts[group]
        if groups == first:
            continue
        for _ in range(fields[SIZE, c]):
            group = group_of[origin[node] if origin[node] >= 0 else c]
            if group >= 0:
                members[ends[group]] = node
                ends[group] += 1
                column = own[node]
                if column >= 0:
                    had, has = _has(old_bits, olds[group], column), _has(new_bits, new, column)
                    lost -= had and not has
                    gained -= has and not had
            node = fields[NEXT, node]
    return starts[:groups], ends[:groups], members[:placed], olds[:groups], news[:groups], lost, gained


@kernel_part
def compare(old_bits: Any, old: Any, new_bits: Any, new: Any, words: int, direction: int) -> Any:
    """Return how many bits are only in the old row, and how many only in the new one; row -1 is empty."""
    gone, come = np.int64(0), np.int64(0)
    if old < 0 or new < 0:
        for word in range(words):
            gone += popcount(old_bits[old, word]) if old >= 0 else 0
            come += popcount(new_bits[new, word]) if new >= 0 else 0
    elif direction == 0:
        for word in range(words):
            gone += popcount(old_bits[old, word] & ~new_bits[new, word])
            come += popcount(new_bits[new, word] & ~old_bits[old, word])
    else:
        for word in range(words):
            come += popcount(old_bits[old, word] ^ new_bits[new, word])
        if direction < 0:
            gone, come = come, gone
    return gone, come


@njit(cache=True, nogil=True)
def _emit(
    groups: Groups,
    old_bits: Any,
    new_bits: Any,
    words: int,
    own: Any,
    codes: Any,
    columns: Any,
    inserted: bool,
    rows: Any,
) -> None:
    at = 0
    for group in range(len(groups.old)):
        old, new = groups.old[group], groups.new[group]
        for i in range(groups.start[group], groups.end[group]):
            node = groups.members[i]
            for word in range(words):
                a = old_bits[old, word] if old >= 0 else np.uint64(0)
                b = new_bits[new, word] if new >= 0 else np.uint64(0)
                left = b & ~a if inserted else a & ~b
                while left != np.uint64(0):
                    lowest = left & (~left + np.uint64(1))
                    column = word * 64 + popcount(lowest - np.uint64(1))
                    left ^= lowest
                    if column != own[node]:
                        rows[at, 0] = codes[node]
                        rows[at, 1] = columns[column]
                        at += 1
