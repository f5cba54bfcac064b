"""Whether a directory is the same one on all machines of a cluster.

Spark believes that it is. Where every machine has a disk of its own under that path, a table that tasks wrote lacks the parts of
the other machines, and nothing says so. So the tasks look for a file of the driver at the start, and the driver counts the rows
that arrived.
"""

from __future__ import annotations

import socket
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_MARKER = "driver"
_TASKS_PER_SLOT = 4
"""More tasks than run at once, so that most likely every executor gets one."""


@dataclass(frozen=True)
class _Looks:
    marker: str

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for _ in batches:
            pass
        if not Path(self.marker).exists():
            yield pa.RecordBatch.from_pydict({"machine": [socket.gethostname()]})


def machines_without(spark: SparkSession, directory: Path) -> list[str]:
    """The machines whose tasks do not see a directory of the driver."""
    marker = directory / _MARKER
    marker.write_text("of the driver\n", encoding="utf-8")
    try:
        tasks = _TASKS_PER_SLOT * spark.sparkContext.defaultParallelism
        rows = spark.range(0, tasks, 1, tasks).mapInArrow(_Looks(str(marker)), "machine string")
        return sorted({row["machine"] for row in rows.collect()})
    finally:
        marker.unlink(missing_ok=True)


def rows_that_arrived(directory: Path) -> int:
    """The rows in the Parquet files of a directory, by what the files say of themselves."""
    import pyarrow.parquet as parquet

    return sum(parquet.read_metadata(part).num_rows for part in directory.glob("part-*"))
