"""Generated programs on the Spark engine: embedded engine, Spark and oracle agree, whatever the strategy."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from pyspark.sql import SparkSession

from corollary import KnowledgeBase
from corollary.language import print_program
from corollary.program import Constant, Program
from corollary.reference import Fact, evaluate
from tests.engines.spark.engine_runs import EngineRun
from tests.engines.spark.many_programs import facts_of, together
from tests.generator import EVERYTHING, POSITIVE, programs

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("spark")]


def generated(profile: object, count: int) -> list[Program]:
    """Programs of hypothesis, to be run together: one at a time would take Spark a minute for a few dozens."""
    found: list[Program] = []

    @settings(max_examples=count, phases=[Phase.generate], database=None, suppress_health_check=list(HealthCheck))
    @given(programs(profile))  # type: ignore[arg-type]
    def gather(program: Program) -> None:
        found.append(program)

    gather()
    return found


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
    chosen = generated(profile, count)
    with EngineRun(spark, together(chosen), strategy=strategy) as run:
        found = run.facts()
    for number, program in enumerate(chosen):
        expected = {name: rows for name, rows in evaluate(program).items() if rows}
        assert facts_of(number, found) == expected == embedded(program), print_program(program)
