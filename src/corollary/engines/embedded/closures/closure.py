"""Closures without rule instances: strongly connected components and rows of bits (paper 002, sections 3, 5 and 6).

A linear closure `p(X, Z) :- step(X, Y), p(Y, Z)` over seeds gives every X the seeds of all that X reaches; with the seeds as
step it is the transitive closure. The members of a component share one row of bits. Pairs are counted from the bits, and
written out only when somebody wants to see them.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numba import njit

from corollary.engines.embedded.relations.relation import Codes, Pairs

Array: TypeAlias = np.ndarray[Any, Any]

MAX_BITS_BYTES = 1 << 31


class TooLarge(Exception):
    """The rows of bits would not fit into memory: another way has to be taken."""


class LinearClosure:
    """The pairs of seeds and everything that steps lead to; `kept` are the reflexive pairs that a guard lets pass."""

    def __init__(self, step: Codes, seeds: Codes, universe: int, kept: Codes | None = None) -> None:
        self._nodes, node_of = number_codes([step[:, 0], step[:, 1], seeds[:, 0]], universe)
        self._columns, column_of = number_codes([seeds[:, 1]], universe)
        offsets, targets = _adjacency(node_of[step[:, 0]], node_of[step[:, 1]], len(self._nodes))
        self._component, component_count = _components(offsets, targets)
        words = (len(self._columns) + 63) // 64
        if component_count * words * 8 > MAX_BITS_BYTES:
            raise TooLarge
        self._bits = np.zeros((component_count, words), np.uint64)
        set_bits(self._bits, self._component[node_of[seeds[:, 0]]], column_of[seeds[:, 1]])
        _close(self._bits, offsets, targets, self._component)
        self._own_column = np.full(len(self._nodes), -1, np.int64)
        if kept is not None:
            self._hide_reflexive(column_of, kept)
        self.count = int(_count_pairs(self._bits, self._component, self._own_column))

    def _hide_reflexive(self, column_of: Array, kept: Codes) -> None:
        own = column_of[self._nodes].astype(np.int64)
        own[np.isin(self._nodes, kept[:, 0]) | (own == _NO_NODE)] = -1
        self._own_column = own

    def rows(self) -> Codes:
        return emit_pairs(self._bits, self._component, self._own_column, self._nodes, self._columns, self.count)  # type: ignore[no-any-return]


class SymmetricClosure:
    """All pairs within a connected component; with `guarded` only the reflexive pairs that come from outside."""

    def __init__(self, edges: Codes, universe: int, *, guarded: bool) -> None:
        self._nodes, node_of = number_codes([edges[:, 0], edges[:, 1]], universe)
        labels = _connected(node_of[edges[:, 0]], node_of[edges[:, 1]], len(self._nodes))
        order = np.argsort(labels, kind="stable")
        self._members = self._nodes[order]
        sizes = np.bincount(labels) if len(labels) else np.zeros(0, np.int64)
        self._offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        self._guarded = guarded
        self._reflexive = np.unique(edges[edges[:, 0] == edges[:, 1]][:, 0]) if guarded else np.empty(0, np.uint32)
        pairs = int((sizes.astype(np.int64) ** 2).sum())
        self.count = pairs - len(self._nodes) + len(self._reflexive) if guarded else pairs

    def rows(self) -> Codes:
        emitted = _emit_components(self._members, self._offsets, self._guarded, self.count)
        if self._guarded and len(self._reflexive):
            emitted[self.count - len(self._reflexive) :] = self._reflexive[:, None]
        return emitted  # type: ignore[no-any-return]


class Reversed:
    """Pairs with their columns exchanged."""

    def __init__(self, pairs: Pairs) -> None:
        self._pairs = pairs
        self.count = pairs.count

    def rows(self) -> Codes:
        return self._pairs.rows()[:, ::-1]


# -- kernels -----------------------------------------------------------------------------------------------------------

_NO_NODE = np.uint32(0xFFFFFFFF)


def number_codes(columns: list[Array], universe: int) -> tuple[Codes, Array]:
    """The distinct codes of the columns in order, and for every code its number among them."""
    seen = np.zeros(universe, np.bool_)
    for column in columns:
        seen[column] = True
    codes = np.flatnonzero(seen).astype(np.uint32)
    number_of = np.full(universe, _NO_NODE, np.uint32)
    number_of[codes] = np.arange(len(codes), dtype=np.uint32)
    return codes, number_of


@njit(cache=True, nogil=True)
def _adjacency(sources: Any, targets: Any, nodes: int) -> Any:
    offsets = np.zeros(nodes + 1, np.int64)
    for i in range(len(sources)):
        offsets[sources[i] + 1] += 1
    for node in range(nodes):
        offsets[node + 1] += offsets[node]
    place = offsets[:-1].copy()
    ordered = np.empty(len(targets), np.uint32)
    for i in range(len(sources)):
        ordered[place[sources[i]]] = targets[i]
        place[sources[i]] += 1
    return offsets, ordered


@njit(cache=True, nogil=True)
def _components(offsets: Any, targets: Any) -> Any:
    """Tarjan's algorithm with an explicit stack; a component gets its number after all that it reaches."""
    nodes = len(offsets) - 1
    component = np.full(nodes, -1, np.int64)
    index = np.full(nodes, -1, np.int64)
    low = np.zeros(nodes, np.int64)
    on_stack = np.zeros(nodes, np.bool_)
    stack = np.empty(nodes, np.int64)
    path = np.empty(nodes, np.int64)
    cursor = np.zeros(nodes, np.int64)
    stack_size, counter, count = 0, 0, 0
    for root in range(nodes):
        if index[root] != -1:
            continue
        depth = 0
        path[0] = root
        while depth >= 0:
            node = path[depth]
            if index[node] == -1:
                index[node] = low[node] = counter
                counter += 1
                stack[stack_size] = node
                stack_size += 1
                on_stack[node] = True
                cursor[node] = offsets[node]
            descended = False
            while cursor[node] < offsets[node + 1]:
                target = targets[cursor[node]]
                cursor[node] += 1
                if index[target] == -1:
                    depth += 1
                    path[depth] = target
                    descended = True
                    break
                if on_stack[target] and index[target] < low[node]:
                    low[node] = index[target]
            if descended:
                continue
            if low[node] == index[node]:
                while True:
                    stack_size -= 1
                    member = stack[stack_size]
                    on_stack[member] = False
                    component[member] = count
                    if member == node:
                        break
                count += 1
            depth -= 1
            if depth >= 0 and low[node] < low[path[depth]]:
                low[path[depth]] = low[node]
    return component, count


