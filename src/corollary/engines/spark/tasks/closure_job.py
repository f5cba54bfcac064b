"""A closure inside tasks: each writes the pairs of its own ends, over a copy of all edges."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from corollary.analysis import ModuleKind
from corollary.engines.embedded.relation import Codes
from corollary.engines.embedded.universe import may_equal_others
from corollary.engines.spark.tasks.closure_kernels import closure_pieces, component_pieces
from corollary.engines.spark.tasks.task_files import PIECE, Manifest, NodeRecord, WrittenFile, write_file
from corollary.engines.spark.tasks.task_job import RELATION
from corollary.engines.spark.terms.ids import kinds
from corollary.engines.spark.terms.task_universe import TaskUniverse

EDGES, OWN, OWN_ENDS = 0, 1, 2
EQUAL_CONSTANTS = "different constants may be equal, and its guard compares values"


@dataclass(frozen=True)
class ClosureJob:
    """The function of a `mapInArrow` stage over pairs: relation 0 are all edges, 1 the facts whose kept end is this task's.

    For a symmetric closure, relations 1 and 2 name this task's constants in their first and second column.
    """

    kind: ModuleKind
    predicate: str
    guarded: bool
    directory: str

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        started = time.perf_counter()
        record = NodeRecord(0, self.kind.value)
        manifest = Manifest(nodes=[record])
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
            path, rows = write_file(self.directory, "closure", _batches(pieces, terms))
            if rows:
                manifest.files.append(WrittenFile(0, self.predicate, path, rows))
        record.seconds = time.perf_counter() - started
        yield manifest.batch()

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
