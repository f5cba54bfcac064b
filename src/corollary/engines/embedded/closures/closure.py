"""Closures without rule instances: strongly connected components and rows of bits (paper 002, sections 3, 5 and 6).

A linear closure `p(X, Z) :- step(X, Y), p(Y, Z)` over seeds gives every X the seeds of all nodes that X reaches; with
the steps as seeds it is the transitive closure. The members of a component share one row of bits. Pairs are counted
from the bits, and written out only when they are read.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
from numba import njit

from corollary.analysis.lowering import SAME
from corollary.engines.embedded.kernels.runner import Work
from corollary.engines.embedded.relations.relation import Codes, Pairs, Relation
from corollary.planning import NormalRule
from corollary.program import Atom

Array: TypeAlias = np.ndarray[Any, Any]

MAX_BITS_BYTES = 1 << 31


class TooLarge(Exception):
    """Raised if the rows of bits do not fit into memory, so that another algorithm must be used."""


class LinearClosure:
    """The pairs of seeds and all pairs that steps lead to; `kept` are the reflexive pairs that a guard allows."""

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
    """All pairs within a connected component; if `guarded`, only those reflexive pairs that come from other rules."""

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
    """A closure with its columns exchanged."""

    def __init__(self, pairs: Pairs) -> None:
        self._pairs = pairs
        self.count = pairs.count

    def rows(self) -> Codes:
        return self._pairs.rows()[:, ::-1]


# -- kernels -----------------------------------------------------------------------------------------------------------

_NO_NODE = np.uint32(0xFFFFFFFF)


def number_codes(columns: list[Array], universe: int) -> tuple[Codes, Array]:
    """Return the distinct codes of the columns in order, and for every code its position among them."""
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
    """Return the components by Tarjan's algorithm with an explicit stack; a component is numbered after all that it reaches."""
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
    """Add to each row what it reaches, in the order of components, so that successors are complete."""
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
    """Return connected components, by union-find with path halving; labels are numbered from 0 in the order of the nodes."""
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


# -- dense join --------------------------------------------------------------------------------------------------------

# `h(X, Z) :- a(X, Y), b(Y, Z)` when most instances give known pairs: rows of bits instead of instances.

_MAX_BYTES = 1 << 30
_BLOCK = 1024


def instance_count(left: Codes, right: Codes, universe: int) -> int:
    """Return how many rule instances the join has."""
    ends = np.bincount(left[:, 1], minlength=universe)
    starts = np.bincount(right[:, 0], minlength=universe)
    return int((ends.astype(np.float64) * starts).sum())


def pays(left: Codes, right: Codes, universe: int, *, counted: bool = False) -> bool:
    """Return whether rows of bits (of numbers, if instances are counted) fit into memory and are cheaper than trying
    every instance."""
    if len(left) < 256 or len(right) < 256 or universe > 50 * (len(left) + len(right)):
        return False
    columns = min(len(right), universe)
    middle = min(len(right), universe)
    word_operations = len(left) * (columns / 64)
    if counted:
        fits = (middle * columns + _BLOCK * (middle + columns)) * 8 < _MAX_BYTES
    else:
        fits = middle * columns / 8 < _MAX_BYTES and min(len(left), universe) * columns / 8 < _MAX_BYTES
    # An instance takes some 20 ns, a word of bits less than 1 ns.
    return fits and instance_count(left, right, universe) > word_operations / 8


def join(left: Codes, right: Codes, universe: int) -> Codes:
    """Return the distinct pairs (X, Z)."""
    columns, column_of = number_codes([right[:, 1]], universe)
    middle, middle_of = number_codes([right[:, 0]], universe)
    sources, source_of = number_codes([left[:, 0]], universe)
    words = (len(columns) + 63) // 64
    right_bits = np.zeros((len(middle), words), np.uint64)
    set_bits(right_bits, middle_of[right[:, 0]], column_of[right[:, 1]])
    bits = np.zeros((len(sources), words), np.uint64)
    _unite(bits, source_of[left[:, 0]], middle_of[left[:, 1]], right_bits)
    count = int(np.bitwise_count(bits).sum())
    own = np.full(len(sources), -1, np.int64)
    return emit_pairs(bits, np.arange(len(sources)), own, sources, columns, count)  # type: ignore[no-any-return]


