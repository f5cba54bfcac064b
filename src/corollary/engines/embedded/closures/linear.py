"""A linear or transitive closure that stays exact while its steps and seeds change, at a cost that follows the change."""

from __future__ import annotations

import weakref
from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import njit

from corollary.engines.embedded.closures.closure import emit_pairs
from corollary.engines.embedded.closures.difference import PairDifference, Some, popcount
from corollary.engines.embedded.closures.graph import NO_NODE, Changes, ChangingGraph, loops_among
from corollary.engines.embedded.closures.lists import Array
from corollary.engines.embedded.closures.store import BitStore
from corollary.engines.embedded.relations.relation import Codes

_EMPTY = np.empty((0, 2), np.uint32)


@dataclass(frozen=True, eq=False)
class LinearUndo:
    """Takes one update back, as long as it is the closure's last."""

    changes: Changes
    count: int
    loops: int


class MaintainedClosure:
    """The pairs of seeds and everything that steps lead to: p(X, Z) :- seed(X, Z).  p(X, Z) :- step(X, Y), p(Y, Z).

    Without seeds the steps are the seeds: the transitive closure. `guarded` (then only) hides the reflexive pairs that are no
    steps. `left` is the left-linear closure, p(X, Z) :- p(X, Y), step(Y, Z). Steps and seeds are sets: what is removed need
    not be there, what is added may be there, and what is removed and added in one update is there afterwards.

    `count` and `rows()` are the whole relation. An update that raises an exception (`TooLarge`) has changed nothing.
    """

    def __init__(
        self, step: Codes, seeds: Codes | None, universe: int, *, guarded: bool = False, left: bool = False
    ) -> None:
        if guarded and seeds is not None:
            raise ValueError(
                "only transitive closures can be guarded: in a linear one, chains may not pass their target"
            )
        self._left = left
        self._guarded = guarded
        self._transitive = seeds is None
        self._graph = ChangingGraph(self._turned(step), None if seeds is None else self._turned(seeds), universe)
        self._store = BitStore(self._graph, hide_own=guarded)
        self._loops = len(self._graph.loops()) if guarded else 0
        self.count = self._store.pairs + self._loops
        self._undo: LinearUndo | None = None
        self._journal: list[Changes] = []
        self._last: weakref.ref[PairDifference] | None = None

    # -- changes -----------------------------------------------------------------------------------------------------

    def update(
        self,
        removed_step: Codes = _EMPTY,
        added_step: Codes = _EMPTY,
        removed_seeds: Codes | None = None,
        added_seeds: Codes | None = None,
    ) -> PairDifference:
        """Changes steps and seeds (these only where the closure has seeds of its own); gives what changed in the closure."""
        if self._transitive and (removed_seeds is not None or added_seeds is not None):
            raise ValueError("the steps of a transitive closure are its seeds")
        self._settle_last()
        self._undo = None  # growing may already end what the last update could be taken back by
        sources = self._graph.prepare(self._turned(added_step), self._maybe_turned(added_seeds))
        self._store.cover(sources)
        changes = self._graph.change(
            self._turned(removed_step),
            self._turned(added_step),
            self._maybe_turned(removed_seeds),
            self._maybe_turned(added_seeds),
        )
        return self._follow(changes)

    def _follow(self, changes: Changes) -> PairDifference:
        """Brings the closure in line with a graph that has changed already."""
        undo = LinearUndo(changes, self.count, self._loops)
        try:
            found, deleted, inserted = self._store.update(changes)
        except BaseException:
            self._graph.take_back(changes)
            self._undo = None
            raise
        self._undo = undo
        self._journal.append(changes)
        gone_loops, new_loops = self._loop_codes(changes.gone_seeds), self._loop_codes(changes.new_seeds)
        self._loops += len(new_loops) - len(gone_loops)
        deleted, inserted = deleted + len(gone_loops), inserted + len(new_loops)
        self.count += inserted - deleted
        difference = PairDifference(
            Some(deleted, lambda: self._turned(found.rows(deleted, gone_loops, inserted=False))),
            Some(inserted, lambda: self._turned(found.rows(inserted, new_loops, inserted=True))),
            found.keep,
        )
        self._last = weakref.ref(difference)
        return difference

    @property
    def undo_token(self) -> LinearUndo:
        """Return an object that takes the last update back."""
        if self._undo is None:
            raise ValueError("there is no update to take back")
        return self._undo

    def undo(self, token: LinearUndo) -> None:
        """The closure becomes what it was before its last update, whose token this is."""
        if token is not self._undo:
            raise ValueError("only the last update can be taken back, and only once")
        self._settle_last()
        self._graph.take_back(token.changes)
        self._store.take_back()
        self.count, self._loops = token.count, token.loops
        self._undo = None
        self._journal.pop()

    def begin(self) -> None:
        """From now on updates are remembered, for `roll_back`; those before are final."""
        self._journal = []

    def roll_back(self) -> None:
        """Takes all updates since `begin` back, the last first, by opposite updates."""
        journal, self._journal = self._journal, []
        for changes in reversed(journal):
            self._settle_last()
            self._graph.take_back(changes)
            self._follow(Changes(changes.new, changes.gone, changes.new_seeds, changes.gone_seeds))
        self._undo, self._journal = None, []

    def _settle_last(self) -> None:
        difference = self._last() if self._last is not None else None
        if difference is not None:
            difference.detach()
        self._last = None

    def _loop_codes(self, keys: Array) -> Codes:
        nodes = loops_among(keys) if self._guarded and len(keys) else np.empty(0, np.int64)
        return np.repeat(self._graph.nodes.codes[nodes], 2).reshape(-1, 2)

    # -- reading -----------------------------------------------------------------------------------------------------

    def rows(self) -> Codes:
        """All pairs."""
        nodes = np.arange(self._graph.nodes.count)
        loops = np.repeat(self._graph.loops(), 2).reshape(-1, 2) if self._guarded else _EMPTY
        return self._turned(np.concatenate([self._emit(nodes), loops]) if len(loops) else self._emit(nodes))

    def contains(self, pairs: Codes) -> np.ndarray[Any, np.dtype[np.bool_]]:
        """For each pair whether it is in the closure."""
        pairs = self._turned(pairs)
        rows, columns = self._store.rows_of(self._graph.nodes.find(pairs[:, 0])), self._graph.find_columns(pairs[:, 1])
        found: Array = _contains(self._store.bits, rows, columns)
        if self._guarded:
            loops = pairs[:, 0] == pairs[:, 1]
            found[loops] = np.isin(pairs[loops, 0], self._graph.loops())
        return found

    def from_firsts(self, codes: Codes) -> Codes:
        """The pairs (x, z) of the inner orientation whose x is among the codes; for a left-linear closure whose z is."""
        nodes = self._graph.nodes.find(np.unique(codes))
        rows = self._emit(nodes[nodes != NO_NODE].astype(np.int64))
        if self._guarded:
            loops = np.intersect1d(codes, self._graph.loops())
            rows = np.concatenate([rows, np.repeat(loops, 2).reshape(-1, 2)])
        return self._turned(rows)

    def _emit(self, nodes: Array) -> Codes:
        rows = self._store.rows_of(nodes)
        nodes, rows = nodes[rows >= 0], rows[rows >= 0]
        own, codes = self._store.own[nodes], self._graph.nodes.codes[nodes]
        bits = self._store.bits
        count = int(_count(bits, rows, own))
        return emit_pairs(bits, rows, own, codes, self._graph.column_codes, count)  # type: ignore[no-any-return]

    def _turned(self, rows: Codes) -> Codes:
        return rows[:, ::-1] if self._left else rows

    def _maybe_turned(self, rows: Codes | None) -> Codes | None:
        return None if rows is None else self._turned(rows)

    @property
    def nbytes(self) -> int:
        return self._store.nbytes


@njit(cache=True, nogil=True)
def _contains(bits: Any, rows: Any, columns: Any) -> Any:
    found = np.zeros(len(rows), np.bool_)
    for i in range(len(rows)):
        # After an update that was too large there are columns for which there are no bits.
        if rows[i] >= 0 and 0 <= columns[i] < 64 * bits.shape[1]:
            found[i] = (bits[rows[i], columns[i] >> 6] >> np.uint64(columns[i] & 63)) & np.uint64(1)
    return found


@njit(cache=True, nogil=True)
def _count(bits: Any, rows: Any, own: Any) -> int:
    sizes = np.full(len(bits), -1, np.int64)
    count = 0
    for i in range(len(rows)):
        row = rows[i]
        if sizes[row] < 0:
            sizes[row] = 0
            for word in range(bits.shape[1]):
                sizes[row] += popcount(bits[row, word])
        count += sizes[row]
        column = own[i]
        if column >= 0 and (bits[row, column >> 6] >> np.uint64(column & 63)) & np.uint64(1):
            count -= 1
    return count
