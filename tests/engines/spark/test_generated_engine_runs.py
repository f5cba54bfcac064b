"""Generated programs on the Spark engine: embedded engine, Spark and oracle agree, whatever the strategy."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from corollary import KnowledgeBase
from corollary.language import print_program
from corollary.program import Constant, Program
from tests.budgets import gathered
from tests.engine_suite.many_programs import facts_of, together
from tests.engines.spark.engine_runs import EngineRun
from tests.generator import EVERYTHING, POSITIVE, programs
from tests.oracle import Fact, evaluate

pytestmark = [pytest.mark.spark, pytest.mark.compiled_plans]


def embedded(program: Program) -> dict[str, set[Fact]]:
    kb = KnowledgeBase(program)
    found = {name: {tuple(map(Constant, row)) for row in kb.facts(name).constants()} for name in kb.predicates()}
    return {name: rows for name, rows in found.items() if rows}


@pytest.mark.parametrize(
    ("strategy", "profile", "count"),
    [
        (None, EVERYTHING, 40),
        ("decomposable", POSITIVE, 12),
        ("closure", POSITIVE, 12),
    ],
)
def test_generated_programs_give_the_facts_of_the_oracle(
    spark: SparkSession, strategy: str | None, profile: object, count: int
) -> None:
    chosen = gathered(programs(profile), count)
    with EngineRun(spark, together(chosen), strategy=strategy) as run:
        found = run.facts()
    for number, program in enumerate(chosen):
        expected = {name: rows for name, rows in evaluate(program).items() if rows}
        assert facts_of(number, found) == expected == embedded(program), print_program(program)
