"""On Spark, too, a change is refused exactly when deriving from its result is: see `tests/semantics/test_errors_that_stop.py`."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.sql import SparkSession

from corollary import Change, KnowledgeBase, ProgramError
from corollary.engines.spark.context import SparkSettings

pytestmark = pytest.mark.spark

PATHS = "p(X, Z) :- p(X, Y), e(Y, Z), 4 / Y < 9. p(X, Y) :- e(X, Y). e(0, 2). e(2, 3)."
MIXED = "h(X) :- a(X), 1 / X < 5, b(X), not c(X). b(0). a(1)."
FOLLOWED = {"task_change_facts": 0, "recompute_facts": 0}


def options(spark: SparkSession, **limits: Any) -> dict[str, Any]:
    return {"engine": spark, "on_error": "stop", "spark_settings": SparkSettings(partitions=2, **limits)}


@pytest.mark.parametrize(
    "limits", [{}, pytest.param(FOLLOWED, marks=pytest.mark.slow), {**FOLLOWED, "driver_facts": 0}]
)
@pytest.mark.parametrize("strategy", ["auto", "dred-counting"])
def test_a_row_that_no_other_atom_fits_can_be_deleted(spark: SparkSession, strategy: str, limits: dict) -> None:
    with KnowledgeBase(PATHS, strategy=strategy, **options(spark, **limits)) as kb:
        kb.materialise()
        kb.delete("e", [(0, 2)])
        kb.insert("e", [(0, 2)])
        with pytest.raises(ProgramError, match="division by zero"):
            kb.insert("e", [(5, 0)])
        kb.apply(Change(insert={"e": [(5, 0)]}, delete={"e": [(0, 2)]}))
        assert set(kb.facts("p")) == {(2, 3), (5, 0)}


@pytest.mark.parametrize("limits", [{}, FOLLOWED, {**FOLLOWED, "driver_facts": 0}])
def test_what_is_neither_before_nor_after_a_change_is_no_instance(spark: SparkSession, limits: dict) -> None:
    with KnowledgeBase(MIXED, **options(spark, **limits)) as kb:
        kb.materialise()
        kb.apply(Change(insert={"a": [(0,)]}, delete={"b": [(0,)]}))
        kb.apply(Change(insert={"b": [(0,)], "c": [(0,)]}))
        kb.apply(Change(insert={"b": [(1,)]}, delete={"c": [(0,)], "a": [(0,)]}))
        assert set(kb.facts("h")) == {(1,)}
        with pytest.raises(ProgramError, match="division by zero"):
            kb.insert("a", [(0,)])
        with pytest.raises(ProgramError, match="division by zero"):
            kb.add_rules("k(X) :- b(X), 3 / X > 2.")
        assert set(kb.facts("h")) == {(1,)}


@pytest.mark.parametrize("strategy", ["rounds", "single-task"])
@pytest.mark.parametrize("body", ["X != 0, 1 / X < 5", "1 / X < 5, X != 0", "1 / X < 5, X + 1 > 1", "1 / X < 5, d(X)"])
def test_an_instance_is_one_when_all_of_it_may_hold(spark: SparkSession, strategy: str, body: str) -> None:
    limits = options(spark, strategy=strategy)
    with KnowledgeBase(f"h(X) :- a(X), {body}. a(0). a(1). d(1).", **limits) as kb:
        assert set(kb.facts("h")) == {(1,)}
