"""A linear or transitive closure that stays exact while its steps and seeds change, at a cost in proportion to the change."""

from __future__ import annotations

import weakref
from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import njit

from corollary.engines.embedded.closures.closure import MAX_BITS_BYTES, TooLarge, emit_pairs
from corollary.engines.embedded.closures.components import connect, fill_rows, lay_out, split
from corollary.engines.embedded.closures.difference import (
    BitDifference,
    Groups,
    PairDifference,
    Some,
    group_changes,
    popcount,
)
from corollary.engines.embedded.closures.graph import (
    COMPONENT,
    COMPONENTS,
    CROSSING,
    DONE,
    EPOCH,
    FREE_ROWS,
    INVOLVED_COUNT,
    LOGGED,
    NEED_ROWS,
    NEED_SAVED,
    NO_NODE,
    ORIGIN,
    ROW,
    SAVED,
    SAVED_AT,
    WORK,
    Array,
    Changes,
    ChangingGraph,
    ClosureShape,
    empty_shape,
    finish_update,
    grown_shape,
    list_free,
    loops_among,
    new_nodes,
    take_back,
)
from corollary.engines.embedded.closures.rows import ComponentRows, follow, restore_rows, start_rows
from corollary.engines.embedded.relations.relation import Codes

# -- store -------------------------------------------------------------------------------------------------------------

# Components and rows of bits of a changing graph: they follow a change, or are recomputed if that is cheaper.

# The measured cost of recomputing an edge and a node, besides the rows themselves, in words of a row.
_EDGE_COST = 40
# A change is followed until it has touched this part of the words that recomputing would touch; a word costs about
# three times as much there, because rows are visited in no order. Few edges are always tried; for many, an estimate
# decides.
_IN_VAIN = 10
_SPREAD = 8  # an estimate of how many rows change, at least, for each row at which a change starts
_ALWAYS = 50_000  # words; smaller changes need no estimate


