"""Components and rows of bits of a changing graph: they follow a change, or are recomputed where that is cheaper."""

from __future__ import annotations

import numpy as np

from corollary.engines.embedded.closures.building import fill_rows, lay_out
from corollary.engines.embedded.closures.closure import MAX_BITS_BYTES, TooLarge
from corollary.engines.embedded.closures.difference import BitDifference, Groups, group_changes
from corollary.engines.embedded.closures.entries import ComponentRows, restore_rows, start_rows
from corollary.engines.embedded.closures.graph import NO_NODE, Changes, ChangingGraph
from corollary.engines.embedded.closures.lists import Array
from corollary.engines.embedded.closures.merging import connect
from corollary.engines.embedded.closures.rows import follow
from corollary.engines.embedded.closures.shape import (
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
    ORIGIN,
    ROW,
    SAVED,
    SAVED_AT,
    WORK,
    ClosureShape,
    empty_shape,
    finish_update,
    grown_shape,
    list_free,
    new_nodes,
    take_back,
)
from corollary.engines.embedded.closures.splitting import split

# The cost of recomputing, in words of a row: so much for an edge and a node besides the rows themselves. Measured.
_EDGE_COST = 40
# A change is followed until it has touched this part of the words that recomputing touches; a word costs about three times
# as much there, as rows are met in no order. Few edges are worth the try; for many the outcome is clear beforehand.
_IN_VAIN = 10
_SPREAD = 8  # how many rows change for each row at which a change begins, at least
_ALWAYS = 50_000  # words: less is not worth an estimate


class BitStore:
    """`bits` are the rows of components, `own` is the column that a node does not show (-1: none).

    `pairs` is the number of pairs. The graph changes first, then `update` gets what has changed.
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
        _, _, self.pairs = self._anew()
        self._replaced = None

    @property
    def bits(self) -> Array:
        return self._rows.bits

    def rows_of(self, nodes: Array) -> Array:
        """The row of each node, -1 for the empty one."""
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
        """Takes in the nodes and columns that the graph has prepared; the nodes below `sources` are sources of edges."""
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
        """Brings everything in line with the changed graph; gives what changed, how many pairs went and how many came.

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
        return self._anew(None if spare is None else spare[1])

    def take_back(self) -> None:
        """Undoes the last update; the graph has been taken back already."""
        if self._replaced is not None:
            epoch = self._shape.counters[EPOCH]
            self._shape, bits = self._replaced
            self._shape.counters[EPOCH] = epoch  # marks of later epochs are around
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
        """Follows the change; False when it is too much."""
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

    def _anew(self, spare: Array | None = None) -> tuple[BitDifference, int, int]:
        """Computes everything from the graph; what was before stays for the difference and for taking back.

        A spare array of bits that nobody needs any more is used again: fresh memory costs more than the rows themselves.
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
    """Rows of zeros; pages that nobody touches do not exist."""
    if rows * words * 8 > MAX_BITS_BYTES:
        raise TooLarge
    return np.zeros((max(rows, 1), max(words, 1)), np.uint64)
