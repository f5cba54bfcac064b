"""Connected components of an undirected graph that changes: kernels of the symmetric-transitive closure."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit

from corollary.engines.embedded.closures.lists import Array, Lists, kernel_part, owner_of, value_of

LABEL, NEXT, FIRST, SIZE = range(4)  # of nodes: label, next member; of labels: a member, their number (0: unused)
FIELDS = 4
MARK, AHEAD, BEHIND, ORIGIN, TOUCHED, ANCHOR = range(6)
LANES = 6
EPOCH, TOUCHED_COUNT, FREE = range(3)
COUNTERS = 3
_WHOLE, _NO_ANCHOR = -1, -2  # of a component: nothing is known to have broken; something has
_MET = 2


class Components(NamedTuple):
    """Labels and members of components; ORIGIN of a node is its label before the update where it has been given another."""

    fields: Array
    lanes: Array
    counters: Array
    free: Array  # unused labels


@kernel_part
def _relabel(parts: Components, node: Any, label: Any) -> None:
    if parts.lanes[ORIGIN, node] < 0:
        parts.lanes[ORIGIN, node] = parts.fields[LABEL, node]
        parts.lanes[TOUCHED, parts.counters[TOUCHED_COUNT]] = node
        parts.counters[TOUCHED_COUNT] += 1
    parts.fields[LABEL, node] = label


@njit(cache=True, nogil=True)
def separate(out: Lists, back: Lists, parts: Components, gone: Any) -> None:
    """Brings components in line with edges that have gone.

    A component in which the ends of every lost edge are still connected is what it was. Otherwise each of its parts has an
    end of a lost edge in it: all those ends are compared with one of them, the anchor, and what is not connected with it
    splits off, or the anchor does where its part is the smaller one.
    """
    label, anchor = parts.fields[LABEL], parts.lanes[ANCHOR]
    broken = np.empty(len(gone), np.int64)
    count = 0
    for i in range(len(gone)):
        u, v = owner_of(gone[i]), value_of(gone[i])
        if u != v and anchor[label[u]] == _WHOLE and _search(out, back, parts, u, v)[0] != _MET:
            anchor[label[u]] = _NO_ANCHOR
            broken[count] = label[u]
            count += 1
    for i in range(len(gone)):
        for end in (owner_of(gone[i]), value_of(gone[i])):
            c = label[end]
            if anchor[c] == _NO_ANCHOR:
                anchor[c] = end
            elif anchor[c] != _WHOLE and anchor[c] != end:
                side, size = _search(out, back, parts, anchor[c], end)
                if side == 0:
                    _split_off(parts, parts.lanes[AHEAD, :size])
                    anchor[c] = end
                elif side == 1:
                    _split_off(parts, parts.lanes[BEHIND, :size])
    for c in broken[:count]:
        anchor[c] = _WHOLE


@kernel_part
def _search(out: Lists, back: Lists, parts: Components, u: Any, v: Any) -> Any:
    """Which of the two (0: u, 1: v) is found not to reach the other, and how much it reaches, or that they meet.

    The search goes from both ends with equal effort, so it costs no more than twice the smaller side's edges, and stays
    within their component. What a side has reached is in its queue.
    """
    mark, label = parts.lanes[MARK], parts.fields[LABEL]
    parts.counters[EPOCH] += 2
    epoch = parts.counters[EPOCH]
    ends, places, effort = np.array([1, 1]), np.array([0, 0]), np.array([0, 0])
    queues = parts.lanes[AHEAD : BEHIND + 1]
    queues[0, 0], queues[1, 0] = u, v
    mark[u], mark[v] = epoch, epoch + 1
    while places[0] < ends[0] and places[1] < ends[1]:
        side = 0 if effort[0] <= effort[1] else 1
        node = queues[side, places[side]]
        places[side] += 1
        for lists in (out, back):
            effort[side] += lists.length[node] + 1
            for place in range(lists.start[node], lists.start[node] + lists.length[node]):
                other = lists.pool[place]
                if label[other] != label[u]:
                    continue  # a new edge, of which `unite` will know
                if mark[other] == epoch + 1 - side:
                    return _MET, 0
                if mark[other] != epoch + side:
                    mark[other] = epoch + side
                    queues[side, ends[side]] = other
                    ends[side] += 1
    side = 0 if places[0] == ends[0] else 1
    return side, ends[side]


@kernel_part
def _split_off(parts: Components, nodes: Any) -> None:
    """The nodes, whole components of the graph, get a label of their own."""
    fields = parts.fields
    old = fields[LABEL, nodes[0]]
    parts.counters[FREE] -= 1
    label = parts.free[parts.counters[FREE]]
    for node in nodes:
        _relabel(parts, node, label)
    # The circle of the old label keeps the others: it is walked once, which lost pairs pay for.
    first, kept = fields[FIRST, old], np.int64(-1)
    node = first
    for _ in range(fields[SIZE, old]):
        following = fields[NEXT, node]
        if fields[LABEL, node] == old:
            if kept < 0:
                fields[NEXT, node] = node
            else:
                fields[NEXT, node] = fields[NEXT, kept]
                fields[NEXT, kept] = node
            kept = node
        node = following
    fields[FIRST, old] = kept
    fields[SIZE, old] -= len(nodes)
    for i in range(len(nodes)):
        fields[NEXT, nodes[i]] = nodes[(i + 1) % len(nodes)]
    fields[FIRST, label] = nodes[0]
    fields[SIZE, label] = len(nodes)


@njit(cache=True, nogil=True)
def unite(parts: Components, new: Any) -> None:
    """The ends of each new edge get one label, that of the larger side."""
    fields = parts.fields
    for i in range(len(new)):
        a, b = fields[LABEL, owner_of(new[i])], fields[LABEL, value_of(new[i])]
        if a == b:
            continue
        if fields[SIZE, a] < fields[SIZE, b]:
            a, b = b, a
        node = fields[FIRST, b]
        for _ in range(fields[SIZE, b]):
            _relabel(parts, node, a)
            node = fields[NEXT, node]
        first = fields[FIRST, a]
        after = fields[NEXT, first]
        fields[NEXT, first] = fields[NEXT, node]
        fields[NEXT, node] = after
        fields[SIZE, a] += fields[SIZE, b]
        fields[SIZE, b] = 0
        parts.free[parts.counters[FREE]] = b
        parts.counters[FREE] += 1


@njit(cache=True, nogil=True)
def gather(parts: Components) -> Any:
    """All members, with their labels before and after, of the components that an update has touched; ends the update."""
    fields, lanes, counters = parts.fields, parts.lanes, parts.counters
    counters[EPOCH] += 2
    epoch = counters[EPOCH]
    labels = np.empty(2 * counters[TOUCHED_COUNT], np.int64)
    count, total = 0, 0
    for i in range(counters[TOUCHED_COUNT]):
        node = lanes[TOUCHED, i]
        for label in (fields[LABEL, node], lanes[ORIGIN, node]):
            # Labels and nodes have numbers from one range, and marks of an epoch are not needed beyond it.
            if lanes[MARK, label] != epoch and fields[SIZE, label] > 0:
                lanes[MARK, label] = epoch
                labels[count] = label
                count += 1
                total += fields[SIZE, label]
    nodes, old, new = np.empty(total, np.int64), np.empty(total, np.int64), np.empty(total, np.int64)
    at = 0
    for label in labels[:count]:
        node = fields[FIRST, label]
        for _ in range(fields[SIZE, label]):
            nodes[at] = node
            old[at] = lanes[ORIGIN, node] if lanes[ORIGIN, node] >= 0 else label
            new[at] = label
            at += 1
            node = fields[NEXT, node]
    for i in range(counters[TOUCHED_COUNT]):
        lanes[ORIGIN, lanes[TOUCHED, i]] = -1
    counters[TOUCHED_COUNT] = 0
    return nodes, old, new


@njit(cache=True, nogil=True)
def emit_across(group: Any, part: Any, codes: Any, rows: Any) -> int:
    """Writes the pairs of codes of one group and different parts; both ascend, the group first. Gives their number."""
    at, start = 0, 0
    while start < len(group):
        end = start
        while end < len(group) and group[end] == group[start]:
            end += 1
        first = start
        while first < end:
            last = first
            while last < end and part[last] == part[first]:
                last += 1
            for i in range(first, last):
                for j in range(start, end):
                    if j < first or j >= last:
                        rows[at, 0] = codes[i]
                        rows[at, 1] = codes[j]
                        at += 1
            first = last
        start = end
    return at
