"""A symmetric-transitive closure that stays exact while its edges change: connected components, searched where an edge
is lost."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numba import njit

from corollary.engines.embedded.closures.difference import PairDifference, Some
from corollary.engines.embedded.closures.graph import (
    NO_NODE,
    Array,
    Changes,
    ChangingGraph,
    Lists,
    kernel_part,
    loops_among,
    owner_of,
    value_of,
)
from corollary.engines.embedded.relations.relation import Codes

# -- connectivity ------------------------------------------------------------------------------------------------------

# Connected components of a changing undirected graph: kernels of the symmetric-transitive closure.

# Of nodes: label, next member; of labels: a member, the number of members (0: unused).
LABEL, NEXT, FIRST, SIZE = range(4)
FIELDS = 4
MARK, AHEAD, BEHIND, ORIGIN, TOUCHED, ANCHOR = range(6)
LANES = 6
EPOCH, TOUCHED_COUNT, FREE = range(3)
COUNTERS = 3
_WHOLE, _NO_ANCHOR = -1, -2  # states of a component: no break is known; one is known, but no anchor yet
_MET = 2


class Components(NamedTuple):
    """Labels and members of components; ORIGIN of a node is its label before the update, if that has changed."""

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
    """Adapt components to deleted edges.

    A component is unchanged if the ends of every lost edge are still connected. Otherwise each of its parts contains an
    end of a lost edge: all those ends are compared with one of them, the anchor, and what is not connected with it
    splits off, or the anchor's part does if it is the smaller one.
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
    """Return which of the two (0: u, 1: v) does not reach the other, and how much it reaches, or that they meet.

    The search goes from both ends with equal effort, so it costs no more than twice the smaller side's edges. The nodes
    that a side has reached are in its queue.
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
                    continue  # a new edge, which `unite` handles
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
    """Give the nodes, which are whole components of the graph, a label of their own."""
    fields = parts.fields
    old = fields[LABEL, nodes[0]]
    parts.counters[FREE] -= 1
    label = parts.free[parts.counters[FREE]]
    for node in nodes:
        _relabel(parts, node, label)
    # The circular list of the old label keeps the others; walking it once is paid for by the pairs that are lost.
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
    """Give the ends of each new edge one label, that of the larger side."""
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
    """Return all members, with their old and new labels, of the components that an update has changed; end the update."""
    fields, lanes, counters = parts.fields, parts.lanes, parts.counters
    counters[EPOCH] += 2
    epoch = counters[EPOCH]
    labels = np.empty(2 * counters[TOUCHED_COUNT], np.int64)
    count, total = 0, 0
    for i in range(counters[TOUCHED_COUNT]):
        node = lanes[TOUCHED, i]
        for label in (fields[LABEL, node], lanes[ORIGIN, node]):
            # Labels and nodes are numbered in one range, and marks of an epoch are not needed any more.
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
    """Write the pairs of codes of one group and different parts, both ascending, group first; return their number."""
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


# -- symmetric ---------------------------------------------------------------------------------------------------------

_EMPTY = np.empty((0, 2), np.uint32)


@dataclass(frozen=True, eq=False)
class SymmetricUndo:
    """A token to undo one update, as long as it is the closure's last."""

    changes: Changes


