"""A symmetric-transitive closure that stays exact while its edges change: connected components, searched where they break."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from corollary.engines.embedded.closures.connectivity import (
    ANCHOR,
    COUNTERS,
    FIELDS,
    FIRST,
    FREE,
    LABEL,
    LANES,
    NEXT,
    ORIGIN,
    SIZE,
    Components,
    emit_across,
    gather,
    separate,
    unite,
)
from corollary.engines.embedded.closures.difference import PairDifference, Some
from corollary.engines.embedded.closures.graph import NO_NODE, Changes, ChangingGraph, loops_among
from corollary.engines.embedded.closures.lists import Array
from corollary.engines.embedded.relations.relation import Codes

_EMPTY = np.empty((0, 2), np.uint32)


@dataclass(frozen=True, eq=False)
class SymmetricUndo:
    """Takes one update back, as long as it is the closure's last."""

    changes: Changes


class MaintainedSymmetricClosure:
    """All pairs within a connected component; with `guarded` only those reflexive pairs that are edges.

    Edges are a set of directed pairs: (a, b) and (b, a) are two, and each of them connects a and b. Removed edges need not be
    there, added ones may be there, and what is removed and added in one update is there afterwards.
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
        """Changes the edges; gives what changed in the closure."""
        self._graph.prepare(added, None)
        self._cover()
        return self._follow(self._graph.change(removed, added, None, None))

    @property
    def undo_token(self) -> SymmetricUndo:
        """Return an object that takes the last update back."""
        if self._undo is None:
            raise ValueError("there is no update to take back")
        return self._undo

    def undo(self, token: SymmetricUndo) -> None:
        """The closure becomes what it was before its last update, whose token this is."""
        if token is not self._undo:
            raise ValueError("only the last update can be taken back, and only once")
        self._graph.take_back(token.changes)
        gone, new = token.changes.gone, token.changes.new
        self._follow(Changes(new, gone, new, gone))
        self._undo = None
        del self._journal[-2:]

    def begin(self) -> None:
        """From now on updates are remembered, for `roll_back`; those before are final."""
        self._journal = []

    def roll_back(self) -> None:
        """Takes all updates since `begin` back, the last first, by opposite updates."""
        journal, self._journal = self._journal, []
        for changes in reversed(journal):
            self._graph.take_back(changes)
            self._follow(Changes(changes.new, changes.gone, changes.new_seeds, changes.gone_seeds))
        self._undo, self._journal = None, []

    def _cover(self) -> None:
        """Takes in the nodes that the graph has numbered, each as a component of its own."""
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
        """Brings components in line with a graph that has changed already."""
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
            # Extra nodes may share a component with others that are not listed: its size is what it was.
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
        """All pairs."""
        nodes = np.arange(self._nodes)
        return self._within(nodes).rows()

    def _within(self, nodes: Array) -> Some:
        labels = self._parts.fields[LABEL, nodes]
        reflexive = self._loop[nodes] if self._guarded else self._loop[nodes] | (self._parts.fields[SIZE, labels] > 1)
        codes = self._graph.nodes.codes[nodes]
        return _across(labels, nodes, codes, codes[reflexive])

    def contains(self, pairs: Codes) -> np.ndarray[Any, np.dtype[np.bool_]]:
        """For each pair whether it is in the closure."""
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
    """The pairs of codes in one group and different parts, and the reflexive pairs."""
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
    """How long the runs of equal rows are."""
    if not len(columns[0]):
        return np.zeros(0, np.int64)
    starts = np.ones(len(columns[0]), np.bool_)
    starts[1:] = False
    for column in columns:
        starts[1:] |= column[1:] != column[:-1]
    return np.diff(np.append(np.flatnonzero(starts), len(starts)))
