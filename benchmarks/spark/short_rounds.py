"""Rounds that derive one fact each: what a round of general recursion costs, and whether later ones cost more."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from statistics import mean, median
from typing import TYPE_CHECKING

from benchmarks.data import Row
from benchmarks.spark.inputs import rows_directory
from benchmarks.spark.record import Outcome
from benchmarks.spark.sizes import Sizes
from corollary import KnowledgeBase
from corollary.engines.spark.context import SparkSettings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PROGRAM = "reach(Y) :- reach(X), edge(X, Y).\n"
MILLISECONDS = 250.0
GROWTH = 1.1
"""Of the mean of the last rounds against the first: less than this is noise."""
_WARMING = 25  # rounds: the first ones of a process are slow


def run(outcome: Outcome, sizes: Sizes, session: Callable[[], SparkSession]) -> None:
    spark = session()
    _rounds(outcome, spark, min(_WARMING, sizes.rounds), 0)
    for known in (0, sizes.known):
        case = f"{known:,} facts known" if known else "chain"
        times = _rounds(outcome, spark, sizes.rounds, known)
        first, last = mean(times[: sizes.compared_rounds]), mean(times[-sizes.compared_rounds :])
        judged = MILLISECONDS if not known else None  # with many facts, a round has something to do
        outcome.add(case, "rounds", len(times), "")
        outcome.add(case, "a round, on average", mean(times), "ms", target=judged)
        outcome.add(case, "a round, median", median(times), "ms")
        outcome.add(case, "the slowest round", max(times), "ms")
        outcome.add(case, f"the first {sizes.compared_rounds}, on average", first, "ms")
        outcome.add(case, f"the last {sizes.compared_rounds}, on average", last, "ms", target=judged)
        outcome.add(case, "the last against the first", last / first, "x", target=GROWTH)


def _rounds(outcome: Outcome, spark: SparkSession, rounds: int, known: int) -> list[float]:
    """Milliseconds of each round but the first and the last, from the time when a round asks whether it shall go on.

    Rounds ask in a thread of their own; the main thread asks as well, ten times a second.
    """
    asked: list[float] = []

    def watch(facts: int) -> None:
        if threading.current_thread() is not threading.main_thread():
            asked.append(time.perf_counter())

    kb = KnowledgeBase(PROGRAM, engine=spark, spark_settings=SparkSettings(strategy="rounds"))
    try:
        kb.load_facts(_directory(rounds, known))
        report = kb.materialise(watch=watch)
        outcome.check(f"{rounds} rounds over {known:,} facts", kb.count("reach"), rounds + 1 + known)
        if (found := len(asked)) < rounds - 1 or {node.strategy for node in report.nodes} != {"rounds"}:
            outcome.problems.append(f"{outcome.experiment}: {found} rounds were seen of {report.rounds}")
    finally:
        kb.close()
    return [1000 * (after - before) for before, after in pairwise(asked)]


def _directory(rounds: int, known: int) -> Path:
    """A chain that is reached at one end, and nodes that are reached and lead nowhere."""

    def relations() -> dict[str, list[Row]]:
        others: list[Row] = [(10_000_000 + number,) for number in range(known)]
        return {"edge": [(node, node + 1) for node in range(rounds)], "reach": [(0,), *others]}

    return rows_directory(f"reach-{rounds}-{known}", relations)
