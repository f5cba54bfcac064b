"""Generated scripts of changes on Spark: after every change the facts are the oracle's, and so is the difference.

Numbers of derivations equal recounting, those of hyper-nodes without recursion and counters of recursive ones.
"""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from pyspark.sql import SparkSession

from corollary.engines.spark.context import SparkSettings
from corollary.settings import STRATEGIES
from tests.engines.spark.followed_scripts import follow
from tests.generator import EVERYTHING, Scenario, scenarios

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("spark")]


def generated(profile: Any, count: int) -> list[Scenario]:
    """Scenarios of hypothesis, to be followed together: one at a time would take Spark minutes."""
    found: list[Scenario] = []

    @settings(max_examples=count, phases=[Phase.generate], database=None, suppress_health_check=list(HealthCheck))
    @given(scenarios(profile))
    def gather(scenario: Scenario) -> None:
        found.append(scenario)

    gather()
    return found


@pytest.mark.parametrize(
    ("strategy", "count", "limits"),
    [
        ("auto", 24, {}),
        ("auto", 3, {"task_change_facts": 0, "recompute_facts": 0, "driver_facts": 0}),
        ("dred", 2, {"fold_changes": 0}),
        ("dred", 2, {"change_rows": 2}),
        ("dred-counting", 3, {"fold_changes": 0}),
        ("dred-counting", 1, {"change_rows": 2}),
        ("recompute", 6, {}),
    ],
)
def test_generated_changes_give_the_facts_of_the_oracle(
    spark: SparkSession, strategy: str, count: int, limits: dict[str, int]
) -> None:
    chosen = generated(EVERYTHING.but(max_changes=3), count)
    recounts = strategy == "dred-counting"
    follow(spark, chosen, recounts=recounts, strategy=strategy, spark_settings=SparkSettings(partitions=2, **limits))


@pytest.mark.slow
@pytest.mark.parametrize("change_rows", [50_000, 2])
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_more_generated_changes_give_the_facts_of_the_oracle(
    spark: SparkSession, strategy: str, change_rows: int
) -> None:
    """Nothing is small enough for one task, so that every strategy does what it is for."""
    chosen = generated(EVERYTHING.but(max_changes=5), 16 if change_rows > 2 else 4)
    limits = SparkSettings(partitions=2, task_change_facts=0, recompute_facts=0, change_rows=change_rows)
    follow(spark, chosen, recounts=True, strategy=strategy, spark_settings=limits)
