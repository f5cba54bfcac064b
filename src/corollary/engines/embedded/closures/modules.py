"""Closures as modules of DRed^c-Mod (paper 002, Algorithms 4 to 9), for hyper-nodes in which other rules derive facts too.

There an exact closure is not enough: a fact may be supported by a chain that, through other modules, rests on the fact
itself. So deletions overdelete first, and what still holds is rederived. For both modules Diff is empty (section 5).

Three things are read differently from the paper. Line 43 adds only facts that are not in I yet. Line 50 asks for R(v, w) in
I, deleted or not, and for R(u, w) not in S yet: as printed, a fact derived from two deleted facts would stay. And X_R loses what
is overdeleted, not only what others delete (line 49): a fact that another module gave, and that rests on itself through the
deleted ones, would stay in X_R otherwise and be rederived from itself. If others still derive it, they add it again.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from numba import njit

from corollary.engines.embedded.closures.difference import popcount
from corollary.engines.embedded.closures.graph import NO_NODE, Changes
from corollary.engines.embedded.closures.linear import MaintainedClosure
from corollary.engines.embedded.closures.lists import Array, reversed_keys
from corollary.engines.embedded.closures.shape import Graph
from corollary.engines.embedded.closures.symmetric import MaintainedSymmetricClosure
from corollary.engines.embedded.relation import Codes

# For each pair whether its nonrecursive counter is positive: C_nr(F) > 0.
Supported: TypeAlias = Callable[[Codes], np.ndarray[Any, np.dtype[np.bool_]]]

_EMPTY = np.empty((0, 2), np.uint32)


class TransitiveModule(MaintainedClosure):
    """tc(R): the closure of the external facts X_R, which are the steps of this closure.

    Between the first `overdelete` and `rederive` X_R is ahead of the closure, which stays what it was at the beginning, less
    the facts that were overdeleted: together they are I. `rederive` is called once after all overdeletion, before any `add`.
    """

    def __init__(self, externals: Codes, universe: int, *, guarded: bool = False) -> None:
        super().__init__(externals, None, universe, guarded=guarded)
        self._waiting: list[Changes] = []
        self._overdeleted: Array | None = None  # bits of facts by node

    def add(self, delta: Codes) -> Codes:
        """Add^tc(R) (Algorithm 4): what follows from the new facts and is not in I; the facts themselves are in I already."""
        if self._waiting:
            raise ValueError("rederive comes before add")
        return _minus(self.update(added_step=delta).inserted.rows(), delta)

    def overdelete(self, delta: Codes, has_external_support: Supported) -> Codes:
        """Del^tc(R) (Algorithm 5): what may rest on the deleted facts and has no nonrecursive derivation.

        As in the paper, deletion goes on *through* a fact with such a derivation, and spares only the fact itself: with the
        linear rule (4), stopping there would miss facts that the rule (1) overdeletes.
        """
        self._settle_last()
        self._waiting.append(self._graph.change(delta, _EMPTY, None, None))
        bits, graph = self._store.bits, self._graph.arrays
        nodes = self._graph.nodes.count
        if self._overdeleted is None:
            self._overdeleted = np.zeros((nodes, bits.shape[1]), np.uint64)
        sources, targets = self._graph.nodes.find(delta[:, 0]), self._graph.nodes.find(delta[:, 1])
        known = (sources != NO_NODE) & (targets != NO_NODE)
        seen = np.zeros_like(self._overdeleted)
        rows = self._store.rows_of(np.arange(nodes))
        _spread(graph, bits, rows, self._overdeleted, seen, sources[known], targets[known])
        found = _minus(_emit(seen, self._graph.nodes.codes, self._graph.column_codes), delta)
        if self._guarded:
            found = found[found[:, 0] != found[:, 1]]
        found = found[~has_external_support(found)]
        _set_bits(self._overdeleted, self._graph.nodes.find(found[:, 0]), self._graph.find_columns(found[:, 1]))
        columns = self._graph.find_columns(delta[:, 1])
        there = known & (columns >= 0)
        _set_bits(self._overdeleted, sources[there], columns[there])
        self._waiting.append(self._graph.change(found, _EMPTY, None, None))
        return found

    def rederive(self, delta: Codes) -> Codes:
        """Red^tc(R) (Algorithm 6): which of all the overdeleted facts are still reached over X_R."""
        if self._waiting:
            gone = np.concatenate([changes.gone for changes in self._waiting])
            capacity = self._graph.capacity
            gone = reversed_keys(reversed_keys(gone, capacity), capacity)
            self._waiting, self._overdeleted = [], None
            self._follow(Changes(gone, gone[:0], gone, gone[:0]))
        return delta[self.contains(delta)]  # type: ignore[no-any-return]

    def roll_back(self) -> None:
        for changes in reversed(self._waiting):
            self._graph.take_back(changes)
        self._waiting, self._overdeleted = [], None
        super().roll_back()


class SymmetricTransitiveModule(MaintainedSymmetricClosure):
    """stc(R): C_R are the components of this closure, and Y_R is what overdeletion spares, until `rederive`."""

    def __init__(self, externals: Codes, universe: int, *, guarded: bool = False) -> None:
        super().__init__(externals, universe, guarded=guarded)
        self._spared: list[Codes] = []

    def add(self, delta: Codes) -> Codes:
        """Add^stc(R) (Algorithm 7): CloseEdges of the new facts, less what is in I; the facts themselves are in I already."""
        if self._spared:
            raise ValueError("rederive comes before add")
        return _minus(self.update(added=delta).inserted.rows(), delta)

    def overdelete(self, delta: Codes, has_external_support: Supported) -> Codes:
        """Del^stc(R) (Algorithm 8): all facts of every component with a deleted fact, less those with other support."""
        self._spared = [_minus(spared, delta) for spared in self._spared]
        connected = delta[self.contains(delta)]
        if not len(connected):
            return _EMPTY
        facts = self.component_pairs(connected[:, 0])
        spared = has_external_support(facts)
        if self._guarded:
            # The guarded rule derives no reflexive facts, so those that are there come from others.
            spared |= facts[:, 0] == facts[:, 1]
        self._spared.append(_minus(facts[spared], delta))
        self.update(removed=facts)
        return _minus(facts[~spared], delta)

    def rederive(self, delta: Codes) -> Codes:
        """Red^stc(R) (Algorithm 9, with its missing line 84): CloseEdges of Y_R, as far as it was overdeleted."""
        if self._spared:
            spared, self._spared = np.concatenate(self._spared), []
            self.update(added=spared)
        return delta[self.contains(delta)]  # type: ignore[no-any-return]

    def roll_back(self) -> None:
        self._spared = []
        super().roll_back()


def _minus(rows: Codes, others: Codes) -> Codes:
    """The rows that are not among the others."""
    if not len(rows) or not len(others):
        return rows
    keys = (rows[:, 0].astype(np.uint64) << np.uint64(32)) | rows[:, 1]
    return rows[~np.isin(keys, (others[:, 0].astype(np.uint64) << np.uint64(32)) | others[:, 1])]


@njit(cache=True, nogil=True)
def _spread(graph: Graph, bits: Any, rows: Any, overdeleted: Any, seen: Any, sources: Any, targets: Any) -> None:
    """Marks in `seen` the set S of Algorithm 5; I is what the rows have less what was overdeleted."""
    nodes, words = seen.shape
    queue, queued = np.empty(nodes + 1, np.int64), np.zeros(nodes, np.bool_)
    head, waiting = 0, 0
    for i in range(len(sources)):
        u, v = sources[i], targets[i]
        column = graph.column[v]
        for word in range(words):
            there = bits[rows[v], word] & ~overdeleted[v, word] if rows[v] >= 0 else np.uint64(0)
            if column >= 0 and column >> 6 == word:
                there |= np.uint64(1) << np.uint64(column & 63)
            seen[u, word] |= there & bits[rows[u], word] & ~overdeleted[u, word] if rows[u] >= 0 else np.uint64(0)
        if not queued[u]:
            queued[u] = True
            queue[(head + waiting) % (nodes + 1)] = u
            waiting += 1
    while waiting > 0:
        v = queue[head]
        head = (head + 1) % (nodes + 1)
        waiting -= 1
        queued[v] = False
        for place in range(graph.back.start[v], graph.back.start[v] + graph.back.length[v]):
            u = graph.back.pool[place]
            if rows[u] < 0:
                continue
            grown = np.uint64(0)
            for word in range(words):
                new = seen[v, word] & bits[rows[u], word] & ~overdeleted[u, word] & ~seen[u, word]
                seen[u, word] |= new
                grown |= new
            if grown and not queued[u]:
                queued[u] = True
                queue[(head + waiting) % (nodes + 1)] = u
                waiting += 1


@njit(cache=True, nogil=True)
def _set_bits(bits: Any, rows: Any, columns: Any) -> None:
    for i in range(len(rows)):
        bits[rows[i], columns[i] >> 6] |= np.uint64(1) << np.uint64(columns[i] & 63)


@njit(cache=True, nogil=True)
def _emit(bits: Any, codes: Any, columns: Any) -> Any:
    count = 0
    for row in range(bits.shape[0]):
        for word in range(bits.shape[1]):
            count += popcount(bits[row, word])
    rows = np.empty((count, 2), np.uint32)
    at = 0
    for row in range(bits.shape[0]):
        for word in range(bits.shape[1]):
            left = bits[row, word]
            while left != np.uint64(0):
                lowest = left & (~left + np.uint64(1))
                rows[at, 0] = codes[row]
                rows[at, 1] = columns[word * 64 + popcount(lowest - np.uint64(1))]
                left ^= lowest
                at += 1
    return rows
