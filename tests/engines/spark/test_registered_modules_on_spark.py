"""Registered modules work on Spark as they are."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from corollary import KnowledgeBase
from corollary.engines.spark.context import SparkSettings
from tests.reasoning.test_registered_modules import TEXT, calls, follow_streets, registered

__all__ = ["registered"]  # a fixture
pytestmark = pytest.mark.spark


@pytest.mark.parametrize("strategy", ["auto", "dred-counting-modules"])
def test_the_functions_work_on_spark(spark: SparkSession, strategy: str) -> None:
    limits = SparkSettings(partitions=2, task_change_facts=0, recompute_facts=0, driver_facts=0)
    with KnowledgeBase(TEXT, engine=spark, spark_settings=limits, strategy=strategy) as kb:
        follow_streets(kb)
    assert {name for name in calls if calls[name]} == {"lost", "gained", "add", "overdelete", "rederive"}
