"""The rows that the tasks of a load return: facts, constants, rejected rows and statistics of blocks, in one schema.

A task has one output, so these rows share their columns; `kind` tells them apart. In Parquet a column without values
takes no space, and the statistics of its row groups let a reader of one kind skip the others.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import IntEnum
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from corollary.diagnostics import Diagnostic, ProgramError, Span
from corollary.diagnostics.catalogue import CATALOGUE
from corollary.engines.embedded.relations.relation import Codes
from corollary.engines.embedded.values.encoder import encode_table
from corollary.engines.embedded.values.universe import Universe
from corollary.engines.spark.terms.ids import CollisionTable
from corollary.engines.spark.terms.task_universe import TaskUniverse
from corollary.io.rejects import LISTED, Rejects

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

# -- rejected ----------------------------------------------------------------------------------------------------------

# Rejected rows of a load: a table of file, line, reason and text; the first ones also on the driver.

SCHEMA = "file string, line long, reason string, text string"


def collected(table: DataFrame, total: int, source: str) -> Rejects:
    """Return the first rejected rows of each file by line, up to the limit of a report, and the counts of all.

    `total` includes those that no task listed, which are counted for `source`.
    """
    from pyspark.sql import functions as F  # noqa: N812

    rejects = Rejects()
    shown = table.orderBy("file", "line").limit(LISTED).collect()
    for row in shown:
        rejects.add(row["file"], row["line"], row["reason"], row["text"])
    if total > len(shown):
        counts = {row["file"]: row["rows"] for row in table.groupBy("file").agg(F.count("*").alias("rows")).collect()}
        for file, count in counts.items():
            rejects.count(file, count - rejects.by_file.get(file, 0))
        if more := total - len(rejects):
            rejects.count(source, more)
    return rejects


def table_of(spark: SparkSession, rejects: Rejects) -> DataFrame:
    """Return rejected rows of the driver as a data frame."""
    rows = [(one.file, one.line, one.reason, one.text) for one in rejects]
    return spark.createDataFrame(rows, SCHEMA)


# -- encoding ----------------------------------------------------------------------------------------------------------

# Rows of constants as rows of ids, inside a task or on the driver: a universe grows with what is read, up to a limit.

LARGEST_UNIVERSE = 512 << 20
"""Bytes of a task's universe after which its constants are written and dropped."""


class TaskEncoder:
    """Encodes tables as facts; at the end, it returns rows of the universe for their constants, each of them once."""

    def __init__(self, maker: RowMaker, collisions: CollisionTable) -> None:
        self._maker = maker
        self.collisions = collisions
        self._universe = TaskUniverse(collisions)

    def table(self, table: pa.Table) -> Iterator[pa.RecordBatch]:
        yield from self.codes(encode_table(self._universe.universe, table))

    def use(self, maker: RowMaker) -> None:
        """Make rows of another width from now on."""
        self._maker = maker

    @property
    def universe(self) -> Universe:
        return self._universe.universe

    def codes(self, codes: Codes) -> Iterator[pa.RecordBatch]:
        """Yield facts from codes of the current universe."""
        yield self._maker.facts(self._universe.ids(codes))
        if self._universe.universe.nbytes > LARGEST_UNIVERSE:
            yield from self.finish()
            self._universe = TaskUniverse(self.collisions)

    def finish(self) -> Iterator[pa.RecordBatch]:
        """Yield the constants that have not been returned yet."""
        yield from self._maker.terms(self._universe.new_terms())


# -- rows --------------------------------------------------------------------------------------------------------------

_NUMBERS, _TEXTS = 4, 3  # columns that rows of the other kinds need


class RowKind(IntEnum):
    """The columns of each kind; an unknown number is -1, an unknown text ""."""

    FACT = 0
    """c0 … the ids of the arguments."""
    TERM = 1
    """c0 the id, s0 … the forms of a constant: a row of the universe."""
    REJECT = 2
    """c0 the file, c1 where its block starts, c2 the line in the block, from 1; s0 the reason, s1 the text."""
    UNLISTED = 3
    """c0 the file, c1 its block, c2 how many rows were rejected beyond those that are listed."""
    BLOCK = 4
    """c0 the file, c1 where the block starts, c2 its number of lines, c3 is 1 where it ends inside a quote."""
    ERROR = 5
    """c0 the file, s0 the code of a diagnostic, s1 its message, s2 its hint: the whole load must stop."""


