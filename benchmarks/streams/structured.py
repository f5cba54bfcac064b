"""Structured Streaming into a materialisation of five million facts: how long a batch takes, and how many changes go through.

Each file is a batch: facts of the universities go with one, and come back with the next.
"""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks import ontology
from benchmarks.spark.inputs import universities_directory
from benchmarks.spark.maintenance import chosen_facts
from benchmarks.streams.record import BatchLatency, Outcome
from corollary import KnowledgeBase

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from corollary.streams.structured import SparkStream

_SCHEMA = "op string, predicate string, a1 string, a2 string"


def measure(outcome: Outcome, universities: int, sizes: tuple[int, ...], batches: int) -> None:
    """`batches` of each size, after two that warm up; an even number, so that everything is back at the end."""
    from corollary.engines.spark_session import start_session

    spark = start_session("benchmark")
    directory = universities_directory(universities)
    with KnowledgeBase(ontology.program(), engine=spark) as kb:
        kb.load_facts(directory)
        kb.materialise()
        facts = {name: kb.count(name) for name in kb.predicates()}
        for size in sizes:
            seconds, elapsed, changed = _follow(kb, spark, directory, size, batches)
            outcome.batches.append(
                BatchLatency(
                    size, len(seconds), sum(facts.values()), changed,
                    changed / elapsed, median(seconds), max(seconds),
                )
            )  # fmt: skip
        wrong = [name for name, count in facts.items() if kb.count(name) != count]
        if wrong:
            outcome.problems.append(f"structured: {', '.join(wrong)} are not what they were before")


def _follow(
    kb: KnowledgeBase, spark: SparkSession, directory: Path, size: int, batches: int
) -> tuple[list[float], float, int]:
    """Seconds of each batch, seconds of all of them with what Spark does in between, and how many changes they had."""
    table = _changes(chosen_facts(directory, size))
    with _folder() as folder:
        stream = kb.write_stream(_source(spark, folder), policy="fail")
        for number in range(2):
            _write(folder, number, table)
        stream.process_all()
        started = time.perf_counter()
        for number in range(2, batches + 2):
            _write(folder, number, table)
        stream.process_all()
        elapsed = time.perf_counter() - started
        stream.stop()
        return [one.seconds for one in _last(stream, batches)], elapsed, table.num_rows * batches


def _last(stream: SparkStream, batches: int) -> list:
    return list(stream.results)[-batches:]


def _source(spark: SparkSession, folder: Path) -> DataFrame:
    return spark.readStream.schema(_SCHEMA).option("maxFilesPerTrigger", 1).parquet(str(folder))


@contextmanager
def _folder() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="corollary-structured-"))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _changes(chosen: dict[str, pa.Table]) -> pa.Table:
    """Rows `predicate, a1, a2`."""
    parts = []
    for name, rows in chosen.items():
        second = rows.column(1) if rows.num_columns > 1 else pa.nulls(rows.num_rows, pa.string())
        parts.append(
            pa.table(
                [pa.array(np.repeat(name, rows.num_rows)), rows.column(0), second], names=["predicate", "a1", "a2"]
            )
        )
    return pa.concat_tables(parts)


def _write(folder: Path, number: int, table: pa.Table) -> None:
    """A file is there as a whole, or not at all."""
    op = pa.array(np.repeat("insert" if number % 2 else "delete", table.num_rows))
    aside = folder / f".{number:06}.parquet"
    pq.write_table(table.append_column("op", op), aside)
    aside.rename(folder / f"{number:06}.parquet")
    time.sleep(0.002)  # Spark takes the oldest file first, by milliseconds
