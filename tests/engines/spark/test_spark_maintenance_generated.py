"""Generated scripts of changes on Spark: after every change the facts are the oracle's, and so is the difference.

Numbers of derivations equal recounting, those of hyper-nodes without recursion and counters of recursive ones.
"""

from __future__ import annotations

from unittest.mock import patch

import pytest
from pyspark.sql import SparkSession

from corollary.engines.spark.context import SparkSettings
from corollary.settings import STRATEGIES
from tests.budgets import gathered
from tests.engine_suite.engines import NOTHING_IS_SMALL
from tests.engine_suite.scripts import follow
from tests.engines.spark.derivation_counts import recount
from tests.generator import EVERYTHING, scenarios

pytestmark = pytest.mark.spark


@pytest.mark.parametrize(
    ("strategy", "count", "ways"),
    [
        pytest.param("auto", 3, NOTHING_IS_SMALL, marks=pytest.mark.compiled_plans),
        pytest.param("dred", 2, {"fold_changes": 0}, marks=pytest.mark.slow),
        ("dred", 2, {"change_rows": 2}),
        ("dred-counting", 3, {"fold_changes": 0}),
        pytest.param("dred-counting", 1, {"change_rows": 2}, marks=pytest.mark.slow),
        ("backward-forward", 3, {"fold_changes": 0}),
        pytest.param("backward-forward", 1, {"change_rows": 2}, marks=pytest.mark.slow),
    ],
)
def test_generated_changes_do_not_depend_on_sizes(
    spark: SparkSession, strategy: str, count: int, ways: dict[str, int]
) -> None:
    chosen = gathered(scenarios(EVERYTHING.but(max_changes=3)), count)
    options = {"engine": spark, "strategy": strategy, "spark_settings": SparkSettings(partitions=2, **ways)}
    follow(chosen, check=recount if strategy == "dred-counting" else None, **options).close()


@pytest.mark.parametrize(
    "strategy",
    ["auto", *(pytest.param(one, marks=pytest.mark.slow) for one in ("dred-counting-modules", "backward-forward"))],
)
def test_closures_among_other_rules_follow_every_change(spark: SparkSession, strategy: str) -> None:
    chosen = gathered(scenarios(EVERYTHING.but(max_changes=3, mixed_closures=30)), 4)
    limits = SparkSettings(partitions=2, **NOTHING_IS_SMALL)
    with patch("corollary.analysis.meaning.WITH_MODULES", STRATEGIES):
        follow(chosen, engine=spark, strategy=strategy, spark_settings=limits).close()


@pytest.mark.slow
@pytest.mark.parametrize("change_rows", [50_000, 2])
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_more_generated_changes_give_the_facts_of_the_oracle(
    spark: SparkSession, strategy: str, change_rows: int
) -> None:
    """Nothing is small enough for one task, so that every strategy does what it is for."""
    chosen = gathered(scenarios(EVERYTHING.but(max_changes=5)), 16 if change_rows > 2 else 4)
    settings = SparkSettings(partitions=2, task_change_facts=0, recompute_facts=0, change_rows=change_rows)
    follow(chosen, check=recount, engine=spark, strategy=strategy, spark_settings=settings).close()