def numbers_of(arity: int) -> int:
    """Return how many number columns a load of facts of this arity has."""
    return max(arity, _NUMBERS)


def row_fields(arity: int) -> pa.Schema:
    numbers = [(f"c{place}", pa.int64()) for place in range(numbers_of(arity))]
    return pa.schema([("kind", pa.int8()), *numbers, *((f"s{place}", pa.string()) for place in range(_TEXTS))])


def spark_schema(arity: int) -> str:
    """Return the schema in the notation of Spark's functions."""
    names = {"kind": "byte", **{f"c{place}": "long" for place in range(numbers_of(arity))}}
    names |= {f"s{place}": "string" for place in range(_TEXTS)}
    return ", ".join(f"{name} {kind}" for name, kind in names.items())


class RowMaker:
    """Makes batches of the schema for facts of one arity; all rows of a batch are of one kind."""

    def __init__(self, arity: int) -> None:
        self._schema = row_fields(arity)
        self._numbers = numbers_of(arity)

    def facts(self, ids: np.ndarray[Any, np.dtype[np.int64]]) -> pa.RecordBatch:
        """Return rows of ids; a fact without arguments is a single 0."""
        columns = [pa.array(np.ascontiguousarray(ids[:, place])) for place in range(ids.shape[1])]
        return self._batch(RowKind.FACT, len(ids), columns or [pa.array(np.zeros(len(ids), np.int64))], [])

    def terms(self, terms: pa.Table) -> list[pa.RecordBatch]:
        return [
            self._batch(RowKind.TERM, batch.num_rows, [batch.column(0)], [batch.column(place) for place in (1, 2, 3)])
            for batch in terms.to_batches(max_chunksize=1 << 18)
        ]

    def rejects(self, file: int, block: int, lines: Sequence[int], reasons: Sequence[str], texts: Sequence[str]) -> Any:
        numbers = [self._same(file, len(lines)), self._same(block, len(lines)), pa.array(lines, pa.int64())]
        return self._batch(RowKind.REJECT, len(lines), numbers, [pa.array(reasons, pa.string()), _texts(texts)])

    def unlisted(self, file: int, block: int, count: int) -> pa.RecordBatch:
        return self._batch(RowKind.UNLISTED, 1, [self._same(number, 1) for number in (file, block, count)], [])

    def block(self, file: int, block: int, lines: int, *, is_open: bool) -> pa.RecordBatch:
        return self._batch(RowKind.BLOCK, 1, [self._same(number, 1) for number in (file, block, lines, is_open)], [])

    def errors(self, file: int, error: ProgramError) -> pa.RecordBatch:
        found = error.diagnostics
        parts = [[one.code for one in found], [one.message for one in found], [one.hint or "" for one in found]]
        texts = [_texts(part) for part in parts]
        return self._batch(RowKind.ERROR, len(found), [self._same(file, len(found))], texts)

    def _same(self, number: int, count: int) -> pa.Array:
        return pa.array(np.full(count, number, np.int64))

    def _batch(self, kind: RowKind, count: int, numbers: list[pa.Array], texts: list[pa.Array]) -> pa.RecordBatch:
        kinds = pa.array(np.full(count, kind, np.int8))
        numbers += [pa.nulls(count, pa.int64())] * (self._numbers - len(numbers))
        texts = [text.cast(pa.string()) for text in texts] + [pa.nulls(count, pa.string())] * (_TEXTS - len(texts))
        return pa.RecordBatch.from_arrays([kinds, *numbers, *texts], schema=self._schema)


def kind_of(batch: pa.RecordBatch) -> RowKind:
    """Return the kind of the rows of a nonempty batch."""
    return RowKind(batch.column(0)[0].as_py())


def _texts(texts: Sequence[str]) -> pa.Array:
    """Return texts, even from damaged data: their reader has replaced invalid UTF-8."""
    return pa.array(texts, pa.string())


def error_of(rows: Sequence[Sequence[Any]], span: Span | None = None) -> ProgramError:
    """Return the error for rows of code, message and hint, each of them once."""
    distinct = dict.fromkeys((code, message, hint) for code, message, hint in rows)
    return ProgramError([Diagnostic(CATALOGUE[code], message, span, hint or None) for code, message, hint in distinct])