@njit(cache=True, nogil=True)
def set_bits(bits: Any, rows: Any, columns: Any) -> None:
    for i in range(len(rows)):
        bits[rows[i], columns[i] >> 6] |= np.uint64(1) << np.uint64(columns[i] & 63)


@njit(cache=True, nogil=True)
def _close(bits: Any, offsets: Any, targets: Any, component: Any) -> None:
    """Adds to each row what it reaches, in the order in which components got their numbers."""
    nodes, count = len(component), bits.shape[0]
    starts = np.zeros(count + 1, np.int64)
    for node in range(nodes):
        starts[component[node] + 1] += 1
    for c in range(count):
        starts[c + 1] += starts[c]
    members = np.empty(nodes, np.int64)
    place = starts[:-1].copy()
    for node in range(nodes):
        members[place[component[node]]] = node
        place[component[node]] += 1
    for c in range(count):
        for m in range(starts[c], starts[c + 1]):
            node = members[m]
            for e in range(offsets[node], offsets[node + 1]):
                other = component[targets[e]]
                if other != c:
                    for word in range(bits.shape[1]):
                        bits[c, word] |= bits[other, word]


@njit(inline="always")
def _popcount(word: Any) -> Any:
    word = word - ((word >> np.uint64(1)) & np.uint64(0x5555555555555555))
    word = (word & np.uint64(0x3333333333333333)) + ((word >> np.uint64(2)) & np.uint64(0x3333333333333333))
    word = (word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return (word * np.uint64(0x0101010101010101)) >> np.uint64(56)


@njit(cache=True, nogil=True)
def _count_pairs(bits: Any, component: Any, own_column: Any) -> int:
    sizes = np.zeros(bits.shape[0], np.int64)
    for c in range(bits.shape[0]):
        total = np.uint64(0)
        for word in range(bits.shape[1]):
            total += _popcount(bits[c, word])
        sizes[c] = np.int64(total)
    count = 0
    for node in range(len(component)):
        count += sizes[component[node]]
        column = own_column[node]
        if column >= 0 and (bits[component[node], column >> 6] >> np.uint64(column & 63)) & np.uint64(1):
            count -= 1
    return count


@njit(cache=True, nogil=True)
def emit_pairs(bits: Any, component: Any, own_column: Any, nodes: Any, columns: Any, count: int) -> Any:
    rows = np.empty((count, 2), np.uint32)
    at = 0
    for node in range(len(component)):
        row = component[node]
        source = nodes[node]
        for word in range(bits.shape[1]):
            left = bits[row, word]
            while left != np.uint64(0):
                lowest = left & (~left + np.uint64(1))
                column = word * 64 + np.int64(_popcount(lowest - np.uint64(1)))
                left ^= lowest
                if column != own_column[node]:
                    rows[at, 0] = source
                    rows[at, 1] = columns[column]
                    at += 1
    return rows


@njit(cache=True, nogil=True)
def _connected(sources: Any, targets: Any, nodes: int) -> Any:
    """Union-find with path halving; labels are numbered from 0 in the order of the nodes."""
    parent = np.arange(nodes)
    for i in range(len(sources)):
        a, b = np.int64(sources[i]), np.int64(targets[i])
        while parent[a] != a:
            parent[a] = parent[parent[a]]
            a = parent[a]
        while parent[b] != b:
            parent[b] = parent[parent[b]]
            b = parent[b]
        if a != b:
            parent[max(a, b)] = min(a, b)
    labels = np.empty(nodes, np.int64)
    count = 0
    for node in range(nodes):
        root = node
        while parent[root] != root:
            root = parent[root]
        if root == node:
            labels[node] = count
            count += 1
        else:
            labels[node] = labels[root]
    return labels


@njit(cache=True, nogil=True)
def _emit_components(members: Any, offsets: Any, guarded: bool, count: int) -> Any:
    rows = np.empty((count, 2), np.uint32)
    at = 0
    for c in range(len(offsets) - 1):
        for i in range(offsets[c], offsets[c + 1]):
            for j in range(offsets[c], offsets[c + 1]):
                if not guarded or i != j:
                    rows[at, 0] = members[i]
                    rows[at, 1] = members[j]
                    at += 1
    return rows
