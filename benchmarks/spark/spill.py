"""A run whose relation is larger than the memory that Spark is given: rounds sort and join on disk, and it ends."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.measurement import MEGABYTE
from benchmarks.spark.inputs import walkers_directory
from benchmarks.spark.record import Outcome
from benchmarks.spark.runs import run_program
from benchmarks.spark.sizes import Sizes
from corollary.engines.spark.context import SparkSettings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PROGRAM = "at(W, L, Y) :- at(W, L, X), next(X, Y).\n"
HEAP_MEGABYTES = 1024
BESIDE_THE_HEAP = 1024
"""Megabytes of a Java process that are not its heap: classes, compiled code, buffers of files and of the network."""
_BYTES_PER_FACT = 3 * 8


def run(outcome: Outcome, sizes: Sizes, session: Callable[[], SparkSession]) -> None:
    spark = session()
    directory = walkers_directory(sizes.walkers, sizes.steps)
    expected = sizes.walkers * (sizes.steps + 1)
    ours = run_program(PROGRAM, directory, spark, ["at"], spark_settings=SparkSettings(strategy="rounds"))
    case = f"{sizes.walkers:,} walkers"
    outcome.check(case, ours.facts, expected)
    memory, disk = _spilled(spark)
    heap = _java(spark).lang.Runtime.getRuntime().maxMemory() / MEGABYTE
    outcome.add(case, "facts", ours.facts, "")
    outcome.add(case, "the relation, as numbers", expected * _BYTES_PER_FACT / MEGABYTE, "MB", target=heap, less=False)
    outcome.add(case, "heap", heap, "MB")
    outcome.add(case, "spilled from memory", memory / MEGABYTE, "MB")
    outcome.add(case, "spilled to disk", disk / MEGABYTE, "MB")
    outcome.add(case, "load", ours.seconds["load"])
    outcome.add(case, f"derive ({', '.join(ours.strategies)}, {ours.rounds} rounds)", ours.seconds["derive"])
    outcome.add(case, "peak of the Java process", _peak(spark), "MB", target=heap + BESIDE_THE_HEAP)


def _spilled(spark: SparkSession) -> tuple[int, int]:
    """Bytes in memory and on disk of all rows that tasks put aside, by Spark's own books, which keep the last 1,000 stages."""
    context: Any = spark.sparkContext
    quantiles = context._gateway.new_array(context._jvm.double, 0)
    statuses, tasks = _java(spark).util.ArrayList(), _java(spark).util.ArrayList()
    stages = context._jsc.sc().statusStore().stageList(statuses, False, False, quantiles, tasks)
    memory = disk = 0
    for number in range(stages.size()):
        memory += stages.apply(number).memoryBytesSpilled()
        disk += stages.apply(number).diskBytesSpilled()
    return memory, disk


def _peak(spark: SparkSession) -> float:
    """The most resident memory of the Java process in MB."""
    process = _java(spark).lang.ProcessHandle.current().pid()
    for line in Path(f"/proc/{process}/status").read_text(encoding="ascii").splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024 / MEGABYTE
    raise ValueError("this system does not tell the peak of a process")


def _java(spark: SparkSession) -> Any:
    context: Any = spark.sparkContext
    return context._jvm.java
