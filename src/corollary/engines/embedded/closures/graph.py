"""A graph of codes that changes: its nodes are numbered as they come, its edges stand in lists."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from corollary.engines.embedded.closures.lists import (
    Array,
    GrowingLists,
    enlarge,
    keys_of,
    pairs_of,
    reversed_keys,
    without,
)
from corollary.engines.embedded.closures.shape import Graph
from corollary.engines.embedded.relations.relation import Codes

NO_NODE = np.uint32(0xFFFFFFFF)


class Numbering:
    """Codes that have occurred, numbered in the order in which they came; a number is never taken back."""

    def __init__(self, columns: list[Array], universe: int) -> None:
        seen = np.zeros(universe, np.bool_)
        for column in columns:
            seen[column] = True
        codes = np.flatnonzero(seen).astype(np.uint32)
        self.count = len(codes)
        self.codes = enlarge(codes, self.count + self.count // 8 + 16, 0)
        self._number_of = np.full(universe, NO_NODE, np.uint32)
        self._number_of[codes] = np.arange(self.count, dtype=np.uint32)

    def find(self, codes: Array) -> Array:
        """The numbers of the codes, NO_NODE for those without."""
        if len(codes) and codes.max() >= len(self._number_of):
            numbers = np.full(len(codes), NO_NODE, np.uint32)
            known = codes < len(self._number_of)
            numbers[known] = self._number_of[codes[known]]
            return numbers
        return self._number_of[codes]

    def add(self, codes: Array) -> None:
        """Numbers the codes that have no number yet."""
        new = np.unique(codes[self.find(codes) == NO_NODE])
        if not len(new):
            return
        if new[-1] >= len(self._number_of):
            self._number_of = enlarge(self._number_of, int(new[-1]) * 5 // 4 + 1, int(NO_NODE))
        count = self.count + len(new)
        if count > len(self.codes):
            self.codes = enlarge(self.codes, count * 2, 0)
        self.codes[self.count : count] = new
        self._number_of[new] = np.arange(self.count, count, dtype=np.uint32)
        self.count = count


class Changes(NamedTuple):
    """The edges and seeds that really changed, as keys of numbers of nodes."""

    gone: Array
    new: Array
    gone_seeds: Array
    new_seeds: Array


class ChangingGraph:
    """Steps in both directions and seeds; a node that is the second of a seed has a column. Both are sets of pairs."""

    def __init__(self, step: Codes, seeds: Codes | None, universe: int) -> None:
        starts = step if seeds is None else seeds
        self.nodes = Numbering([step[:, 0], step[:, 1], starts[:, 0], starts[:, 1]], universe)
        self.capacity = len(self.nodes.codes)
        self._out = GrowingLists(self.nodes.find(step[:, 0]), self.nodes.find(step[:, 1]), self.capacity)
        self._back = self._out.reversed()
        self._seeds: GrowingLists | None = None
        if seeds is not None:
            self._seeds = GrowingLists(self.nodes.find(seeds[:, 0]), self.nodes.find(seeds[:, 1]), self.capacity)
        self._mark = np.zeros(self.capacity, np.int64)
        self._column = np.full(self.capacity, -1, np.int64)
        self.column_codes = np.empty(0, np.uint32)
        self._add_columns(np.unique(self.nodes.find(starts[:, 1])))
        self.edges = int(self._out.arrays.length.sum())

    @property
    def arrays(self) -> Graph:
        out = self._out.arrays
        return Graph(out, self._back.arrays, out if self._seeds is None else self._seeds.arrays, self._column)

    def prepare(self, added_step: Codes, added_seeds: Codes | None) -> int:
        """Numbers the nodes and columns of what will come; gives how many of the nodes, the first, are sources."""
        self.nodes.add(added_step[:, 0])
        sources = self.nodes.count
        self.nodes.add(added_step[:, 1])
        if added_seeds is not None:
            self.nodes.add(added_seeds.ravel())
        if self.nodes.count > self.capacity:
            self._grow()
        starts = added_step if added_seeds is None else added_seeds
        targets = self.nodes.find(starts[:, 1])
        self._add_columns(np.unique(targets[self._column[targets] < 0]))
        return sources

    def change(
        self, removed_step: Codes, added_step: Codes, removed_seeds: Codes | None, added_seeds: Codes | None
    ) -> Changes:
        """Makes the changes; the nodes of what is added are prepared."""
        removed, added = self._keys(removed_step), self._keys(added_step)
        gone = self._out.remove(without(removed, added), self._mark)
        new = self._out.add(added, self._mark)
        self._back.remove(reversed_keys(gone, self.capacity), self._mark)
        self._back.append(reversed_keys(new, self.capacity))
        self.edges += len(new) - len(gone)
        if self._seeds is None:
            return Changes(gone, new, gone, new)
        nothing = np.empty(0, np.uint64)
        removed = nothing if removed_seeds is None else self._keys(removed_seeds)
        added = nothing if added_seeds is None else self._keys(added_seeds)
        gone_seeds = self._seeds.remove(without(removed, added), self._mark)
        return Changes(gone, new, gone_seeds, self._seeds.add(added, self._mark))

    def take_back(self, changes: Changes) -> None:
        """Edges become what they were; nodes and columns that have come stay, without edges."""
        self._out.remove(changes.new, self._mark)
        self._out.append(changes.gone)
        self._back.remove(reversed_keys(changes.new, self.capacity), self._mark)
        self._back.append(reversed_keys(changes.gone, self.capacity))
        self.edges -= len(changes.new) - len(changes.gone)
        if self._seeds is not None:
            self._seeds.remove(changes.new_seeds, self._mark)
            self._seeds.append(changes.gone_seeds)

    def find_columns(self, codes: Array) -> Array:
        """The columns of codes, -1 for those without."""
        numbers = self.nodes.find(codes)
        known = numbers != NO_NODE
        columns = np.full(len(codes), -1, np.int64)
        columns[known] = self._column[numbers[known]]
        return columns

    def pairs(self) -> tuple[Array, Array]:
        """The steps, as numbers of nodes."""
        return self._out.pairs()

    def loops(self) -> Codes:
        """The codes of nodes that are seeds of themselves."""
        owners, values = (self._out if self._seeds is None else self._seeds).pairs()
        return self.nodes.codes[owners[owners == values]]  # type: ignore[no-any-return]

    def _keys(self, rows: Codes) -> Array:
        if not len(rows):
            return np.empty(0, np.uint64)
        sources, targets = self.nodes.find(rows[:, 0]), self.nodes.find(rows[:, 1])
        known = (sources != NO_NODE) & (targets != NO_NODE)
        if not known.all():
            sources, targets = sources[known], targets[known]
        return keys_of(sources, targets, self.capacity)

    def _grow(self) -> None:
        self.capacity = len(self.nodes.codes)
        for lists in (self._out, self._back, self._seeds):
            if lists is not None:
                lists.grow(self.capacity)
        self._mark = np.zeros(self.capacity, np.int64)
        self._column = enlarge(self._column, self.capacity, -1)

    def _add_columns(self, nodes: Array) -> None:
        if len(nodes):
            count = len(self.column_codes)
            self._column[nodes] = np.arange(count, count + len(nodes))
            self.column_codes = np.concatenate([self.column_codes, self.nodes.codes[nodes]])


def loops_among(keys: Array) -> Array:
    """The nodes of keys that join a node to itself."""
    owners, values = pairs_of(keys)
    return owners[owners == values]  # type: ignore[no-any-return]