def insert_counted(left: Codes, right: Codes, universe: int, into: Relation, owner: str) -> None:
    """Insert the pairs, each with its number of derivations: a product of integer matrices, in blocks of rows."""
    columns, column_of = number_codes([right[:, 1]], universe)
    middle, middle_of = number_codes([right[:, 0]], universe)
    sources, source_of = number_codes([left[:, 0]], universe)
    reachable = left[middle_of[left[:, 1]] != _NO_NODE]
    # Counts stay below 2**53, so that products of doubles are exact.
    step = np.zeros((len(middle), len(columns)), np.float64)
    step[middle_of[right[:, 0]], column_of[right[:, 1]]] = 1
    rows, places = source_of[reachable[:, 0]], middle_of[reachable[:, 1]]
    order = np.argsort(rows, kind="stable")
    rows, places = rows[order], places[order]
    for start in range(0, len(sources), _BLOCK):
        inside = slice(*np.searchsorted(rows, [start, start + _BLOCK]))
        block = np.zeros((min(_BLOCK, len(sources) - start), len(middle)), np.float64)
        block[rows[inside] - start, places[inside]] = 1
        counts = block @ step
        found = np.nonzero(counts)
        pairs = np.stack([sources[found[0] + start], columns[found[1]]], axis=1)
        into.insert_with_counts(pairs, counts[found].astype(np.uint32), owner)


@njit(cache=True, nogil=True)
def _unite(bits: Any, sources: Any, middle: Any, right_bits: Any) -> None:
    for i in range(len(sources)):
        if middle[i] != np.uint32(0xFFFFFFFF):
            for word in range(bits.shape[1]):
                bits[sources[i], word] |= right_bits[middle[i], word]


# -- congruence --------------------------------------------------------------------------------------------------------

# Congruence: facts with equal constants, by representatives (union-find), where rules would replace one argument of one
# fact at a time.
#
# The rules of `analysis.lowering.equality` have the same meaning: each fact holds for all constants equal to its own.
# So facts are processed up to equality, one for each combination of classes, and every combination is expanded once.

_PIECE = 1 << 16  # combinations of classes that are expanded together


def congruent_predicate(rules: Sequence[NormalRule]) -> str | None:
    """Return the predicate of a hyper-node that only replaces constants by equal ones; None if it does more."""
    (predicate, *others) = {rule.head.predicate for rule in rules}
    if others:
        return None
    for rule in rules:
        names = [source.predicate for source in rule.body.sources if isinstance(source, Atom)]
        if names != [predicate, SAME] or rule.body.negated or rule.body.computes or rule.body.compares:
            return None
    return predicate


def expand(relation: Relation, same: Relation, universe: int, work: Work) -> None:
    """Add to a relation what follows from an equality, which must be symmetric and transitive."""
    if not relation.size or not same.size:
        return
    classes = _EqualityClasses(same.facts, universe)
    chosen = np.unique(classes.representative[relation.facts], axis=0)
    chosen = chosen[(classes.sizes[chosen] > 1).any(axis=1)]
    for start in range(0, len(chosen), _PIECE):
        relation.insert(classes.members_of(chosen[start : start + _PIECE]))
        work.check()


class _EqualityClasses:
    """`representative` and `sizes` by code; a constant without equals is a class of its own."""

    def __init__(self, pairs: Codes, universe: int) -> None:
        self.representative = np.arange(universe, dtype=np.uint32)
        np.minimum.at(self.representative, pairs[:, 0], pairs[:, 1])
        self._members = np.argsort(self.representative, kind="stable").astype(np.uint32)
        self.sizes = np.bincount(self.representative, minlength=universe)
        self._starts = np.cumsum(self.sizes) - self.sizes

    def members_of(self, rows: Codes) -> Codes:
        """Return all rows with members of the classes that the given rows represent."""
        for place in range(rows.shape[1]):
            counts = self.sizes[rows[:, place]]
            ends = np.cumsum(counts)
            number = np.arange(ends[-1]) - np.repeat(ends - counts, counts)
            firsts = np.repeat(self._starts[rows[:, place]], counts)
            rows = np.repeat(rows, counts, axis=0)
            rows[:, place] = self._members[firsts + number]
        return rows
