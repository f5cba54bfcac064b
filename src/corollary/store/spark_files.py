"""Files of a store that executors write: each task brings its rows to the disk itself, and tells the driver the names."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from corollary.store.files import sync_folder, write_parquet

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_WRITTEN = pa.schema([("name", pa.string()), ("rows", pa.int64())])
_ROWS_PER_FILE = 1 << 22


def write_frame(df: DataFrame, folder: Path, stem: str) -> list[tuple[str, int]]:
    """The names and numbers of rows of new files in a folder that all machines share; they are on the disk."""
    folder.mkdir(parents=True, exist_ok=True)
    reports = df.mapInArrow(_writer(str(folder), stem), "name string, rows long").collect()
    sync_folder(folder)
    return [(row["name"], row["rows"]) for row in reports]


def _writer(folder: str, stem: str) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def write(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        waiting: list[pa.RecordBatch] = []
        for batch in batches:
            waiting.append(batch)
            if sum(one.num_rows for one in waiting) >= _ROWS_PER_FILE:
                yield _written(waiting, folder, stem)
                waiting = []
        if sum(one.num_rows for one in waiting):
            yield _written(waiting, folder, stem)

    return write


def _written(batches: list[pa.RecordBatch], folder: str, stem: str) -> pa.RecordBatch:
    table = pa.Table.from_batches(batches)
    file = write_parquet(Path(folder), stem, table)
    return pa.RecordBatch.from_arrays([pa.array([file.name]), pa.array([table.num_rows])], schema=_WRITTEN)
