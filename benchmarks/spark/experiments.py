"""The experiments by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from benchmarks.spark import (
    against_embedded,
    against_loop,
    cold_start,
    maintenance,
    scale,
    short_rounds,
    spill,
    triples,
)
from benchmarks.spark.record import Outcome
from benchmarks.spark.sizes import Sizes
from corollary.engines.spark_session import start_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Run: TypeAlias = "Callable[[Outcome, Sizes, Callable[[], SparkSession]], None]"


class Experiment(NamedTuple):
    """`heap_megabytes` is what Spark is given; None: a quarter of the machine's memory."""

    run: Run
    heap_megabytes: int | None = None


EXPERIMENTS = {
    "plain-loop": Experiment(against_loop.run),
    "embedded": Experiment(against_embedded.run),
    "rounds": Experiment(short_rounds.run),
    "triples": Experiment(triples.run),
    "cold-start": Experiment(cold_start.run),
    "scale": Experiment(scale.run),
    "maintenance": Experiment(maintenance.run),
    "spill": Experiment(spill.run, spill.HEAP_MEGABYTES),
}


def run_experiment(name: str, sizes: Sizes) -> Outcome:
    """In this process; a session that runs already is used as it is."""
    experiment = EXPERIMENTS[name]
    outcome = Outcome(name, sizes.name)
    experiment.run(outcome, sizes, lambda: start_session(f"benchmark {name}", heap_megabytes=experiment.heap_megabytes))
    return outcome
