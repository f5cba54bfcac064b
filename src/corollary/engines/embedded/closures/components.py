"""Components that gain edges: a new edge may contradict the order of components, or close a cycle."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from corollary.engines.embedded.closures.difference import COME, GONE, PAST, compare
from corollary.engines.embedded.closures.graph import (
    BOTTOM,
    CHANGED,
    CHANGED_COUNT,
    COMPONENT,
    COMPONENT_MARK,
    COMPONENTS,
    CROSSING,
    CURSOR,
    DEAD,
    DEAD_COUNT,
    DONE,
    EPOCH,
    FIRST,
    FLAGS,
    FREE,
    FREE_ROWS,
    FRESH,
    FRESH_COUNT,
    GIVE_UP,
    HEAP_SIZE,
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
    SAVED,
    SIZE,
    SPAN,
    STACK,
    TOP,
    TOUCHED,
    TOUCHED_COUNT,
    WIDTH,
    WORK,
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

# -- splitting ---------------------------------------------------------------------------------------------------------

# Splitting components that lost edges: is each still strongly connected, and if not, what are its parts?


@njit(cache=True, nogil=True)
def split(graph: Graph, shape: ClosureShape, gone: Any, limit: int) -> int:
    """Adapt the components to deleted edges; return DONE, or GIVE_UP if the work would exceed `limit`.

    A component is unchanged if for every lost edge (u, v) there is still a path from u to v within it: the search from
    both ends usually finds one after a few steps, while Tarjan's algorithm would visit the whole component.
    """
    component, flags, counters = shape.fields[COMPONENT], shape.lanes[FLAGS], shape.counters
    broken = 0
    pending = shape.lanes[PATH]  # unused until Tarjan's algorithm starts, which gets a copy of the components
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
    """Return whether v is reachable from u inside component c, by a search from both ends with equal effort."""
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
    """Number the strongly connected components of what the roots reach inside component c (-1: anywhere).

    LINK of a node becomes the number of its part; a part is numbered after all that it reaches. INDEX must be -1
    before.
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
    """Save the row of c, whose members will be in other components: it is needed to report their changes."""
    flags = shape.lanes[FLAGS]
    if not flags[c] & (IS_INVOLVED | IS_CREATED):
        flags[c] |= IS_INVOLVED
        list_item(shape, INVOLVED, INVOLVED_COUNT, c)


@kernel_part
def note_fresh(shape: ClosureShape, c: Any) -> None:
    """Mark the row of c to be computed from nothing."""
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


# -- building ----------------------------------------------------------------------------------------------------------

# Building a closure from nothing: components by Tarjan's algorithm, then rows in their order.


@njit(cache=True, nogil=True)
def lay_out(graph: Graph, shape: ClosureShape, nodes: int) -> int:
    """Make components of the nodes, whose fields must be zero; list them as changed; return how many may need a row."""
    fields, counters = shape.fields, shape.counters
    shape.lanes[INDEX, :nodes] = -1
    count = tarjan(graph, shape, np.arange(nodes), -1)
    width = SPAN // max(count, 1)
    for c in range(count):
        fields[FIRST, c] = -1
        fields[LOW, c] = c * width
        fields[WIDTH, c] = width
        fields[ROW, c] = -1
        shape.lanes[CHANGED, c] = c
    rows = 0
    for node in range(nodes):
        c = shape.lanes[LINK, node]
        fields[COMPONENT, node] = c
        fields[SIZE, c] += 1
        first = fields[FIRST, c]
        if first < 0:
            fields[NEXT, node] = node
            fields[FIRST, c] = node
        else:
            fields[NEXT, node] = fields[NEXT, first]
            fields[NEXT, first] = node
        if fields[ROW, c] < 0 and graph.out.length[node] + graph.seeds.length[node] > 0:
            fields[ROW, c] = rows
            rows += 1
    counters[TOP], counters[BOTTOM] = SPAN, 0
    counters[LOGGED] = counters[SAVED] = counters[FREE_ROWS] = 0
    counters[COMPONENTS] = counters[CHANGED_COUNT] = count
    return rows


@njit(cache=True, nogil=True)
def fill_rows(
    graph: Graph, shape: ClosureShape, bits: Any, words: int, origin: Any, old_row: Any, old_bits: Any, direction: int
) -> None:
    """Compute the rows in the order of components, and number them in this order.

    While a row is in the cache, it is compared with the old row of its first member: `group_changes` finds the result
    in PAST, GONE and COME, and need not fetch both rows from memory again.
    """
    fields, column = shape.fields, graph.column
    rows, crossing = 0, 0
    for c in range(shape.counters[COMPONENTS]):
        shape.lanes[PAST, c] = -1
        if fields[ROW, c] < 0:
            continue
        row = rows
        fields[ROW, c] = row
        rows += 1
        for word in range(words):
            bits[row, word] = np.uint64(0)
        node = fields[FIRST, c]
        for _ in range(fields[SIZE, c]):
            for place in range(graph.seeds.start[node], graph.seeds.start[node] + graph.seeds.length[node]):
                bit = column[graph.seeds.pool[place]]
                bits[row, bit >> 6] |= np.uint64(1) << np.uint64(bit & 63)
            for place in range(graph.out.start[node], graph.out.start[node] + graph.out.length[node]):
                other = fields[COMPONENT, graph.out.pool[place]]
                source = fields[ROW, other]
                if other != c and source >= 0:
                    crossing += 1
                    for word in range(words):
                        bits[row, word] |= bits[source, word]
            node = fields[NEXT, node]
        past = origin[node]
        shape.lanes[PAST, c] = past
        shape.lanes[GONE, c], shape.lanes[COME, c] = compare(old_bits, old_row[past], bits, row, words, direction)
    shape.counters[CROSSING] = crossing


# -- merging -----------------------------------------------------------------------------------------------------------


@njit(cache=True, nogil=True)
def connect(graph: Graph, shape: ClosureShape, new: Any, limit: int) -> int:
    """Adapt components and their order to new edges; return DONE, or GIVE_UP if the work would exceed `limit`.

    For an edge u -> v against the order, everything that v reaches above u's interval moves below u. None of it was
    reachable from u before, so the effort is bounded by what u newly reaches. What of it leads to u is merged with u.
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
    """Return the components above u that v reaches, marked with the epoch, and whether u is among what v reaches."""
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
    """Move what `_reach` found into the lower half of u's interval, or merge it with u."""
    fields, mark, found = shape.fields, shape.lanes[COMPONENT_MARK], shape.lanes[STACK]
    epoch = shape.counters[EPOCH]
    if cycle:
        _mark_cycle(graph, shape, u)
    below = 0
    for i in range(reached):
        if mark[found[i]] == epoch:
            below += 1
            push(shape, found[i])  # the heap is unused while components change, so it can sort
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
        # The heap compares by LOW: the components left in it have not been changed yet, and keep their order.
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
    """Mark with the next epoch, among the reached components, those that lead to u."""
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
    """Return one component for u and everything marked as its cycle; it keeps the number of the largest of them."""
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
        # Two circular lists become one when two of their members exchange their successors.
        other = fields[FIRST, keeper]
        after = fields[NEXT, first]
        put(shape, NEXT, first, fields[NEXT, other])
        put(shape, NEXT, other, after)
        put(shape, SIZE, keeper, fields[SIZE, keeper] + fields[SIZE, c])
        put(shape, SIZE, c, 0)
        list_item(shape, DEAD, DEAD_COUNT, c)
    return keeper