class BitStore:
    """The rows of components in `bits`; `own` is the column that a node does not show (-1: none).

    `pairs` is the number of pairs. The graph changes first, then `update` gets the changes.
    """

    def __init__(self, graph: ChangingGraph, *, hide_own: bool) -> None:
        self._graph = graph
        self._hide_own = hide_own
        self._nodes = graph.nodes.count
        self._words = (len(graph.column_codes) + 63) // 64
        self._shape = empty_shape(graph.capacity)
        self._shape.fields[ROW] = -1
        nothing = np.zeros((1, 1), np.uint64)
        self._rows = ComponentRows(
            nothing, nothing, np.zeros(1, np.int64), np.zeros((1, 3), np.int64), np.zeros((2, 1), np.uint64)
        )
        self._replaced: tuple[ClosureShape, Array] | None = None
        self.own = graph.arrays.column if hide_own else np.full(graph.capacity, -1, np.int64)
        self._direction = 1
        _, _, self.pairs = self._recompute()
        self._replaced = None

    @property
    def bits(self) -> Array:
        return self._rows.bits

    def rows_of(self, nodes: Array) -> Array:
        """Return the row of each node, -1 for the empty row."""
        rows = np.full(len(nodes), -1, np.int64)
        known = nodes != NO_NODE
        rows[known] = self._shape.fields[ROW][self._shape.fields[COMPONENT][nodes[known]]]
        return rows

    @property
    def nbytes(self) -> int:
        arrays = (*self._rows, *self._shape)
        return sum(array.nbytes for array in arrays)

    # -- growing -----------------------------------------------------------------------------------------------------

    def cover(self, sources: int) -> None:
        """Add the nodes and columns that the graph has prepared; the nodes below `sources` are sources of edges."""
        if self._graph.capacity > self._shape.fields.shape[1]:
            self._shape = grown_shape(self._shape, self._graph.capacity)
        if self._hide_own:
            self.own = self._graph.arrays.column
        elif len(self.own) < self._graph.capacity:
            self.own = np.full(self._graph.capacity, -1, np.int64)
        if self._graph.nodes.count > self._nodes:
            new_nodes(self._shape, self._nodes, sources, self._graph.nodes.count)
            self._nodes = self._graph.nodes.count
        words = (len(self._graph.column_codes) + 63) // 64
        if words > self.bits.shape[1]:
            self._resize(len(self.bits), words + words // 8 + 1)
        self._words = words

    def _resize(self, rows: int, words: int) -> None:
        old = self.bits
        grown = _bits(rows, words)
        grown[: len(old), : old.shape[1]] = old
        saved = np.zeros((len(self._rows.saved), words), np.uint64)
        kept = int(self._shape.counters[SAVED])
        saved[:kept, : old.shape[1]] = self._rows.saved[:kept, : old.shape[1]]
        self._rows = self._rows._replace(bits=grown, saved=saved, space=np.zeros((2, words), np.uint64))

    def _more_rows(self) -> None:
        old = len(self.bits)
        rows = min(old * 5 // 4 + 64, self._shape.fields.shape[1])
        grown = _bits(rows, self.bits.shape[1])
        grown[:old] = self.bits
        self._rows = self._rows._replace(bits=grown)
        free = int(self._shape.counters[FREE_ROWS])
        self._shape.free_rows[free : free + rows - old] = np.arange(rows - 1, old - 1, -1)
        self._shape.counters[FREE_ROWS] += rows - old

    def _more_saved(self, wanted: int) -> None:
        saved, saved_row = self._rows.saved, self._rows.saved_row
        if wanted > len(saved):
            count = int(self._shape.counters[SAVED])
            grown, grown_row = np.empty((wanted, self.bits.shape[1]), np.uint64), np.empty(wanted, np.int64)
            grown[:count], grown_row[:count] = saved[:count], saved_row[:count]
            self._rows = self._rows._replace(saved=grown, saved_row=grown_row)

    # -- changing ----------------------------------------------------------------------------------------------------

    def update(self, changes: Changes) -> tuple[BitDifference, int, int]:
        """Follow the changed graph; return the difference, and how many pairs were deleted and inserted.

        After an exception everything is as before.
        """
        spare, self._replaced = self._replaced, None
        comes, goes = len(changes.new) + len(changes.new_seeds), len(changes.gone) + len(changes.gone_seeds)
        self._direction = 0 if comes and goes else (1 if comes else -1)
        counters = self._shape.counters
        counters[LOGGED] = counters[SAVED] = counters[WORK] = 0
        recomputed = (self._words + 1) * int(counters[CROSSING] + counters[COMPONENTS])
        recomputed += _EDGE_COST * (self._graph.edges + self._nodes)
        limit = max(recomputed // _IN_VAIN, _ALWAYS)
        changed = sum(map(len, changes)) - (
            len(changes.gone) + len(changes.new) if changes.gone is changes.gone_seeds else 0
        )
        rows_per_edge = 2 + self._graph.edges // (2 * self._nodes + 1)
        if changed * (self._words * rows_per_edge + _EDGE_COST) * _SPREAD <= limit:
            try:
                if self._follow(changes, changed, limit):
                    return self._difference(self._shape.lanes[ORIGIN], self._shape.lanes[SAVED_AT], self._rows.saved)
            except BaseException:
                self._roll_back()
                raise
            self._roll_back()
        return self._recompute(None if spare is None else spare[1])

    def take_back(self) -> None:
        """Undo the last update, after the graph has undone it."""
        if self._replaced is not None:
            epoch = self._shape.counters[EPOCH]
            self._shape, bits = self._replaced
            self._shape.counters[EPOCH] = epoch  # there may be marks of later epochs
            self._rows = self._rows._replace(bits=bits)
            self._replaced = None
        else:
            self._roll_back()

    def _roll_back(self) -> None:
        finish_update(self._shape)
        restore_rows(self._shape, self._rows, self._words)
        if self._shape.counters[LOGGED]:
            take_back(self._shape)
            list_free(self._shape, len(self.bits))

    def _follow(self, changes: Changes, changed: int, limit: int) -> bool:
        """Follow the change; return False if that is too much work."""
        graph, shape = self._graph.arrays, self._shape
        if split(graph, shape, changes.gone, limit) != DONE or connect(graph, shape, changes.new, limit) != DONE:
            return False
        entries = self._graph.edges // 4 + 2 * changed + 1024
        if len(self._rows.entries) < entries:
            self._rows = self._rows._replace(entries=np.empty((entries * 2, 3), np.int64))
        self._more_saved(int(shape.counters[INVOLVED_COUNT]) + 64)
        start_rows(shape, self._rows, *changes, self._words)
        while (status := follow(graph, shape, self._rows, self._words, limit)) in (NEED_ROWS, NEED_SAVED):
            if status == NEED_ROWS:
                self._more_rows()
            else:
                self._more_saved(len(self._rows.saved) * 4)
        return bool(status == DONE)

    def _recompute(self, spare: Array | None = None) -> tuple[BitDifference, int, int]:
        """Compute everything from the graph; the old rows stay for the difference and for undoing.

        A spare array of bits is reused, because fresh memory costs more than computing the rows.
        """
        old, old_bits = self._shape, self.bits
        shape = old._replace(
            fields=np.zeros_like(old.fields),
            free=np.empty_like(old.free),
            free_rows=np.empty_like(old.free_rows),
            counters=old.counters.copy(),
        )
        graph = self._graph.arrays
        rows = lay_out(graph, shape, self._nodes)
        words = max(old_bits.shape[1], self._words)
        fits = spare is not None and len(spare) >= rows and spare.shape[1] == words
        bits = spare if spare is not None and fits else _bits(rows + rows // 8 + 8, words)
        past = old.fields[COMPONENT], old.fields[ROW], old_bits
        fill_rows(graph, shape, bits, self._words, *past, self._direction)
        list_free(shape, len(bits))
        self._replaced = old, old_bits
        self._shape = shape
        self._rows = self._rows._replace(bits=bits)
        if bits.shape[1] != self._rows.saved.shape[1]:
            saved, space = np.empty((64, bits.shape[1]), np.uint64), np.zeros((2, bits.shape[1]), np.uint64)
            self._rows = self._rows._replace(saved=saved, saved_row=np.empty(64, np.int64), space=space)
        return self._difference(*past, compared=True)

    def _difference(
        self, origin: Array, old_row: Array, old_bits: Array, *, compared: bool = False
    ) -> tuple[BitDifference, int, int]:
        *groups, deleted, inserted = group_changes(
            self._shape, origin, old_row, old_bits, self.bits, self._words, self.own, self._direction, compared
        )
        finish_update(self._shape)
        names = self.own, self._graph.nodes.codes, self._graph.column_codes
        return BitDifference(Groups(*groups), old_bits, self.bits, self._words, names), int(deleted), int(inserted)


def _bits(rows: int, words: int) -> Array:
    """Return rows of zeros; pages of memory that are never touched cost nothing."""
    if rows * words * 8 > MAX_BITS_BYTES:
        raise TooLarge
    return np.zeros((max(rows, 1), max(words, 1)), np.uint64)


# -- linear ------------------------------------------------------------------------------------------------------------

_EMPTY = np.empty((0, 2), np.uint32)


@dataclass(frozen=True, eq=False)
class LinearUndo:
    """A token to undo one update, as long as it is the closure's last."""

    changes: Changes
    count: int
    loops: int


class MaintainedClosure:
    """The pairs of seeds and all pairs that steps lead to: p(X, Z) :- seed(X, Z). p(X, Z) :- step(X, Y), p(Y, Z).

    Without seeds, the steps are the seeds: the transitive closure. `guarded`, possible only then, hides reflexive pairs
    that are not steps. `left` is the left-linear closure, p(X, Z) :- p(X, Y), step(Y, Z). Steps and seeds are sets:
    removed pairs need not exist, added pairs may exist, and a pair that is both removed and added exists afterwards.

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
        """Change steps and seeds (the latter only if the closure has its own seeds); return what changed in the closure."""
        if self._transitive and (removed_seeds is not None or added_seeds is not None):
            raise ValueError("the steps of a transitive closure are its seeds")
        self._settle_last()
        self._undo = None  # growing alone may make undoing the last update impossible
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
        """Follow a graph that has already changed."""
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
        """Return a token with which to undo the last update."""
        if self._undo is None:
            raise ValueError("there is no update to take back")
        return self._undo

    def undo(self, token: LinearUndo) -> None:
        """Undo the last update, to which the token belongs."""
        if token is not self._undo:
            raise ValueError("only the last update can be taken back, and only once")
        self._settle_last()
        self._graph.take_back(token.changes)
        self._store.take_back()
        self.count, self._loops = token.count, token.loops
        self._undo = None
        self._journal.pop()

    def begin(self) -> None:
        """Record updates from now on for `roll_back`; earlier ones are final."""
        self._journal = []

    def roll_back(self) -> None:
        """Undo all updates since `begin`, the last first, by opposite updates."""
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
        """Return all pairs."""
        nodes = np.arange(self._graph.nodes.count)
        loops = np.repeat(self._graph.loops(), 2).reshape(-1, 2) if self._guarded else _EMPTY
        return self._turned(np.concatenate([self._emit(nodes), loops]) if len(loops) else self._emit(nodes))

    def contains(self, pairs: Codes) -> np.ndarray[Any, np.dtype[np.bool_]]:
        """Return, for each pair, whether it is in the closure."""
        pairs = self._turned(pairs)
        rows, columns = self._store.rows_of(self._graph.nodes.find(pairs[:, 0])), self._graph.find_columns(pairs[:, 1])
        found: Array = _contains(self._store.bits, rows, columns)
        if self._guarded:
            loops = pairs[:, 0] == pairs[:, 1]
            found[loops] = np.isin(pairs[loops, 0], self._graph.loops())
        return found

    def from_firsts(self, codes: Codes) -> Codes:
        """Return the pairs (x, z) of the inner orientation with x among the codes; for a left-linear closure with z
        among them."""
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
        # After an update that was too large, some columns have no bits.
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
