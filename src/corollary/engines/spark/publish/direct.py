"""Large relations of integers: tasks copy the files of the workspace, and no row goes through Java.

Whether a relation holds integers only turns out on the way. Where it does not, what was written is removed, and Spark's own
writer does it.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from corollary.engines.spark.publish.decoded import Decoded, distinct_names
from corollary.engines.spark.publish.parts import check_arrived, part_files
from corollary.engines.spark.publish.small import DRIVER_ROWS
from corollary.engines.spark.relations import Frame
from corollary.engines.spark.terms.ids import Tag
from corollary.io.atomic import remove

_TOLD = pa.schema([("file", pa.string()), ("rows", pa.int64())])
_PIECE = 1 << 19


def write_directly(rows: Decoded, folder: Path) -> bool:
    """Write a relation into a folder if its rows are in files and all of them are integers; return False otherwise."""
    import pyarrow.parquet as parquet

    parts = rows.frame.parts or (rows.frame,)
    files = [file for part in parts for file in part.files]
    others = [part for part in parts if not part.files]
    if not files or any(part.rows is None or part.rows > DRIVER_ROWS for part in others):
        return False
    folder.mkdir()
    names = distinct_names(rows.names)
    copied = _copied(rows, files, folder, names)
    copied += [_write_part(folder, names, [_table_of(part)]) for part in others]
    if any(file is None for file, _ in copied):
        remove(folder)
        return False
    written = {file for file, _ in copied}
    for part in part_files(folder):
        if part.name not in written:
            part.unlink()  # of a task that ran twice
    arrived = sum(parquet.read_metadata(part).num_rows for part in part_files(folder))
    check_arrived(folder, sum(count for _, count in copied), arrived, "rows")
    return True


def _copied(rows: Decoded, files: Sequence[str], folder: Path, names: Sequence[str]) -> list[tuple[str | None, int]]:
    """A task for each file; returns what they report."""
    numbers = rows.context.spark.range(0, len(files), 1, len(files))
    reports = numbers.mapInArrow(_Copying(files, str(folder.absolute()), names), "file string, rows long").collect()
    return [(row["file"], row["rows"]) for row in reports]


@dataclass(frozen=True)
class _Copying:
    files: Sequence[str]
    folder: str
    names: Sequence[str]

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for number in batch.column(0).to_pylist():
                file, count = _write_part(Path(self.folder), self.names, _read(self.files[number]))
                yield pa.RecordBatch.from_arrays([pa.array([file], pa.string()), pa.array([count])], schema=_TOLD)


def _read(address: str) -> Iterator[pa.RecordBatch]:
    import pyarrow.fs as fs
    import pyarrow.parquet as parquet

    system, path = fs.FileSystem.from_uri(address)
    with system.open_input_file(path) as stream, parquet.ParquetFile(stream) as file:
        yield from file.iter_batches(_PIECE)


def _table_of(part: Frame) -> pa.Table:
    return part.df.select(*part.columns).toArrow()


def _write_part(
    folder: Path, names: Sequence[str], pieces: Iterator[pa.RecordBatch] | Sequence[pa.Table]
) -> tuple[str | None, int]:
    """Write ids as integers; return the name of the file and its number of rows, without a name where some are none."""
    import pyarrow.parquet as parquet

    schema = pa.schema([(name, pa.int64()) for name in names])
    path, count = folder / f"part-{uuid.uuid4().hex}.parquet", 0
    with parquet.ParquetWriter(path, schema) as writer:
        for piece in pieces:
            columns: list[np.ndarray[Any, Any]] = [column.to_numpy() for column in piece.columns[: len(names)]]
            if any(int(np.bitwise_or.reduce(column)) & 3 != Tag.INTEGER for column in columns if len(column)):
                return None, 0
            writer.write_batch(pa.RecordBatch.from_arrays([pa.array(column >> 2) for column in columns], schema=schema))
            count += piece.num_rows
    return path.name, count
