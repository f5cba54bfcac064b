"""Components that lose edges: is each still strongly connected, and if not, what are its parts?"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from corollary.engines.embedded.closures.lists import kernel_part, owner_of, value_of
from corollary.engines.embedded.closures.shape import (
    COMPONENT,
    CURSOR,
    DONE,
    EPOCH,
    FIRST,
    FLAGS,
    FREE,
    FRESH,
    FRESH_COUNT,
    GIVE_UP,
    INDEX,
    INVOLVED,
    INVOLVED_COUNT,
    IS_BROKEN,
    IS_CREATED,
    IS_FRESH,
    IS_INVOLVED,
    LINK,
    LOGGED,
    LOW,
    NEXT,
    NODE_MARK,
    ORIGIN,
    PATH,
    ROW,
    SIZE,
    STACK,
    TOUCHED,
    TOUCHED_COUNT,
    WIDTH,
    WORK,
    ClosureShape,
    Graph,
    list_item,
    put,
)


@njit(cache=True, nogil=True)
def split(graph: Graph, shape: ClosureShape, gone: Any, limit: int) -> int:
    """Brings the components in line with edges that have gone; says DONE, or GIVE_UP when that is more than `limit`.

    A component whose every lost edge (u, v) still has a way from u to v within it is what it was: the search from both ends
    mostly finds that after a few steps, where Tarjan's algorithm would go over the whole component.
    """
    component, flags, counters = shape.fields[COMPONENT], shape.lanes[FLAGS], shape.counters
    broken = 0
    pending = shape.lanes[PATH]  # free until Tarjan's algorithm starts, which takes the components from a copy
    for i in range(len(gone)):
        u, v = owner_of(gone[i]), value_of(gone[i])
        c = component[u]
        if u == v or component[v] != c or flags[c] & IS_BROKEN:
            continue
        if not _still_leads(graph, shape, c, u, v):
            flags[c] |= IS_BROKEN
            pending[broken] = c
            broken += 1
        if counters[WORK] > limit:
            break
    components = pending[:broken].copy()
    for c in components:
        flags[c] &= ~IS_BROKEN
    if counters[WORK] > limit:
        return GIVE_UP
    for c in components:
        if _take_apart(graph, shape, c) == GIVE_UP or counters[WORK] > limit:
            return GIVE_UP
    return DONE


@kernel_part
def _still_leads(graph: Graph, shape: ClosureShape, c: int, u: int, v: int) -> bool:
    """Whether v is reached from u inside component c, searched from both ends with equal effort."""
    component, mark = shape.fields[COMPONENT], shape.lanes[NODE_MARK]
    ahead, behind = shape.lanes[STACK], shape.lanes[INDEX]
    shape.counters[EPOCH] += 2
    from_u, from_v = shape.counters[EPOCH], shape.counters[EPOCH] + 1
    mark[u], mark[v] = from_u, from_v
    ahead[0], behind[0] = u, v
    ahead_at, ahead_end, behind_at, behind_end = 0, 1, 0, 1
    ahead_work, behind_work = 0, 0
    found = False
    while not found and ahead_at < ahead_end and behind_at < behind_end:
        forward = ahead_work <= behind_work
        if forward:
            node = ahead[ahead_at]
            ahead_at += 1
            lists, mine, others = graph.out, from_u, from_v
        else:
            node = behind[behind_at]
            behind_at += 1
            lists, mine, others = graph.back, from_v, from_u
        start, length = lists.start[node], lists.length[node]
        for place in range(start, start + length):
            other = lists.pool[place]
            if component[other] != c or mark[other] == mine:
                continue
            if mark[other] == others:
                found = True
                break
            mark[other] = mine
            if forward:
                ahead[ahead_end] = other
                ahead_end += 1
            else:
                behind[behind_end] = other
                behind_end += 1
        if forward:
            ahead_work += length + 1
        else:
            behind_work += length + 1
    shape.counters[WORK] += 4 * (ahead_work + behind_work)
    return found


@kernel_part
def tarjan(graph: Graph, shape: ClosureShape, roots: Any, c: int) -> int:
    """Strongly connected components of what the roots reach inside component c (-1: anywhere).

    LINK of a node becomes the number of its part; a part has its number after all that it reaches. INDEX is -1 beforehand.
    """
    component = shape.fields[COMPONENT]
    index, link, cursor = shape.lanes[INDEX], shape.lanes[LINK], shape.lanes[CURSOR]
    stack, path = shape.lanes[STACK], shape.lanes[PATH]
    start, length, pool = graph.out.start, graph.out.length, graph.out.pool
    settled = np.int64(1) << 60  # the index of a node whose part is known
    stack_size, counter, parts = 0, 0, 0
    for root in roots:
        if index[root] != -1:
            continue
        depth = 0
        path[0] = root
        while depth >= 0:
            node = path[depth]
            if index[node] == -1:
                index[node] = link[node] = counter
                counter += 1
                stack[stack_size] = node
                stack_size += 1
                cursor[node] = start[node]
            end = start[node] + length[node]
            descended = False
            while cursor[node] < end:
                target = pool[cursor[node]]
                cursor[node] += 1
                if c >= 0 and component[target] != c:
                    continue
                if index[target] == -1:
                    depth += 1
                    path[depth] = target
                    descended = True
                    break
                if index[target] < link[node]:
                    link[node] = index[target]
            if descended:
                continue
            depth -= 1
            if depth >= 0 and link[node] < link[path[depth]]:
                link[path[depth]] = link[node]
            if link[node] == index[node]:
                while True:
                    stack_size -= 1
                    member = stack[stack_size]
                    index[member] = settled
                    link[member] = parts
                    if member == node:
                        break
                parts += 1
    return parts


@kernel_part
def note_involved(shape: ClosureShape, c: Any) -> None:
    """The members of c will have other company: its row is needed to say what has changed for them."""
    flags = shape.lanes[FLAGS]
    if not flags[c] & (IS_INVOLVED | IS_CREATED):
        flags[c] |= IS_INVOLVED
        list_item(shape, INVOLVED, INVOLVED_COUNT, c)


@kernel_part
def note_fresh(shape: ClosureShape, c: Any) -> None:
    """The row of c has to be computed from nothing."""
    flags = shape.lanes[FLAGS]
    if not flags[c] & IS_FRESH:
        flags[c] |= IS_FRESH
        list_item(shape, FRESH, FRESH_COUNT, c)


@kernel_part
def move_node(shape: ClosureShape, node: Any, to: Any) -> None:
    if shape.lanes[ORIGIN, node] < 0:
        shape.lanes[ORIGIN, node] = shape.fields[COMPONENT, node]
        list_item(shape, TOUCHED, TOUCHED_COUNT, node)
    put(shape, COMPONENT, node, to)


@kernel_part
def _take_apart(graph: Graph, shape: ClosureShape, c: int) -> int:
    fields, counters = shape.fields, shape.counters
    size = fields[SIZE, c]
    if counters[LOGGED] + 8 * size + 8 > len(shape.log):
        return GIVE_UP
    members = np.empty(size, np.int64)
    node = fields[FIRST, c]
    for i in range(size):
        members[i] = node
        shape.lanes[INDEX, node] = -1
        counters[WORK] += 8 * (1 + graph.out.length[node])
        node = fields[NEXT, node]
    parts = tarjan(graph, shape, members, c)
    width = fields[WIDTH, c] // parts
    if width == 0:
        return GIVE_UP
    if parts == 1:
        return DONE
    part_of = shape.lanes[LINK]
    sizes = np.zeros(parts, np.int64)
    for member in members:
        sizes[part_of[member]] += 1
    largest = np.argmax(sizes)
    numbers = np.empty(parts, np.int64)
    low = fields[LOW, c]
    note_involved(shape, c)
    for part in range(parts):
        if part == largest:
            number = c
        else:
            counters[FREE] -= 1
            number = shape.free[counters[FREE]]
            shape.lanes[FLAGS, number] |= IS_CREATED
            put(shape, ROW, number, -1)
        numbers[part] = number
        put(shape, LOW, number, low + part * width)
        put(shape, WIDTH, number, width)
        put(shape, SIZE, number, sizes[part])
        put(shape, FIRST, number, -1)
        note_fresh(shape, number)
    for member in members:
        number = numbers[part_of[member]]
        if number != c:
            move_node(shape, member, number)
        first = fields[FIRST, number]
        if first < 0:
            put(shape, NEXT, member, member)
            put(shape, FIRST, number, member)
        else:
            put(shape, NEXT, member, fields[NEXT, first])
            put(shape, NEXT, first, member)
    return DONE
