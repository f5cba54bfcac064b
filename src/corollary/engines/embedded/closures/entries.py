"""Queued changes to components whose rows may change, and the rows as they were before the update."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit

from corollary.engines.embedded.closures.lists import Array, kernel_part, owner_of, value_of
from corollary.engines.embedded.closures.shape import (
    COMPONENT,
    COMPONENT_MARK,
    DEAD,
    DEAD_COUNT,
    ENTRIES,
    EPOCH,
    FIRST,
    FLAGS,
    FREE,
    FREE_ROWS,
    FRESH,
    FRESH_COUNT,
    HEAD,
    INVOLVED,
    INVOLVED_COUNT,
    IS_FRESH,
    IS_QUEUED,
    NEXT,
    ROW,
    SAVED,
    SAVED_AT,
    SIZE,
    WORK,
    ClosureShape,
    Graph,
    push,
)

GONE_EDGE, NEW_EDGE, GONE_SEED, NEW_SEED, CHANGED_NODE = range(5)


class ComponentRows(NamedTuple):
    """Rows of components and, during an update, what they were before: `saved[k]` was row `saved_row[k]` (-1: none)."""

    bits: Array
    saved: Array
    saved_row: Array
    entries: Array  # next entry of the component, kind, node
    space: Array  # two rows: what may be lost, what is gained


@kernel_part
def _wait(shape: ClosureShape, rows: ComponentRows, c: Any, kind: int, node: Any) -> None:
    flags, head, counters = shape.lanes[FLAGS], shape.lanes[HEAD], shape.counters
    if not flags[c] & IS_FRESH:
        at = counters[ENTRIES]
        rows.entries[at, 0] = head[c]
        rows.entries[at, 1] = kind
        rows.entries[at, 2] = node
        head[c] = at
        counters[ENTRIES] = at + 1
    if not flags[c] & IS_QUEUED:
        flags[c] |= IS_QUEUED
        push(shape, c)


@kernel_part
def save(shape: ClosureShape, rows: ComponentRows, c: Any, words: int) -> None:
    at, row = shape.counters[SAVED], shape.fields[ROW, c]
    shape.counters[SAVED] = at + 1
    shape.lanes[SAVED_AT, c] = at
    rows.saved_row[at] = row
    for word in range(words):
        rows.saved[at, word] = rows.bits[row, word] if row >= 0 else np.uint64(0)


@njit(cache=True, nogil=True)
def start_rows(
    shape: ClosureShape, rows: ComponentRows, gone: Any, new: Any, gone_seeds: Any, new_seeds: Any, words: int
) -> None:
    """Makes entries of all changes; there is space to save a row for each component that is involved."""
    component, counters = shape.fields[COMPONENT], shape.counters
    for i in range(counters[INVOLVED_COUNT]):
        save(shape, rows, shape.lanes[INVOLVED, i], words)
    for i in range(counters[DEAD_COUNT]):
        c = shape.lanes[DEAD, i]
        shape.free[counters[FREE]] = c
        counters[FREE] += 1
        if shape.fields[ROW, c] >= 0:
            shape.free_rows[counters[FREE_ROWS]] = shape.fields[ROW, c]
            counters[FREE_ROWS] += 1
    for i in range(counters[FRESH_COUNT]):
        c = shape.lanes[FRESH, i]
        if shape.fields[SIZE, c] and not shape.lanes[FLAGS, c] & IS_QUEUED:
            shape.lanes[FLAGS, c] |= IS_QUEUED
            push(shape, c)
    for i in range(len(gone)):
        _wait(shape, rows, component[owner_of(gone[i])], GONE_EDGE, value_of(gone[i]))
    for i in range(len(new)):
        _wait(shape, rows, component[owner_of(new[i])], NEW_EDGE, value_of(new[i]))
    for i in range(len(gone_seeds)):
        _wait(shape, rows, component[owner_of(gone_seeds[i])], GONE_SEED, value_of(gone_seeds[i]))
    for i in range(len(new_seeds)):
        _wait(shape, rows, component[owner_of(new_seeds[i])], NEW_SEED, value_of(new_seeds[i]))


@kernel_part
def tell(graph: Graph, shape: ClosureShape, rows: ComponentRows, c: int, fresh: bool) -> bool:
    """Makes an entry for every component with an edge to c. The nodes of a fresh one may have had different rows before."""
    fields, mark = shape.fields, shape.lanes[COMPONENT_MARK]
    shape.counters[EPOCH] += 2
    epoch = shape.counters[EPOCH]
    node = fields[FIRST, c]
    for _ in range(fields[SIZE, c]):
        start, length = graph.back.start[node], graph.back.length[node]
        shape.counters[WORK] += 4 * (length + 1)
        if shape.counters[ENTRIES] + length > len(rows.entries):
            return False
        for place in range(start, start + length):
            other = fields[COMPONENT, graph.back.pool[place]]
            if other != c and (fresh or mark[other] != epoch):
                mark[other] = epoch
                _wait(shape, rows, other, CHANGED_NODE, node)
        node = fields[NEXT, node]
    return True


@njit(cache=True, nogil=True)
def restore_rows(shape: ClosureShape, rows: ComponentRows, words: int) -> None:
    """Rows become what they were when nothing was saved."""
    for at in range(shape.counters[SAVED]):
        row = rows.saved_row[at]
        if row >= 0:
            for word in range(words):
                rows.bits[row, word] = rows.saved[at, word]
    shape.counters[SAVED] = 0
