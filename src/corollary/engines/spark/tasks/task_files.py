"""The output of a task: Parquet files in the workspace, and one line of JSON that names them.

Millions of rows need not pass through Java to reach a file. A file counts only if the output of a successful task names
it, so a task that fails, or runs twice, leaves at most a file that nobody reads.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from corollary.engines.spark.failures import FailureReport, failure_of
from corollary.engines.spark.relations import COUNT, Frame, id_schema
from corollary.engines.spark.strategies.jobs import NodeJob, NodeOutcome
from corollary.engines.spark.terms.task_universe import TERM_SCHEMA

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

    from corollary.engines.spark.context import Context

MANIFEST = pa.schema([("manifest", pa.string())])
MANIFEST_SCHEMA = "manifest string"
ROW_GROUP = 1 << 20
PIECE = 1 << 19
"""Rows that are in memory as Arrow at the same time."""


@dataclass
class WrittenFile:
    """Facts of one predicate that one hyper-node derived; `node` is its number in the job.

    `is_new`: no other owner had them before; `counted`: all facts of the hyper-node are there, with their counts.
    """

    node: int
    predicate: str
    path: str
    rows: int
    is_new: bool = True
    counted: bool = False


@dataclass
class NodeRecord:
    """The cost of evaluating a hyper-node in one task; `unfinished` is the reason if the task stopped early."""

    node: int
    detail: str = ""
    rounds: int = 0
    instances: int = 0
    seconds: float = 0.0
    unfinished: str | None = None


@dataclass
class TaskManifest:
    """Everything that one task reports."""

    files: list[WrittenFile] = field(default_factory=list)
    nodes: list[NodeRecord] = field(default_factory=list)
    terms: str | None = None
    failure: FailureReport | None = None
    """An error in the program or its data."""

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
    """Write these batches, which all have the schema of the first, as one Parquet file; return its path and number of rows."""
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


# -- task outputs ------------------------------------------------------------------------------------------------------

# The outputs of tasks as frames: the driver reads manifests, never facts.


class FileFrame(Frame):
    """Rows in files, which Spark opens only on use: most results of a small program are never read."""

    def __init__(
        self,
        spark: SparkSession,
        paths: Sequence[str],
        arity: int,
        rows: int,
        *,
        counted: bool = False,
        plain: bool = True,
    ) -> None:
        """Describe rows in files; `counted`: they have numbers of derivations; `plain`: the files have no such column."""
        schema = id_schema(arity) + (f", {COUNT} long" if counted else "")
        object.__setattr__(self, "arity", arity)
        object.__setattr__(self, "rows", rows)
        object.__setattr__(self, "files", tuple(paths) if plain else ())
        object.__setattr__(self, "lies_in", tuple(paths))
        object.__setattr__(self, "parts", ())
        object.__setattr__(self, "_read", lambda: spark.read.schema(schema).parquet(*paths))

    def __getattr__(self, name: str) -> Any:
        if name != "df":
            raise AttributeError(name)
        object.__setattr__(self, "df", self._read())
        return self.df


def run_tasks(
    df: DataFrame, function: Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]
) -> list[TaskManifest]:
    """Run a function over the partitions; return one manifest per task."""
    return [TaskManifest.read(row[0]) for row in df.mapInArrow(function, MANIFEST_SCHEMA).collect()]


def task_directory(context: Context) -> str:
    return f"{context.workspace.path}/tasks"


def outcomes_of(manifests: Sequence[TaskManifest], jobs: Sequence[NodeJob], spark: SparkSession) -> list[NodeOutcome]:
    """Return the outcome of each hyper-node that a task evaluated; new constants are with the last one."""
    for manifest in manifests:
        if manifest.failure is not None:
            raise failure_of(*manifest.failure, (rule for job in jobs for rule in job.rules))
    files = [file for manifest in manifests for file in manifest.files]
    records = [record for manifest in manifests for record in manifest.nodes]
    outcomes = []
    for number, job in enumerate(jobs):
        mine = [record for record in records if record.node == number]
        if mine:
            outcomes.append(_outcome(mine, [file for file in files if file.node == number], job, spark))
    paths = [manifest.terms for manifest in manifests if manifest.terms]
    if outcomes and paths:
        outcomes[-1].terms.append(spark.read.schema(TERM_SCHEMA).parquet(*paths))
    return outcomes


def _outcome(
    records: Sequence[NodeRecord], files: Sequence[WrittenFile], job: NodeJob, spark: SparkSession
) -> NodeOutcome:
    facts: dict[str, Frame] = {}
    counted: dict[str, Frame] = {}
    for predicate, arity in job.heads.items():
        mine = [file for file in files if file.predicate == predicate]
        for chosen, found in (
            ([file for file in mine if file.is_new], facts),
            ([file for file in mine if file.counted], counted),
        ):
            if chosen:
                paths, rows = [file.path for file in chosen], sum(file.rows for file in chosen)
                plain = not any(file.counted for file in chosen)
                found[predicate] = FileFrame(spark, paths, arity, rows, counted=found is counted, plain=plain)
    unfinished = [record.unfinished for record in records if record.unfinished]
    return NodeOutcome(
        facts,
        rounds=max(record.rounds for record in records),
        instances=sum(record.instances for record in records),
        detail="+".join(dict.fromkeys(record.detail for record in records)),
        unfinished=unfinished[0] if unfinished else None,
        seconds=max(record.seconds for record in records),
        counted=counted,
    )
