"""A closure inside tasks: each writes the pairs of its own ends, with a copy of all edges."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
from numba import njit

from corollary.analysis import ModuleKind
from corollary.diagnostics import ProgramError
from corollary.engines.embedded.closures import closure as embedded
from corollary.engines.embedded.relations.relation import Codes
from corollary.engines.embedded.values.universe import may_equal_others
from corollary.engines.spark.failures import failure_report
from corollary.engines.spark.tasks.task_files import PIECE, NodeRecord, TaskManifest, WrittenFile, write_file
from corollary.engines.spark.tasks.task_job import RELATION, TaskLimits
from corollary.engines.spark.terms.ids import kinds
from corollary.engines.spark.terms.task_universe import TaskUniverse
from corollary.reasoning.run import Run
from corollary.settings import Limits

EDGES, OWN, OWN_ENDS = 0, 1, 2
EQUAL_CONSTANTS = "different constants may be equal, and its guard compares values"


@dataclass(frozen=True)
class ClosureJob:
    """The function of a `mapInArrow` stage over pairs: relation 0 has all edges, 1 the facts whose kept end belongs to
    this task.

    For a symmetric closure, relations 1 and 2 have this task's constants in their first and second column.
    """

    kind: ModuleKind
    predicate: str
    guarded: bool
    directory: str
    limits: TaskLimits = field(default_factory=lambda: TaskLimits(Limits()))
    """The limits of the run; the pairs are the only facts that a task knows."""

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        started = time.perf_counter()
        record = NodeRecord(0, self.kind.value)
        manifest = TaskManifest(nodes=[record])
        given: dict[int, list[Codes]] = {EDGES: [], OWN: [], OWN_ENDS: []}
        terms = TaskUniverse()
        for batch in batches:
            numbers = batch.column(RELATION).to_numpy()
            ids = np.stack([batch.column("c0").to_numpy(), batch.column("c1").to_numpy()], axis=1)
            if self.guarded and may_equal_others(kinds(ids)):
                record.unfinished = EQUAL_CONSTANTS
            codes = terms.codes(ids)
            for number in np.unique(numbers).tolist():
                given[number].append(codes[numbers == number])
        if not record.unfinished:
            edges, own, ends = (_joined(given[number]) for number in (EDGES, OWN, OWN_ENDS))
            pieces = self._pieces(edges, own, ends, terms.universe.size)
            try:
                path, rows = write_file(self.directory, "closure", _batches(self._limited(pieces), terms))
            except ProgramError as error:
                manifest.failure, rows = failure_report(error), 0
            if rows:
                manifest.files.append(WrittenFile(0, self.predicate, path, rows))
        record.seconds = time.perf_counter() - started
        yield manifest.batch()

    def _limited(self, pieces: Iterator[Codes]) -> Iterator[Codes]:
        """Yield pieces up to the limits of the run."""
        run, facts = Run(self.limits.limits), self.limits.facts_beside
        for piece in pieces:
            facts += len(piece)
            run.check(facts)
            yield piece

    def _pieces(self, edges: Codes, own: Codes, ends: Codes, universe: int) -> Iterator[Codes]:
        if self.kind is ModuleKind.SYMMETRIC_TRANSITIVE:
            sources = np.zeros(universe, np.bool_)
            sources[own[:, 0]] = True
            sources[ends[:, 1]] = True
            return component_pieces(edges, sources, universe, guarded=self.guarded, piece=PIECE)
        if self.kind is ModuleKind.RIGHT_LINEAR:
            return closure_pieces(edges, own, universe, guarded=self.guarded, piece=PIECE)
        backwards = closure_pieces(edges[:, ::-1], own[:, ::-1], universe, guarded=self.guarded, piece=PIECE)
        return (piece[:, ::-1] for piece in backwards)


def _joined(pieces: list[Codes]) -> Codes:
    return np.concatenate(pieces) if pieces else np.empty((0, 2), np.uint32)


def _batches(pieces: Iterator[Codes], terms: TaskUniverse) -> Iterator[pa.RecordBatch]:
    ids = terms.ids(np.arange(terms.universe.size, dtype=np.uint32))
    for piece in pieces:
        yield pa.RecordBatch.from_arrays([pa.array(ids[piece[:, place]]) for place in (0, 1)], names=["c0", "c1"])


# Closures inside a task, in blocks that fit into memory, written in pieces.
#
# The embedded engine keeps one row of bits per component over all columns and writes all pairs at once. Here the
# columns (the ends that every fact of a closure keeps) are processed block by block, and known facts are left out while
# writing.


Array: TypeAlias = np.ndarray[Any, Any]

BLOCK_BYTES = 256 << 20


def closure_pieces(
    step: Codes, seeds: Codes, universe: int, *, guarded: bool, piece: int, block_bytes: int = BLOCK_BYTES
) -> Iterator[Codes]:
    """Yield the new pairs of `p(X, Z) :- step(X, Y), p(Y, Z)` over seeds, at most `piece` rows at a time.

    If `guarded`, reflexive pairs are left out.
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
            buffer = np.empty((max(piece, 64), 2), np.uint32)  # a word of 64 bits is always written completely
            size = _emit(bits, component, nodes, columns, start, known_from, known, own, marks, state, buffer)
            if size:
                yield buffer[:size]


def component_pieces(edges: Codes, sources: Array, universe: int, *, guarded: bool, piece: int) -> Iterator[Codes]:
    """Yield the new pairs of the symmetric-transitive closure of edges whose first constant is marked in `sources`."""
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
    """Write pairs until the buffer is full; `state` is the node and the word at which to continue."""
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
