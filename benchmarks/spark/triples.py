"""Reading N-Triples and giving ids to their terms, in a warm session."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.spark.inputs import triples_file
from benchmarks.spark.record import Outcome
from benchmarks.spark.sizes import Sizes
from corollary import KnowledgeBase

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SECONDS = 60.0


def run(outcome: Outcome, sizes: Sizes, session: Callable[[], SparkSession]) -> None:
    spark = session()
    _load(spark, triples_file(sizes.warming_triples))
    file = triples_file(sizes.triples)
    case = f"{sizes.triples:,} triples"
    found, seconds, stages = _load(spark, file)
    outcome.check(case, found, sizes.triples)
    outcome.add(case, "size", file.stat().st_size / 1e6, "MB")
    for stage in ("ingest", "encode"):
        outcome.add(case, stage, stages[stage])
    outcome.add(case, "ingest and encode", seconds, target=SECONDS)


def _load(spark: SparkSession, file: Path) -> tuple[int, float, dict[str, float]]:
    started = time.perf_counter()
    kb = KnowledgeBase(engine=spark)
    try:
        kb.load("triple", file)
        seconds = time.perf_counter() - started
        return kb.count("triple"), seconds, kb.stages
    finally:
        kb.close()
