"""The task that reads columns: batches of a data frame as rows of ids."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from corollary.diagnostics import Diagnostic, ProgramError, catalogue
from corollary.engines.spark.ingest.encoding import TaskEncoder
from corollary.engines.spark.ingest.rows import RowMaker
from corollary.engines.spark.ingest.text_task import THIS_FILE
from corollary.engines.spark.terms.ids import NO_COLLISIONS, CollisionTable
from corollary.io.rejects import LISTED
from corollary.language.cells import MEANING

_ROWS = 1 << 17  # that are encoded together


@dataclass(frozen=True)
class ReadColumns:
    """How to read columns. `meanings` are those of texts; `lists_nulls` says that rows with a null are listed, not only counted.

    `is_unit`: the one column says that a predicate without arguments holds.
    """

    names: tuple[str, ...]
    meanings: tuple[bytes | None, ...]
    lists_nulls: bool
    is_unit: bool = False
    collisions: CollisionTable = NO_COLLISIONS

    @property
    def width(self) -> int:
        return 0 if self.is_unit else len(self.names)

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        maker = RowMaker(self.width)
        encoder = TaskEncoder(maker, self.collisions)
        listed = 0
        for table in _tables(batches):
            try:
                wrong, reasons = _nulls(table, self.names)
                if len(wrong):
                    here = reasons[: max(0, LISTED - listed)] if self.lists_nulls else []
                    listed += len(here)
                    yield maker.rejects(0, 0, [0] * len(here), here, [""] * len(here))
                    if len(wrong) > len(here):
                        yield maker.unlisted(0, 0, len(wrong) - len(here))
                    kept = np.ones(table.num_rows, np.bool_)
                    kept[wrong] = False
                    table = table.filter(pa.array(kept))
                if table.num_rows:
                    yield from encoder.table(self._described(table))
            except ValueError as error:
                yield maker.errors(0, ProgramError([Diagnostic(catalogue.BAD_ROW, f"{THIS_FILE}: {error}")]))
                return
        yield from encoder.finish()

    def _described(self, table: pa.Table) -> pa.Table:
        if self.is_unit:
            return table.select([])
        fields, columns = [], []
        for place, (name, meaning) in enumerate(zip(self.names, self.meanings, strict=True)):
            column = in_utc(table.column(place))
            fields.append(pa.field(name, column.type, metadata={MEANING: meaning} if meaning else None))
            columns.append(column)
        return pa.Table.from_arrays(columns, schema=pa.schema(fields))


def _tables(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.Table]:
    held: list[pa.RecordBatch] = []
    count = 0
    for batch in batches:
        held.append(batch)
        count += batch.num_rows
        if count >= _ROWS:
            yield pa.Table.from_batches(held).combine_chunks()
            held, count = [], 0
    if held:
        yield pa.Table.from_batches(held).combine_chunks()


def _nulls(table: pa.Table, names: tuple[str, ...]) -> tuple[np.ndarray[tuple[int], np.dtype[np.int64]], list[str]]:
    """The rows with a null, and for each of them why it is rejected."""
    first = np.full(table.num_rows, len(names))
    for place in reversed(range(len(names))):
        column = table.column(place)
        if column.null_count:
            first[pc.is_null(column).to_numpy().astype(np.bool_)] = place
    wrong = np.flatnonzero(first < len(names))
    return wrong, [f"column '{names[place]}' is null" for place in first[wrong].tolist()]


def in_utc(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """A point in time has the time zone of the session, which is none of its own."""
    kind = column.type
    if pa.types.is_timestamp(kind) and kind.tz not in (None, "UTC"):
        return column.cast(pa.timestamp(kind.unit, "UTC"))
    return column
