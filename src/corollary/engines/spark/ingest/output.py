"""The output of a load: rows of every kind from the tasks, stored in the workspace, or on the driver for a small file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import reduce
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import pyarrow as pa

from corollary.engines.spark.ingest.rows import RowKind, kind_of, row_fields, spark_schema
from corollary.engines.spark.relations import Frame, LocalFrame, column_names, empty_frame
from corollary.engines.spark.terms.first_rows import first_rows
from corollary.engines.spark.terms.task_universe import TERM_FIELDS
from corollary.engines.spark.watched import seen_by
from corollary.engines.spark_session.arrow_frames import rows_of_table

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from corollary.engines.spark.context import Context

_TERM_COLUMNS = ("c0", "s0", "s1", "s2")
_WRITING = {
    "compression": "lz4",  # it is read once or twice, soon
    # Almost all of these values are distinct; without a dictionary Parquet need not find that out.
    **{f"parquet.enable.dictionary#{name}": "false" for name in ("c0", "c2", "s0", "s1")},
}


class OutputTask(Protocol):
    """A function for `mapInArrow` that returns rows of the schema for `width` columns of facts."""

    @property
    def width(self) -> int: ...

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]: ...


class Output(Protocol):
    """`width` columns of facts; `counts` of the rows of each kind, including rejected rows that are not listed."""

    width: int
    counts: dict[RowKind, int]

    def facts(self) -> Frame:
        """Return the distinct facts."""
        ...

    def rows(self, kind: RowKind, columns: list[str], limit: int) -> list[tuple[Any, ...]]: ...

    def discard(self) -> None:
        """Release the output, which is not read any more."""
        ...


class StoredOutput:
    """The output of Spark tasks, written to the workspace; `frame` has the rows of all kinds."""

    def __init__(self, context: Context, source: DataFrame, task: OutputTask) -> None:
        from pyspark.sql import Observation
        from pyspark.sql import functions as F  # noqa: N812 (its usual name)

        self.width = task.width
        self._context = context
        schema = spark_schema(task.width)
        kind = F.col("kind")
        counts = [F.count(F.when(kind == int(one), 1)).alias(one.name) for one in RowKind]
        unlisted = F.sum(F.when(kind == int(RowKind.UNLISTED), F.col("c2"))).alias("unlisted")
        is_open = F.sum(F.when(kind == int(RowKind.BLOCK), F.col("c3"))).alias("open")
        observed = Observation()
        rows = source.mapInArrow(task, schema).observe(observed, *counts, unlisted, is_open)
        self._path = context.workspace.place("ingest")
        try:
            rows.write.options(**_WRITING).parquet(self._path)
        except BaseException:
            self.discard()
            raise
        self.frame = context.spark.read.schema(schema).parquet(self._path)
        found = seen_by(observed)
        self.counts = {one: int(found.get(one.name) or 0) for one in RowKind}
        self.counts[RowKind.REJECT] += int(found.get("unlisted") or 0)
        self.open_blocks = int(found.get("open") or 0)

    def of_kind(self, kind: RowKind, columns: Iterable[str]) -> DataFrame:
        return self.frame.where(f"kind = {int(kind)}").select(*columns)

    def facts(self) -> Frame:
        if not self.counts[RowKind.FACT]:
            return empty_frame(self._context.spark, self.width)
        return Frame(self.of_kind(RowKind.FACT, column_names(self.width)).distinct(), self.width)

    def terms(self) -> DataFrame:
        return self.of_kind(RowKind.TERM, _TERM_COLUMNS).toDF(*TERM_FIELDS.names)

    def rows(self, kind: RowKind, columns: list[str], limit: int) -> list[tuple[Any, ...]]:
        return [tuple(row) for row in self.of_kind(kind, columns).limit(limit).collect()]

    def discard(self) -> None:
        self._context.workspace.remove(self._path)


class LocalOutput:
    """The output of the driver: facts of programs and of Python, and small files."""

    def __init__(self, context: Context, batches: Iterable[pa.RecordBatch], width: int, rejected: int = 0) -> None:
        self.width = width
        self._context = context
        self._fields = row_fields(width)
        self._batches: dict[RowKind, list[pa.RecordBatch]] = {kind: [] for kind in RowKind}
        for batch in batches:
            if batch.num_rows:
                self._batches[kind_of(batch)].append(batch)
        self.counts = {kind: sum(batch.num_rows for batch in found) for kind, found in self._batches.items()}
        self.counts[RowKind.REJECT] += rejected

    def _of_kind(self, kind: RowKind) -> pa.Table:
        return pa.Table.from_batches(self._batches[kind], self._fields)

    def facts(self) -> Frame:
        names = column_names(self.width)
        table = self._of_kind(RowKind.FACT).select(names)
        if not table.num_rows:
            return empty_frame(self._context.spark, self.width)
        is_first = first_rows(np.column_stack([column.to_numpy() for column in table.columns]))
        if not is_first.all():
            table = table.filter(pa.array(is_first))
        return LocalFrame(self._context.spark, table, self.width)

    def terms(self) -> pa.Table:
        return self._of_kind(RowKind.TERM).select(list(_TERM_COLUMNS)).rename_columns(TERM_FIELDS.names)

    def rows(self, kind: RowKind, columns: list[str], limit: int) -> list[tuple[Any, ...]]:
        table = self._of_kind(kind).select(columns).slice(0, limit)
        return list(zip(*(column.to_pylist() for column in table.columns), strict=True))

    def discard(self) -> None:
        pass


def terms_of(context: Context, outputs: Iterable[Output]) -> DataFrame | pa.Table | None:
    """Return the rows of the universe from loads, as a table if the driver has all of them; None if there are none."""
    found = list(outputs)
    frames = [one.terms() for one in found if isinstance(one, StoredOutput) and one.counts[RowKind.TERM]]
    tables = [one.terms() for one in found if isinstance(one, LocalOutput) and one.counts[RowKind.TERM]]
    if tables and not frames:
        return pa.concat_tables(tables)
    if tables:
        frames.append(rows_of_table(context.spark, pa.concat_tables(tables)))
    return reduce(lambda left, right: left.union(right), frames) if frames else None
