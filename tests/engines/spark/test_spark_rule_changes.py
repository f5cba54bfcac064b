"""Hyper-nodes on Spark that grow, shrink and go on from what they had, and the counters of recursive ones."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from corollary import Change, KnowledgeBase, Limits
from corollary.diagnostics import ProgramError
from corollary.engines.spark.context import SparkSettings
from corollary.reasoning.maintain.step_rules import StepRules
from tests.engine_suite.test_rule_changes import REACH, steps
from tests.engines.spark.derivation_counts import counted

pytestmark = pytest.mark.spark

Make = Callable[..., KnowledgeBase]


@pytest.fixture
def make(spark: SparkSession) -> Iterator[Make]:
    made: list[KnowledgeBase] = []

    def new(program: str, **options: object) -> KnowledgeBase:
        limits = SparkSettings(partitions=2, task_change_facts=0, recompute_facts=0)
        made.append(KnowledgeBase(program, engine=spark, spark_settings=limits, **options))
        made[-1].materialise()
        return made[-1]

    yield new
    for kb in made:
        kb.close()


def counters(kb: KnowledgeBase, owner: str, predicate: str) -> dict[object, int]:
    """By the first argument of a fact."""
    return {fact[0].value: number for fact, number in counted(kb).get((owner, predicate), {}).items()}


def test_counters_are_filled_by_the_first_deletion_and_tell_what_is_derived_again(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    kb = make(REACH, strategy="dred-counting", limits=Limits(facts=30))
    assert {rule.name: rule.strategy for rule in kb.rules()} == {"r1": "counting", "r2": "dred-counting"}
    monkeypatch.setattr(StepRules, "checking", property(lambda rules: pytest.fail("a rule runs to find facts again")))
    kb.apply(Change(insert={"edge": [(4, 5)]}))
    assert counters(kb, "{r2}", "reach") == {}  # nobody needs them yet
    result = steps(kb.apply(Change(delete={"edge": [(1, 2)]})))["{r2}"]
    assert result.reason == "counted the derivations of 4 facts"
    assert (result.overdeleted, result.rederived, result.deleted) == (
        4,
        1,
        0,
    )  # 3 is left, and the others follow from it
    assert counters(kb, "{r2}", "reach") == {2: 1, 3: 2, 4: 1, 5: 1}
    known = kb._backend.store.counters  # type: ignore[attr-defined]
    with pytest.raises(ProgramError, match="more than 30 facts"):
        kb.apply(Change(insert={"edge": [(5, n) for n in range(6, 40)]}, delete={"edge": [(1, 3)]}))
    assert kb._backend.store.counters is known  # type: ignore[attr-defined]
    result = steps(kb.apply(Change(insert={"edge": [(1, 5)]}, delete={"edge": [(1, 3)]})))["{r2}"]
    assert (result.reason, result.overdeleted, result.deleted) == ("", 4, 3)
    assert counters(kb, "{r2}", "reach") == {5: 1}
    assert sorted(kb.facts("reach")) == [(1,), (5,)]


def test_what_was_handed_over_is_in_the_store(spark: SparkSession, tmp_path: Path) -> None:
    limits = SparkSettings(partitions=2)
    kb = KnowledgeBase.create(tmp_path / "kb", REACH, engine=spark, strategy="dred-counting", spark_settings=limits)
    kb.insert("back", [(5, 4), (1, 5)])
    kb.add_rules("r3: start(Y) :- reach(X), back(Y, X).")
    kb.delete("start", [(1,)])
    assert sorted(kb.facts("reach")) == []
    kb.close()
    assert not KnowledgeBase.verify(tmp_path / "kb")
    found = KnowledgeBase.open(tmp_path / "kb")
    assert sorted(found.facts("reach")) == []
    found.insert("start", [(3,)])
    assert sorted(found.facts("reach")) == [(n,) for n in range(1, 6)]
