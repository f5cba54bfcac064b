"""How a task gives back its facts: Parquet files in the workspace, and one line of JSON that names them.

Millions of rows need not go through Java to reach a file. A file counts only if the output of a task that succeeded names it,
so a task that fails, or runs twice, leaves at most a file that nobody reads.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from typing import Any

import pyarrow as pa

from corollary.engines.spark.failures import FailureReport

MANIFEST = pa.schema([("manifest", pa.string())])
MANIFEST_SCHEMA = "manifest string"
ROW_GROUP = 1 << 20
PIECE = 1 << 19
"""Rows that are in memory as Arrow at a time."""


@dataclass
class WrittenFile:
    """Facts of one predicate that one hyper-node derived; `node` is its number in the job.

    `is_new` tells that nobody had them before; `counted` that all facts of the hyper-node are there, with their counts.
    """

    node: int
    predicate: str
    path: str
    rows: int
    is_new: bool = True
    counted: bool = False


@dataclass
class NodeRecord:
    """The cost of evaluating a hyper-node in one task; `unfinished` says why the task stopped before its end."""

    node: int
    detail: str = ""
    rounds: int = 0
    instances: int = 0
    seconds: float = 0.0
    unfinished: str | None = None


@dataclass
class TaskManifest:
    """Everything that one task tells."""

    files: list[WrittenFile] = field(default_factory=list)
    nodes: list[NodeRecord] = field(default_factory=list)
    terms: str | None = None
    failure: FailureReport | None = None
    """A mistake of the user's."""

    def batch(self) -> pa.RecordBatch:
        return pa.RecordBatch.from_arrays([pa.array([json.dumps(asdict(self))])], schema=MANIFEST)

    @classmethod
    def read(cls, text: str) -> TaskManifest:
        parsed: dict[str, Any] = json.loads(text)
        failure = parsed["failure"]
        return cls(
            [WrittenFile(**one) for one in parsed["files"]],
            [NodeRecord(**one) for one in parsed["nodes"]],
            parsed["terms"],
            (failure[0], failure[1], failure[2]) if failure else None,
        )


def write_file(directory: str, name: str, batches: Iterable[pa.RecordBatch]) -> tuple[str, int]:
    """One Parquet file of these batches, which all have the schema of the first; its path and its number of rows."""
    import pyarrow.fs as fs
    import pyarrow.parquet as pq

    system, place = fs.FileSystem.from_uri(directory)
    system.create_dir(place)
    file = f"{name}-{uuid.uuid4().hex}.parquet"
    rows = 0
    writer = None
    with system.open_output_stream(f"{place}/{file}") as stream:
        try:
            for batch in batches:
                writer = writer or pq.ParquetWriter(stream, batch.schema, compression="snappy", write_statistics=False)
                writer.write_batch(batch, row_group_size=ROW_GROUP)
                rows += batch.num_rows
        finally:
            if writer is not None:
                writer.close()
    return f"{directory}/{file}", rows
