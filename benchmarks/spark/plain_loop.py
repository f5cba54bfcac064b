"""The baseline peer: semi-naive rounds as somebody writes them who knows Spark and nothing of this project.

Values stay values. Each round joins the new rows with the edges, takes away what is known, and cuts the lineage by a local
checkpoint; without that, plans explode within a dozen rounds. All rows are put together anew every ten rounds, which is
what measuring teaches. It is given a session with few shuffle partitions, and small tables are broadcast.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

FOLD_EVERY = 10


@dataclass(frozen=True)
class Loop:
    """`finished` is False where the time was up: then there would have been more rows."""

    rows: int
    rounds: int
    seconds: float
    finished: bool


def closure(spark: SparkSession, file: Path, limit: float) -> Loop:
    """path(x, y) from edge(x, y), and path(x, z) from edge(x, y) and path(y, z)."""
    started = time.perf_counter()
    edges = _read(spark, file).cache()

    def step(delta: DataFrame) -> DataFrame:
        return (
            edges.selectExpr("x", "y AS middle").join(delta.selectExpr("x AS middle", "y"), "middle").select("x", "y")
        )

    try:
        return _fixpoint(edges, step, started, limit)
    finally:
        edges.unpersist()


def same_generation(spark: SparkSession, file: Path, limit: float) -> Loop:
    """Brothers and sisters, and the children of two that are of one generation."""
    started = time.perf_counter()
    parents = _read(spark, file).cache()  # x is the parent of y
    left, right = parents.selectExpr("x AS a", "y AS x"), parents.selectExpr("x AS b", "y")
    first = left.join(right.withColumnRenamed("b", "a"), "a").where("x != y").select("x", "y")

    def step(delta: DataFrame) -> DataFrame:
        return left.join(delta.selectExpr("x AS a", "y AS b"), "a").join(right, "b").select("x", "y")

    try:
        return _fixpoint(first, step, started, limit)
    finally:
        parents.unpersist()


def _read(spark: SparkSession, file: Path) -> DataFrame:
    return spark.read.schema("x long, y long").csv(str(file), sep="\t")


def _fixpoint(first: DataFrame, step: Callable[[DataFrame], DataFrame], started: float, limit: float) -> Loop:
    partitions = int(first.sparkSession.conf.get("spark.sql.shuffle.partitions") or 2)
    delta = known = first.distinct().localCheckpoint()
    rounds = 1
    while True:
        delta = step(delta).subtract(known).localCheckpoint()  # what subtract gives is distinct
        rounds += 1
        finished = delta.isEmpty()
        if finished or time.perf_counter() - started > limit:
            break
        known = known.union(delta)
        if rounds % FOLD_EVERY == 0:
            known = known.coalesce(partitions).localCheckpoint()
    return Loop(known.count(), rounds, time.perf_counter() - started, finished)
