"""Closures inside a task, in blocks that fit into memory, written out in pieces.

The embedded engine keeps one row of bits per component over all columns and writes all pairs at once. Here the columns (the
ends that every fact of a closure keeps) are taken block by block, and what was known before is left out while writing.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeAlias

import numpy as np
from numba import njit

from corollary.engines.embedded import closure as embedded
from corollary.engines.embedded.relation import Codes

Array: TypeAlias = np.ndarray[Any, Any]

BLOCK_BYTES = 256 << 20


def closure_pieces(
    step: Codes, seeds: Codes, universe: int, *, guarded: bool, piece: int, block_bytes: int = BLOCK_BYTES
) -> Iterator[Codes]:
    """The new pairs of `p(X, Z) :- step(X, Y), p(Y, Z)` over seeds, at most `piece` rows at a time.

    With `guarded`, no reflexive pair is new.
    """
    nodes, node_of = embedded.number_codes([step[:, 0], step[:, 1], seeds[:, 0]], universe)
    offsets, targets = embedded._adjacency(node_of[step[:, 0]], node_of[step[:, 1]], len(nodes))
    component, count = embedded._components(offsets, targets)
    columns, column_of = embedded.number_codes([seeds[:, 1]], universe)
    known_from, known = embedded._adjacency(node_of[seeds[:, 0]], column_of[seeds[:, 1]], len(nodes))
    own = column_of[nodes].astype(np.int64) if guarded else np.full(len(nodes), -1, np.int64)
    own[own == 0xFFFFFFFF] = -1
    width = max(64, min(block_bytes // (8 * max(1, count)) * 64, (len(columns) + 63) // 64 * 64))
    rows, seed_columns = component[node_of[seeds[:, 0]]], column_of[seeds[:, 1]].astype(np.int64)
    for start in range(0, len(columns), width):
        stop = min(start + width, len(columns))
        bits = np.zeros((count, (stop - start + 63) // 64), np.uint64)
        chosen = (seed_columns >= start) & (seed_columns < stop)
        embedded.set_bits(bits, rows[chosen], seed_columns[chosen] - start)
        embedded._close(bits, offsets, targets, component)
        state = np.zeros(2, np.int64)
        marks = np.full(stop - start, -1, np.int64)
        while state[0] < len(nodes):
            buffer = np.empty((piece, 2), np.uint32)
            size = _emit(bits, component, nodes, columns, start, known_from, known, own, marks, state, buffer)
            if size:
                yield buffer[:size]


def component_pieces(edges: Codes, sources: Array, universe: int, *, guarded: bool, piece: int) -> Iterator[Codes]:
    """The new pairs of the symmetric-transitive closure of edges whose first constant is marked in `sources`."""
    nodes, node_of = embedded.number_codes([edges[:, 0], edges[:, 1]], universe)
    labels = embedded._connected(node_of[edges[:, 0]], node_of[edges[:, 1]], len(nodes))
    order = np.argsort(labels, kind="stable")
    sizes = np.bincount(labels) if len(labels) else np.zeros(0, np.int64)
    starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    known_from, known = embedded._adjacency(node_of[edges[:, 0]], node_of[edges[:, 1]], len(nodes))
    chosen = np.flatnonzero(sources[nodes])
    state = np.zeros(2, np.int64)
    marks = np.full(len(nodes), -1, np.int64)
    while state[0] < len(chosen):
        buffer = np.empty((piece, 2), np.uint32)
        size = _emit_members(chosen, labels, order, starts, nodes, known_from, known, guarded, marks, state, buffer)
        if size:
            yield buffer[:size]


@njit(cache=True, nogil=True)
def _emit(
    bits: Any, component: Any, nodes: Any, columns: Any, first: int, known_from: Any, known: Any, own: Any, marks: Any,
    state: Any, buffer: Any,
) -> int:  # fmt: skip
    """Writes pairs until the buffer is full; `state` is the node and the word to go on from."""
    at, width, words = 0, len(marks), bits.shape[1]
    node, word = state[0], state[1]
    while node < len(component):
        if word == 0:
            for k in range(known_from[node], known_from[node + 1]):
                column = np.int64(known[k]) - first
                if 0 <= column < width:
                    marks[column] = node
            column = own[node] - first
            if 0 <= column < width:
                marks[column] = node
        row = component[node]
        while word < words:
            if at + 64 > buffer.shape[0]:
                state[0], state[1] = node, word
                return at
            left = bits[row, word]
            while left != np.uint64(0):
                lowest = left & (~left + np.uint64(1))
                column = word * 64 + np.int64(embedded._popcount(lowest - np.uint64(1)))
                left ^= lowest
                if marks[column] != node:
                    buffer[at, 0] = nodes[node]
                    buffer[at, 1] = columns[first + column]
                    at += 1
            word += 1
        node, word = node + 1, 0
    state[0], state[1] = node, 0
    return at


@njit(cache=True, nogil=True)
def _emit_members(
    chosen: Any, labels: Any, order: Any, starts: Any, nodes: Any, known_from: Any, known: Any, guarded: bool, marks: Any,
    state: Any, buffer: Any,
) -> int:  # fmt: skip
    at = 0
    place, done = state[0], state[1]
    while place < len(chosen):
        node = chosen[place]
        if done == 0:
            for k in range(known_from[node], known_from[node + 1]):
                marks[known[k]] = node
            if guarded:
                marks[node] = node
        start, stop = starts[labels[node]], starts[labels[node] + 1]
        while start + done < stop:
            if at == buffer.shape[0]:
                state[0], state[1] = place, done
                return at
            member = order[start + done]
            if marks[member] != node:
                buffer[at, 0] = nodes[node]
                buffer[at, 1] = nodes[member]
                at += 1
            done += 1
        place, done = place + 1, 0
    state[0], state[1] = place, 0
    return at
