"""How many times as long as the embedded engine, where both read files, derive and write Parquet."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks import data, rules
from benchmarks.spark.inputs import rows_directory
from benchmarks.spark.record import Outcome
from benchmarks.spark.runs import Run, fastest, run_program
from benchmarks.spark.sizes import TINY, Sizes

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TIMES_EMBEDDED = 3.0


def _grid(sizes: Sizes) -> Path:
    return rows_directory(f"tc-grid-{sizes.name}", lambda: {"edge": data.grid(sizes.grid)})


def _dag(sizes: Sizes) -> Path:
    return rows_directory(f"dag-r-{sizes.name}", lambda: {"r": data.graph(*sizes.dag, seed=3, acyclic=True)})


@dataclass(frozen=True)
class Case:
    program: str
    derived: str
    directory: Callable[[Sizes], Path]

    def run(self, engine: Any, sizes: Sizes) -> Run:
        return run_program(self.program, self.directory(sizes), engine, [self.derived], publishes=True)


CASES = {
    "tc-grid": Case(rules.TRANSITIVE, "path", _grid),
    "dag-r": Case(rules.TRANSITIVE_ITSELF, "r", _dag),
}


def run(outcome: Outcome, sizes: Sizes, session: Callable[[], SparkSession]) -> None:
    spark = session()
    for name, case in CASES.items():
        for engine in ("embedded", spark):
            case.run(engine, TINY)
        theirs = fastest(partial(case.run, "embedded", sizes), sizes.runs)
        ours = fastest(partial(case.run, spark, sizes), sizes.runs)
        outcome.check(name, ours.facts, theirs.facts)
        outcome.add(name, "facts", theirs.facts, "")
        for engine, run in (("Spark", ours), ("embedded", theirs)):
            for part, seconds in run.seconds.items():
                outcome.add(name, f"{engine}: {part}", seconds)
            outcome.add(name, f"{engine}, {', '.join(run.strategies)}", run.total)
        outcome.add(name, "times the embedded engine", ours.total / theirs.total, "x", target=TIMES_EMBEDDED)
