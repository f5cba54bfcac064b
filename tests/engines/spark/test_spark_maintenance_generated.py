"""Generated scripts of changes on Spark: after every change the facts are the oracle's, and so is the difference."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from pyspark.sql import SparkSession

from corollary import KnowledgeBase
from corollary.backends.spark import SparkBackend
from corollary.engines.spark.context import SparkSettings
from corollary.program import Program
from corollary.reference import evaluate
from corollary.transactions import Change as Changes
from corollary.transactions import TransactionResult
from tests.engines.embedded.scenarios import State, minus
from tests.engines.spark.engine_runs import decoded
from tests.engines.spark.many_programs import facts_of, name_in, rule_in, together
from tests.generator import EVERYTHING, Change, Scenario, scenarios

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


def at_once(changes: Sequence[Change | None]) -> Changes:
    """The next change of each scenario that has one, in one transaction."""
    insert: dict[str, list[Any]] = {}
    delete: dict[str, list[Any]] = {}
    removed: list[str] = []
    for number, change in enumerate(changes):
        if change is not None:
            for target, facts in ((insert, change.insert), (delete, change.delete)):
                for predicate, row in facts:
                    target.setdefault(name_in(number, predicate), []).append(row)
            removed += [rule_in(number, name) for name in change.remove_rules]
    added = together([Program(change.add_rules if change is not None else ()) for change in changes])
    return Changes(insert, delete, (added,) if added.rules else (), tuple(removed))


def visible(kb: KnowledgeBase) -> State:
    kb.materialise()
    backend = kb._backend
    assert isinstance(backend, SparkBackend)
    names = [name for name in backend.engine.predicates() if backend.store.frames(name)]
    return decoded(backend.context, {name: backend.store.visible(name) for name in names})


def difference(kb: KnowledgeBase, result: TransactionResult) -> tuple[State, State]:
    backend = kb._backend
    assert isinstance(backend, SparkBackend)
    inserted, deleted = (
        decoded(backend.context, {name: facts[name]._frame for name in facts})
        for facts in (result.inserted, result.deleted)
    )
    return inserted, deleted


def expected(programs: Sequence[Program]) -> State:
    return {
        name_in(number, predicate): facts
        for number, program in enumerate(programs)
        for predicate, facts in evaluate(program).items()
        if facts
    }


def follow(spark: SparkSession, chosen: Sequence[Scenario], **options: Any) -> None:
    versions = [scenario.programs() for scenario in chosen]
    with KnowledgeBase(together([one[0] for one in versions]), engine=spark, **options) as kb:
        before = expected([one[0] for one in versions])
        compare(chosen, 0, visible(kb), before)
        for step in range(max(len(scenario.changes) for scenario in chosen)):
            changes = [one.changes[step] if step < len(one.changes) else None for one in chosen]
            result = kb.apply(at_once(changes))
            after = expected([one[min(step + 1, len(one) - 1)] for one in versions])
            compare(chosen, step + 1, visible(kb), after)
            inserted, deleted = difference(kb, result)
            compare(chosen, step + 1, inserted, minus(after, before))
            compare(chosen, step + 1, deleted, minus(before, after))
            before = after


def compare(chosen: Sequence[Scenario], step: int, found: State, wanted: State) -> None:
    for number, scenario in enumerate(chosen):
        assert facts_of(number, found) == facts_of(number, wanted), f"after change {step} of\n{scenario!r}"


@pytest.mark.parametrize(
    ("strategy", "count", "limits"),
    [
        ("auto", 24, {}),
        ("auto", 6, {"task_change_facts": 0, "recompute_facts": 0}),
        ("dred", 6, {"fold_changes": 0}),
        ("dred", 2, {"change_rows": 2}),
        ("recompute", 6, {}),
    ],
)
def test_generated_changes_give_the_facts_of_the_oracle(
    spark: SparkSession, strategy: str, count: int, limits: dict[str, int]
) -> None:
    chosen = generated(EVERYTHING.but(max_changes=3), count)
    follow(spark, chosen, strategy=strategy, spark_settings=SparkSettings(partitions=2, **limits))
