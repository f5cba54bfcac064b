"""Rows of bits that follow a changed graph: lost and gained bits move from a component to its predecessors.

Changes are queued at a component as *entries*: an edge or seed that was deleted or inserted, or an edge to a node whose
row has changed. The bits that the entries may remove from the row are searched for among the other edges, until all of
them are found; only bits that are not found are lost.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit

from corollary.engines.embedded.closures.graph import (
    CHANGED,
    CHANGED_COUNT,
    COMPONENT,
    COMPONENT_MARK,
    DEAD,
    DEAD_COUNT,
    DONE,
    ENTRIES,
    EPOCH,
    FIRST,
    FLAGS,
    FREE,
    FREE_ROWS,
    FRESH,
    FRESH_COUNT,
    GIVE_UP,
    HEAD,
    HEAP,
    HEAP_SIZE,
    INVOLVED,
    INVOLVED_COUNT,
    IS_FRESH,
    IS_QUEUED,
    LOGGED,
    NEED_ROWS,
    NEED_SAVED,
    NEXT,
    ORIGIN,
    ROW,
    SAVED,
    SAVED_AT,
    SIZE,
    WORK,
    Array,
    ClosureShape,
    Graph,
    kernel_part,
    list_item,
    owner_of,
    pop,
    push,
    put,
    value_of,
)

# -- entries -----------------------------------------------------------------------------------------------------------

# Queued changes to components whose rows may change, and the rows before the update.

GONE_EDGE, NEW_EDGE, GONE_SEED, NEW_SEED, CHANGED_NODE = range(5)


class ComponentRows(NamedTuple):
    """Rows of components and, during an update, their old values: `saved[k]` was row `saved_row[k]` (-1: none)."""

    bits: Array
    saved: Array
    saved_row: Array
    entries: Array  # next entry of the component, kind, node
    space: Array  # two rows: bits that may be lost, bits that are gained


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
    """Make entries for all changes, with space to save a row for each component involved."""
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
    """Make an entry for every component with an edge to c; return whether there was room. Nodes of a fresh c may have
    had different rows."""
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
    """Restore all saved rows."""
    for at in range(shape.counters[SAVED]):
        row = rows.saved_row[at]
        if row >= 0:
            for word in range(words):
                rows.bits[row, word] = rows.saved[at, word]
    shape.counters[SAVED] = 0


# -- rows --------------------------------------------------------------------------------------------------------------

_PARENTS_LOOKED_AT = 64


@njit(cache=True, nogil=True)
def follow(graph: Graph, shape: ClosureShape, rows: ComponentRows, words: int, limit: int) -> int:
    """Bring rows up to date, successors first. After NEED_ROWS and NEED_SAVED it is called again."""
    fields, lanes, counters = shape.fields, shape.lanes, shape.counters
    while counters[HEAP_SIZE] > 0:
        c = lanes[HEAP, 0]
        if fields[ROW, c] < 0 and counters[FREE_ROWS] == 0:
            return NEED_ROWS
        if counters[SAVED] == len(rows.saved):
            return NEED_SAVED
        if counters[WORK] > limit or counters[LOGGED] == len(shape.log):
            return GIVE_UP
        pop(shape)
        fresh = lanes[FLAGS, c] & IS_FRESH
        lanes[FLAGS, c] &= ~IS_QUEUED
        if fresh:
            _compute(graph, shape, rows, c, words)
        elif not _collect(graph, shape, rows, c, words):
            continue
        list_item(shape, CHANGED, CHANGED_COUNT, c)
        if not tell(graph, shape, rows, c, fresh != 0):
            return GIVE_UP
    return DONE


@kernel_part
def _row_for(shape: ClosureShape, c: Any) -> Any:
    if shape.fields[ROW, c] < 0:
        shape.counters[FREE_ROWS] -= 1
        put(shape, ROW, c, shape.free_rows[shape.counters[FREE_ROWS]])
    return shape.fields[ROW, c]


@kernel_part
def _compute(graph: Graph, shape: ClosureShape, rows: ComponentRows, c: int, words: int) -> None:
    """Compute the row of a component from the rows of its successors."""
    fields, bits = shape.fields, rows.bits
    row = _row_for(shape, c)
    shape.lanes[HEAD, c] = -1
    for word in range(words):
        bits[row, word] = np.uint64(0)
    node = fields[FIRST, c]
    for _ in range(fields[SIZE, c]):
        for place in range(graph.seeds.start[node], graph.seeds.start[node] + graph.seeds.length[node]):
            column = graph.column[graph.seeds.pool[place]]
            bits[row, column >> 6] |= np.uint64(1) << np.uint64(column & 63)
        for place in range(graph.out.start[node], graph.out.start[node] + graph.out.length[node]):
            other = fields[COMPONENT, graph.out.pool[place]]
            shape.counters[WORK] += 4
            if other != c and fields[ROW, other] >= 0:
                shape.counters[WORK] += words
                source = fields[ROW, other]
                for word in range(words):
                    bits[row, word] |= bits[source, word]
        node = fields[NEXT, node]


@kernel_part
def _collect(graph: Graph, shape: ClosureShape, rows: ComponentRows, c: int, words: int) -> bool:
    """Process the entries of a component; return whether its row has changed."""
    fields, lanes, bits = shape.fields, shape.lanes, rows.bits
    lost, gained = rows.space[0], rows.space[1]
    for word in range(words):
        lost[word] = gained[word] = np.uint64(0)
    entry = lanes[HEAD, c]
    lanes[HEAD, c] = -1
    while entry >= 0:
        kind, node = rows.entries[entry, 1], rows.entries[entry, 2]
        entry = rows.entries[entry, 0]
        if kind in (GONE_SEED, NEW_SEED):
            column = graph.column[node]
            into = lost if kind == GONE_SEED else gained
            into[column >> 6] |= np.uint64(1) << np.uint64(column & 63)
            continue
        now = fields[COMPONENT, node]
        if now == c and lanes[ORIGIN, node] < 0:
            continue  # an edge inside the component contributes only its seed
        origin = lanes[ORIGIN, node] if lanes[ORIGIN, node] >= 0 else now
        at = lanes[SAVED_AT, origin]
        before = rows.saved[at] if at >= 0 else bits[fields[ROW, origin]]
        had = at >= 0 or fields[ROW, origin] >= 0
        row = fields[ROW, now]
        shape.counters[WORK] += words
        if kind == GONE_EDGE:
            if had and not _other_edge(graph, shape, c, node):
                for word in range(words):
                    lost[word] |= before[word]
        elif kind == NEW_EDGE:
            if row >= 0:
                for word in range(words):
                    gained[word] |= bits[row, word]
        else:
            for word in range(words):
                old = before[word] if had else np.uint64(0)
                new = bits[row, word] if row >= 0 else np.uint64(0)
                lost[word] |= old & ~new
                gained[word] |= new & ~old
    row = fields[ROW, c]
    any_lost = any_gained = np.uint64(0)
    for word in range(words):
        own = bits[row, word] if row >= 0 else np.uint64(0)
        lost[word] &= own & ~gained[word]
        gained[word] &= ~own
        any_lost |= lost[word]
        any_gained |= gained[word]
    if any_lost:
        any_lost = _look_for(graph, shape, bits, c, lost, words)
    if not any_lost and not any_gained:
        return False
    save(shape, rows, c, words)
    created = row < 0
    row = _row_for(shape, c)
    for word in range(words):
        own = np.uint64(0) if created else bits[row, word]
        bits[row, word] = (own & ~lost[word]) | gained[word]
    shape.counters[WORK] += 4 * words
    return True


@kernel_part
def _other_edge(graph: Graph, shape: ClosureShape, c: int, node: int) -> bool:
    """Return whether a short search finds another edge from component c to the node."""
    start = graph.back.start[node]
    for place in range(start, start + min(graph.back.length[node], _PARENTS_LOOKED_AT)):
        if shape.fields[COMPONENT, graph.back.pool[place]] == c:
            return True
    return False


@kernel_part
def _look_for(graph: Graph, shape: ClosureShape, bits: Any, c: int, lost: Any, words: int) -> Any:
    """Remove from `lost` the bits that seeds and other edges of the component still give; return whether any are left."""
    fields = shape.fields
    left = np.uint64(1)
    node = fields[FIRST, c]
    for _ in range(fields[SIZE, c]):
        for place in range(graph.seeds.start[node], graph.seeds.start[node] + graph.seeds.length[node]):
            column = graph.column[graph.seeds.pool[place]]
            lost[column >> 6] &= ~(np.uint64(1) << np.uint64(column & 63))
        shape.counters[WORK] += graph.seeds.length[node]
        for place in range(graph.out.start[node], graph.out.start[node] + graph.out.length[node]):
            other = fields[COMPONENT, graph.out.pool[place]]
            shape.counters[WORK] += 1
            if other != c and fields[ROW, other] >= 0:
                source = fields[ROW, other]
                left = np.uint64(0)
                for word in range(words):
                    lost[word] &= ~bits[source, word]
                    left |= lost[word]
                shape.counters[WORK] += words
                if not left:
                    return left
        node = fields[NEXT, node]
    left = np.uint64(0)
    for word in range(words):
        left |= lost[word]
    return left
