"""Sources that the driver reads itself, as the embedded engine does: facts of programs and of Python, and small files."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from corollary.diagnostics import Diagnostic, ProgramError, Span, catalogue
from corollary.engines.embedded.relations.relation import Codes
from corollary.engines.embedded.values.encoder import Encoder
from corollary.engines.spark.ingest.encoding import TaskEncoder
from corollary.engines.spark.ingest.output import LocalOutput, Output
from corollary.engines.spark.ingest.rejected import table_of
from corollary.engines.spark.ingest.rows import RowMaker
from corollary.io.options import ReadOptions
from corollary.io.read import read_pieces
from corollary.io.rejects import Rejects
from corollary.program import FactBlock

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from corollary.engines.spark.context import Context


class LocalSource:
    """Facts that `encode` makes with an encoder of the embedded engine; none of them is rejected."""

    def __init__(
        self, context: Context, name: str, encode: Callable[[Encoder], Codes], span: Span | None = None
    ) -> None:
        self._context = context
        self._encode = encode
        self.name = name
        self.span = span

    def run(self, encoder: TaskEncoder) -> LocalOutput:
        codes = self._codes(encoder)
        width = codes.shape[1]
        encoder.use(RowMaker(width))
        return LocalOutput(self._context, _all(encoder, codes), width, self._rejected)

    def _codes(self, encoder: TaskEncoder) -> Codes:
        try:
            return self._encode(Encoder(encoder.universe))
        except ValueError as error:
            raise ProgramError([Diagnostic(catalogue.BAD_ROW, f"{self.name}: {error}", self.span)]) from None

    @property
    def _rejected(self) -> int:
        return 0

    def errors(self, output: Output) -> list[tuple[str, str, str]]:
        return []

    def rejects(self, output: Output) -> tuple[Rejects, DataFrame]:
        return Rejects(), table_of(self._context.spark, Rejects())


def _all(encoder: TaskEncoder, codes: Codes) -> Iterator[pa.RecordBatch]:
    if len(codes):
        yield from encoder.codes(codes)
    yield from encoder.finish()


def python_facts(context: Context, predicate: str, facts: Any, arity: int | None) -> LocalSource:
    """Rows, tables and frames, as `KnowledgeBase.insert` takes them."""
    if not isinstance(facts, (list, tuple)) and iter(facts) is facts:
        facts = list(facts)  # it may be asked for twice
    return LocalSource(context, f"facts of '{predicate}'", lambda encoder: encoder.facts(facts, arity))


def written_facts(context: Context, facts: FactBlock) -> LocalSource:
    """Facts of a program's text."""
    return LocalSource(context, f"facts of '{facts.predicate}'", lambda encoder: encoder.rows(facts.rows, facts.arity))


class SmallFile(LocalSource):
    """A file of this machine that is read faster than a job of Spark starts."""

    def __init__(self, context: Context, path: Path, options: ReadOptions, arity: int | None) -> None:
        super().__init__(context, str(path), self._read, options.span)
        self._path, self._options, self._arity = path, options, arity
        self._rejects = Rejects()

    def _read(self, encoder: Encoder) -> Codes:
        """Many of these files may be read together: of each only codes stay, and what was rejected."""
        codes: list[Codes] = []
        for loaded in read_pieces(self._path, self._options, self._arity):
            self._rejects = loaded.rejects
            codes.append(encoder.table(loaded.table))
        return np.concatenate(codes)

    @property
    def _rejected(self) -> int:
        return len(self._rejects)

    def rejects(self, output: Output) -> tuple[Rejects, DataFrame]:
        return self._rejects, table_of(self._context.spark, self._rejects)
