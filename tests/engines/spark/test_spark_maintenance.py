"""Relations that changes follow on Spark: signed segments over a base."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from pyspark.sql import SparkSession

from corollary import KnowledgeBase
from corollary.backends.spark import SparkBackend
from corollary.engines.spark.context import Context, SparkSettings
from corollary.engines.spark.maintenance.change_rows import ChangeRows
from corollary.engines.spark.maintenance.signed_relation import MOST_SEGMENTS, SignedRelation
from tests.engines.spark.frames import frame_of_ids

pytestmark = pytest.mark.spark


@pytest.fixture
def context(spark: SparkSession) -> Iterator[Context]:
    with KnowledgeBase("p(1).", engine=spark, spark_settings=SparkSettings(partitions=2)) as kb:
        assert isinstance(kb._backend, SparkBackend)
        yield kb._backend.context


def test_segments_are_put_together_on_reading_and_folded(context: Context) -> None:
    base = frame_of_ids(context.spark, np.arange(1000, dtype=np.int64).reshape(-1, 1))
    relation = SignedRelation(context, 1, (base,))
    expected = set(range(1000))
    for number in range(MOST_SEGMENTS + 2):
        ids = np.array([[number, -1], [5000 + number, 1]], np.int64)
        relation = relation.changed(ChangeRows.of_ids(context, 1, ids), "p")
        expected = expected - {number} | {5000 + number}
        assert len(relation.segments) <= MOST_SEGMENTS
        assert {row[0] for row in relation.visible().df.collect()} == expected
        assert relation.rows == len(expected)
    folded = relation.folded("p")
    assert not folded.segments
    assert {row[0] for row in folded.visible().df.collect()} == expected


def test_small_changes_do_not_move_the_large_relation(context: Context) -> None:
    base = context.workspace.table(context.spark.range(100_000).selectExpr("id AS c0", "id AS c1"), "p", 2)
    change = ChangeRows.of_ids(context, 2, np.array([[1, 1, -1], [7, 8, 1]], np.int64))
    relation = SignedRelation(context, 2, (base,)).changed(change, "p")
    for df in (relation.visible().df, *relation.matching(change.keys)):
        plan = df._jdf.queryExecution().executedPlan().toString()
        assert "hashpartitioning" not in plan
        assert "SortMergeJoin" not in plan
