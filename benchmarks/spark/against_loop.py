"""How many times as fast as a plain loop over data frames, in one warm session; both read the same files and count."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks import data, rules
from benchmarks.spark import plain_loop
from benchmarks.spark.inputs import rows_directory, tree
from benchmarks.spark.plain_loop import Loop
from benchmarks.spark.record import Outcome
from benchmarks.spark.runs import fastest, run_program
from benchmarks.spark.sizes import TINY, Sizes

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TIMES_LOOP = 10.0


@dataclass(frozen=True)
class Case:
    """`explicit` is the predicate of the input; of dag-r, whose rule is not linear, the loop runs the linear form."""

    name: str
    program: str
    explicit: str
    derived: str
    rows: Callable[[Sizes], list[data.Row]]
    loop: Callable[[SparkSession, Path, float], Loop]

    def directory(self, sizes: Sizes) -> Path:
        return rows_directory(f"{self.name}-{sizes.name}", lambda: {self.explicit: self.rows(sizes)})


CASES = {
    case.name: case
    for case in (
        Case(
            "tc-random",
            rules.TRANSITIVE,
            "edge",
            "path",
            lambda sizes: data.graph(*sizes.random_graph, seed=1),
            plain_loop.closure,
        ),
        Case(
            "dag-r",
            rules.TRANSITIVE_ITSELF,
            "r",
            "r",
            lambda sizes: data.graph(*sizes.dag, seed=3, acyclic=True),
            plain_loop.closure,
        ),
        Case(
            "sg-tree",
            rules.SAME_GENERATION,
            "par",
            "sg",
            lambda sizes: tree(sizes.tree, seed=4),
            plain_loop.same_generation,
        ),
    )
}


def run(outcome: Outcome, sizes: Sizes, session: Callable[[], SparkSession]) -> None:
    spark = session()
    for case in CASES.values():
        _ours(case, TINY, spark, 1)
        _loop(case, TINY, spark, 1)
        expected = run_program(case.program, case.directory(sizes), "embedded", [case.derived]).facts
        ours, facts, strategies = _ours(case, sizes, spark, sizes.runs)
        outcome.check(f"{case.name}, ours ({strategies})", facts, expected)
        loop = _loop(case, sizes, spark, sizes.runs)
        if loop.finished:
            outcome.check(f"{case.name}, plain loop", loop.rows, expected)
        times = "times the plain loop" if loop.finished else "times the plain loop, or more"
        outcome.add(case.name, "facts", expected, "")
        outcome.add(case.name, f"ours, {strategies}", ours)
        outcome.add(case.name, f"plain loop, {loop.rounds} rounds", loop.seconds)
        outcome.add(case.name, times, loop.seconds / ours, "x", target=TIMES_LOOP, less=False)


def _ours(case: Case, sizes: Sizes, spark: SparkSession, runs: int) -> tuple[float, int, str]:
    best = fastest(lambda: run_program(case.program, case.directory(sizes), spark, [case.derived]), runs)
    return best.total, best.facts, ", ".join(best.strategies)


def _loop(case: Case, sizes: Sizes, spark: SparkSession, runs: int) -> Loop:
    """The fastest of some runs, as ours is; none is begun after the time that one may take."""
    loops: list[Loop] = []
    while len(loops) < runs and sum(loop.seconds for loop in loops) < sizes.loop_seconds:
        loops.append(case.loop(spark, case.directory(sizes) / f"{case.explicit}.tsv", sizes.loop_seconds))
    return min(loops, key=lambda loop: (not loop.finished, loop.seconds))
