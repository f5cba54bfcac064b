"""Components that gain edges: a new edge may go against the order of components, or close a cycle."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from corollary.engines.embedded.closures.lists import kernel_part, owner_of, value_of
from corollary.engines.embedded.closures.shape import (
    COMPONENT,
    COMPONENT_MARK,
    DEAD,
    DEAD_COUNT,
    DONE,
    EPOCH,
    FIRST,
    GIVE_UP,
    HEAP_SIZE,
    LOGGED,
    LOW,
    NEXT,
    PATH,
    SIZE,
    STACK,
    WIDTH,
    WORK,
    ClosureShape,
    Graph,
    list_item,
    pop,
    push,
    put,
)
from corollary.engines.embedded.closures.splitting import move_node, note_fresh, note_involved


@njit(cache=True, nogil=True)
def connect(graph: Graph, shape: ClosureShape, new: Any, limit: int) -> int:
    """Brings components and their order in line with edges that are new; says DONE, or GIVE_UP when that is too much.

    For an edge u -> v against the order, everything that v reaches above u's interval moves below u: none of it was reached
    from u before, so that the effort is bounded by what u newly reaches. What of it leads to u becomes one with u.
    """
    component, low = shape.fields[COMPONENT], shape.fields[LOW]
    for i in range(len(new)):
        u, v = component[owner_of(new[i])], component[value_of(new[i])]
        if u == v or low[v] < low[u]:
            continue
        reached, cycle = _reach(graph, shape, u, v)
        if shape.counters[WORK] > limit or _settle(graph, shape, u, reached, cycle) == GIVE_UP:
            return GIVE_UP
    return DONE


@kernel_part
def _reach(graph: Graph, shape: ClosureShape, u: int, v: int) -> Any:
    """The components above u that v reaches, marked with the epoch, and whether u is reached too."""
    fields, mark, found = shape.fields, shape.lanes[COMPONENT_MARK], shape.lanes[STACK]
    shape.counters[EPOCH] += 2
    epoch, bound = shape.counters[EPOCH], fields[LOW, u]
    found[0] = v
    mark[v] = epoch
    at, end, cycle = 0, 1, False
    while at < end:
        c = found[at]
        at += 1
        node = fields[FIRST, c]
        for _ in range(fields[SIZE, c]):
            start, length = graph.out.start[node], graph.out.length[node]
            shape.counters[WORK] += 4 * (1 + length)
            for place in range(start, start + length):
                other = fields[COMPONENT, graph.out.pool[place]]
                if other == u:
                    cycle = True
                elif fields[LOW, other] > bound and mark[other] != epoch:
                    mark[other] = epoch
                    found[end] = other
                    end += 1
            node = fields[NEXT, node]
    return end, cycle


@kernel_part
def _settle(graph: Graph, shape: ClosureShape, u: int, reached: int, cycle: bool) -> int:
    """Gives what `_reach` found its new place in the lower half of u's interval, or makes it one with u."""
    fields, mark, found = shape.fields, shape.lanes[COMPONENT_MARK], shape.lanes[STACK]
    epoch = shape.counters[EPOCH]
    if cycle:
        _mark_cycle(graph, shape, u)
    below = 0
    for i in range(reached):
        if mark[found[i]] == epoch:
            below += 1
            push(shape, found[i])  # the heap is empty while components change: it sorts
    low, half = fields[LOW, u], fields[WIDTH, u] // 2
    width = half // max(below, 1)
    if width == 0 or shape.counters[LOGGED] + 2 * below + 8 > len(shape.log):
        shape.counters[HEAP_SIZE] = 0
        return GIVE_UP
    place = low
    for _ in range(below):
        c = pop(shape)
        found_low = place
        place += width
        # The heap compares by LOW: those left in it are not touched yet, and keep their order among themselves.
        put(shape, LOW, c, found_low)
        put(shape, WIDTH, c, width)
    keeper = u
    if cycle:
        keeper = _merge(shape, u, reached)
        if keeper < 0:
            return GIVE_UP
    put(shape, LOW, keeper, low + half)
    put(shape, WIDTH, keeper, half)
    return DONE


@kernel_part
def _mark_cycle(graph: Graph, shape: ClosureShape, u: int) -> None:
    """Marks with the next epoch, among what was reached, the components that lead to u."""
    fields, mark, path = shape.fields, shape.lanes[COMPONENT_MARK], shape.lanes[PATH]
    epoch = shape.counters[EPOCH]
    path[0] = u
    at, end = 0, 1
    while at < end:
        c = path[at]
        at += 1
        node = fields[FIRST, c]
        for _ in range(fields[SIZE, c]):
            start, length = graph.back.start[node], graph.back.length[node]
            shape.counters[WORK] += 4 * (1 + length)
            for place in range(start, start + length):
                other = fields[COMPONENT, graph.back.pool[place]]
                if mark[other] == epoch:
                    mark[other] = epoch + 1
                    path[end] = other
                    end += 1
            node = fields[NEXT, node]


@kernel_part
def _merge(shape: ClosureShape, u: int, reached: int) -> Any:
    """One component of u and everything marked as its cycle; the largest of them lends its number."""
    fields, mark, found = shape.fields, shape.lanes[COMPONENT_MARK], shape.lanes[STACK]
    in_cycle = shape.counters[EPOCH] + 1
    keeper, moving = u, 0
    for i in range(reached):
        c = found[i]
        if mark[c] == in_cycle:
            moving += fields[SIZE, c]
            if fields[SIZE, c] > fields[SIZE, keeper]:
                keeper = c
    if shape.counters[LOGGED] + moving + fields[SIZE, u] + 4 * reached + 16 > len(shape.log):
        return -1
    note_involved(shape, keeper)
    note_fresh(shape, keeper)
    for i in range(reached + 1):
        c = found[i] if i < reached else np.int64(u)
        if c == keeper or (i < reached and mark[c] != in_cycle):
            continue
        note_involved(shape, c)
        first, node = fields[FIRST, c], fields[FIRST, c]
        for _ in range(fields[SIZE, c]):
            move_node(shape, node, keeper)
            node = fields[NEXT, node]
        # Two circles become one when two of their members exchange what comes next.
        other = fields[FIRST, keeper]
        after = fields[NEXT, first]
        put(shape, NEXT, first, fields[NEXT, other])
        put(shape, NEXT, other, after)
        put(shape, SIZE, keeper, fields[SIZE, keeper] + fields[SIZE, c])
        put(shape, SIZE, c, 0)
        list_item(shape, DEAD, DEAD_COUNT, c)
    return keeper
