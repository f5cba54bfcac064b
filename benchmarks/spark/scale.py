"""Four times the data: how many times as long. Loading and deriving count, in a warm session."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks import data, ontology, rules
from benchmarks.spark.inputs import copies, rows_directory, universities_directory
from benchmarks.spark.record import Outcome
from benchmarks.spark.runs import Run, fastest, run_program
from benchmarks.spark.sizes import TINY, Sizes

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TIMES = 5.0


def run(outcome: Outcome, sizes: Sizes, session: Callable[[], SparkSession]) -> None:
    spark = session()
    for few, many in sizes.more_universities:
        cases = [(f"{count} universities", universities_directory(count)) for count in (few, many)]
        _grow(outcome, sizes, spark, (ontology.program(), ontology.derived()), cases)
    cases = [(f"tc, {count} graphs", _graphs(sizes, count)) for count in (1, sizes.copies)]
    _grow(outcome, sizes, spark, (rules.TRANSITIVE, ("path",)), cases)


def _grow(
    outcome: Outcome,
    sizes: Sizes,
    spark: SparkSession,
    program: tuple[str, tuple[str, ...]],
    cases: list[tuple[str, Path]],
) -> None:
    text, derived = program
    warming = _graphs(TINY, 1) if derived == ("path",) else universities_directory(0)
    run_program(text, warming, spark, derived)
    runs: list[Run] = []
    for case, directory in cases:
        expected = run_program(text, directory, "embedded", derived)
        ours = fastest(partial(run_program, text, directory, spark, derived), sizes.runs)
        if ours.counts != expected.counts:
            outcome.check(case, ours.facts, expected.facts)
            wrong = [name for name in derived if ours.counts[name] != expected.counts[name]]
            outcome.problems.append(f"{outcome.experiment}, {case}: other numbers of {', '.join(wrong)}")
        outcome.add(case, "facts", expected.facts, "")
        outcome.add(case, "load", ours.seconds["load"])
        outcome.add(case, f"derive ({', '.join(ours.strategies)})", ours.seconds["derive"])
        runs.append(ours)
    less, more = runs
    outcome.add(f"{cases[0][0]} → {cases[1][0]}", "times the facts", more.facts / less.facts, "x")
    outcome.add(f"{cases[0][0]} → {cases[1][0]}", "times as long", more.total / less.total, "x", target=TIMES)


def _graphs(sizes: Sizes, count: int) -> Path:
    nodes = sizes.random_graph[0]

    def relations() -> data.Relations:
        return {"edge": copies(data.graph(*sizes.random_graph, seed=1), count, nodes)}

    return rows_directory(f"graphs-{sizes.name}-{count}", relations)