class MaintainedSymmetricClosure:
    """All pairs within a connected component; if `guarded`, only those reflexive pairs that are edges.

    Edges are a set of directed pairs: (a, b) and (b, a) are two, and each of them connects a and b. Removed edges need
    not exist, added ones may exist, and an edge that is both removed and added exists afterwards.
    """

    def __init__(self, edges: Codes, universe: int, *, guarded: bool = False) -> None:
        self._guarded = guarded
        self._graph = ChangingGraph(edges, None, universe)
        self._nodes = 0
        self._parts = _parts(self._graph.capacity)
        self._loop = np.zeros(self._graph.capacity, np.bool_)
        self._undo: SymmetricUndo | None = None
        self._journal: list[Changes] = []
        self.count = 0
        self._cover()
        owners, values = self._graph.pairs()
        nothing = np.empty(0, np.uint64)
        self._follow(Changes(nothing, (owners.astype(np.uint64) << np.uint64(32)) | values, nothing, nothing))
        self._undo = None
        self._journal = []

    # -- changes -----------------------------------------------------------------------------------------------------

    def update(self, removed: Codes = _EMPTY, added: Codes = _EMPTY) -> PairDifference:
        """Change the edges; return what changed in the closure."""
        self._graph.prepare(added, None)
        self._cover()
        return self._follow(self._graph.change(removed, added, None, None))

    @property
    def undo_token(self) -> SymmetricUndo:
        """Return a token with which to undo the last update."""
        if self._undo is None:
            raise ValueError("there is no update to take back")
        return self._undo

    def undo(self, token: SymmetricUndo) -> None:
        """Undo the last update, to which the token belongs."""
        if token is not self._undo:
            raise ValueError("only the last update can be taken back, and only once")
        self._graph.take_back(token.changes)
        gone, new = token.changes.gone, token.changes.new
        self._follow(Changes(new, gone, new, gone))
        self._undo = None
        del self._journal[-2:]

    def begin(self) -> None:
        """Record updates from now on for `roll_back`; earlier ones are final."""
        self._journal = []

    def roll_back(self) -> None:
        """Undo all updates since `begin`, the last first, by opposite updates."""
        journal, self._journal = self._journal, []
        for changes in reversed(journal):
            self._graph.take_back(changes)
            self._follow(Changes(changes.new, changes.gone, changes.new_seeds, changes.gone_seeds))
        self._undo, self._journal = None, []

    def _cover(self) -> None:
        """Add the nodes that the graph has numbered, each as a component of its own."""
        capacity, old = self._graph.capacity, self._parts.fields.shape[1]
        if capacity > old:
            grown = _parts(capacity)
            grown.fields[:, :old], grown.lanes[:, :old] = self._parts.fields, self._parts.lanes
            grown.counters[:] = self._parts.counters
            free = int(grown.counters[FREE])
            grown.free[:free] = self._parts.free[:free]
            self._loop = np.concatenate([self._loop, np.zeros(capacity - old, np.bool_)])
            self._parts = grown
        new = np.arange(self._nodes, self._graph.nodes.count)
        if len(new):
            fields = self._parts.fields
            fields[LABEL, new], fields[NEXT, new], fields[FIRST, new], fields[SIZE, new] = new, new, new, 1
            self._nodes = self._graph.nodes.count

    def _follow(self, changes: Changes) -> PairDifference:
        """Follow a graph that has already changed."""
        parts, graph = self._parts, self._graph.arrays
        separate(graph.out, graph.back, parts, changes.gone)
        unite(parts, changes.new)
        nodes, old, new = gather(parts)
        gone_loops, new_loops = loops_among(changes.gone), loops_among(changes.new)
        looped = np.union1d(gone_loops, new_loops)
        extra = looped[~np.isin(looped, nodes)]
        nodes = np.concatenate([nodes, extra])
        old, new = np.concatenate([old, parts.fields[LABEL, extra]]), np.concatenate([new, parts.fields[LABEL, extra]])
        had = self._loop[nodes]
        self._loop[gone_loops], self._loop[new_loops] = False, True
        has = self._loop[nodes]
        if not self._guarded and len(nodes):
            # Extra nodes may share a component with others that are not listed, whose size has not changed.
            sizes = np.bincount(old, minlength=int(new.max()) + 1)
            old_sizes = sizes[old]
            old_sizes[len(old) - len(extra) :] = parts.fields[SIZE, old[len(old) - len(extra) :]]
            had, has = had | (old_sizes > 1), has | (parts.fields[SIZE, new] > 1)
        codes = self._graph.nodes.codes[nodes]
        listed = len(nodes) - len(extra)
        deleted = _across(old[:listed], new[:listed], codes[:listed], codes[had & ~has])
        inserted = _across(new[:listed], old[:listed], codes[:listed], codes[has & ~had])
        self.count += inserted.count - deleted.count
        self._undo = SymmetricUndo(changes)
        self._journal.append(changes)
        return PairDifference(deleted, inserted)

    # -- reading -----------------------------------------------------------------------------------------------------

    def rows(self) -> Codes:
        """Return all pairs."""
        nodes = np.arange(self._nodes)
        return self._within(nodes).rows()

    def _within(self, nodes: Array) -> Some:
        labels = self._parts.fields[LABEL, nodes]
        reflexive = self._loop[nodes] if self._guarded else self._loop[nodes] | (self._parts.fields[SIZE, labels] > 1)
        codes = self._graph.nodes.codes[nodes]
        return _across(labels, nodes, codes, codes[reflexive])

    def contains(self, pairs: Codes) -> np.ndarray[Any, np.dtype[np.bool_]]:
        """Return, for each pair, whether it is in the closure."""
        left, right = self._graph.nodes.find(pairs[:, 0]), self._graph.nodes.find(pairs[:, 1])
        known = (left != NO_NODE) & (right != NO_NODE)
        found = np.zeros(len(pairs), np.bool_)
        a, b = left[known], right[known]
        label, size = self._parts.fields[LABEL], self._parts.fields[SIZE]
        reflexive = self._loop[a] if self._guarded else self._loop[a] | (size[label[a]] > 1)
        found[known] = np.where(a == b, reflexive, label[a] == label[b])
        return found


def _parts(capacity: int) -> Components:
    lanes = np.zeros((LANES, capacity), np.int64)
    lanes[ORIGIN] = lanes[ANCHOR] = -1
    fields = np.zeros((FIELDS, capacity), np.int64)
    return Components(fields, lanes, np.zeros(COUNTERS, np.int64), np.zeros(capacity, np.int64))


def _across(group: Array, part: Array, codes: Codes, reflexive: Codes) -> Some:
    """Return the pairs of codes in one group and different parts, and the reflexive pairs."""
    order = np.lexsort((part, group))
    group, part, codes = group[order], part[order], codes[order]
    count = int((_run_lengths(group) ** 2).sum() - (_run_lengths(group, part) ** 2).sum())

    def write() -> Codes:
        rows = np.empty((count + len(reflexive), 2), np.uint32)
        emit_across(group, part, codes, rows)
        rows[count:] = reflexive[:, None]
        return rows

    return Some(count + len(reflexive), write)


def _run_lengths(*columns: Array) -> Array:
    """Return the lengths of runs of equal rows."""
    if not len(columns[0]):
        return np.zeros(0, np.int64)
    starts = np.ones(len(columns[0]), np.bool_)
    starts[1:] = False
    for column in columns:
        starts[1:] |= column[1:] != column[:-1]
    return np.diff(np.append(np.flatnonzero(starts), len(starts)))
