"""Every kind of rule by data frames and rounds gives what the oracle says."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import urlparse

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from pyspark.sql import DataFrame, SparkSession

from corollary.diagnostics import ProgramError
from corollary.engines.spark.strategies.growing import Growing
from corollary.engines.spark.strategies.jobs import NodeJob
from corollary.engines.spark.strategies.rounds import RoundsStrategy, round_settings, settings_for_rounds
from corollary.program import Constant, Program
from tests.budgets import examples
from tests.engines.spark.derived import SETTINGS, Derivation, derived, expected
from tests.engines.spark.frames import frame_of_ids
from tests.engines.spark.rule_kinds import FACTS, KINDS, RECURSIVE
from tests.generator import EVERYTHING, programs

pytestmark = pytest.mark.spark


@pytest.mark.parametrize("kind", KINDS)
def test_rules_of_every_kind(spark: SparkSession, kind: str) -> None:
    assert derived(spark, FACTS + KINDS[kind]) == expected(FACTS + KINDS[kind])


@pytest.mark.parametrize("kind", RECURSIVE)
def test_recursion_of_every_shape(spark: SparkSession, kind: str) -> None:
    assert derived(spark, FACTS + RECURSIVE[kind], fold_every=3) == expected(FACTS + RECURSIVE[kind])


@settings(max_examples=examples(12), suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(program=programs(EVERYTHING.but(max_facts=25)))
def test_generated_programs(spark: SparkSession, program: Program) -> None:
    assert derived(spark, program) == expected(program)


def chain(length: int) -> str:
    return "".join(f"e({place}, {place + 1}). " for place in range(length))


def files_of(derivation: Derivation) -> list[Path]:
    return list(Path(urlparse(derivation.context.workspace.path).path).rglob("rdd-*"))


def test_many_rounds_fold_what_they_found(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[tuple[int, int]] = []
    advance = Growing.advance

    def watched(growing: Growing, new: object) -> None:
        advance(growing, new)  # type: ignore[arg-type]
        seen.append((len(growing.parts), len(files_of(derivation))))

    monkeypatch.setattr(Growing, "advance", watched)
    with Derivation(spark, chain(35) + "r(0). r(Y) :- r(X), e(X, Y).", SETTINGS) as derivation:
        (outcome,) = derivation.run()
        assert outcome.rounds == 36
        assert derivation.facts()["r"] == {(Constant(number),) for number in range(36)}
        assert max(parts for parts, _ in seen) < SETTINGS.fold_every
        assert max(files for _, files in seen) < SETTINGS.fold_every + 5, "checkpoints of folded parts stay"
        assert files_of(derivation) == [], "nothing is left but tables"


def test_neither_the_full_relation_nor_what_does_not_grow_is_shuffled(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    plans: list[str] = []
    difference = Growing.difference

    def watched(growing: Growing, rows: DataFrame) -> DataFrame:
        new = difference(growing, rows)
        plans.append(new._jdf.queryExecution().executedPlan().toString())  # type: ignore[operator]
        return new

    monkeypatch.setattr(Growing, "difference", watched)
    with Derivation(spark, chain(8) + "p(X, Y) :- e(X, Y). p(X, Z) :- e(X, Y), p(Y, Z).") as derivation:
        derivation.run()
    last = plans[-1]
    assert last.count("Exchange") == 1, last
    assert "hashpartitioning(c0" in last
    # The one exchange is below the difference, on the side of what the rules derive.
    assert last.index("LeftAnti") < last.index("Exchange") < last.index("Union"), last


def test_facts_that_another_strategy_derived_are_taken_over(spark: SparkSession) -> None:
    text = chain(6) + "p(X, Y) :- e(X, Y). p(X, Z) :- e(X, Y), p(Y, Z)."
    with Derivation(spark, text) as derivation:
        first, second = derivation.jobs()
        state = frame_of_ids(spark, np.array([[0, 16], [4, 12], [0, 24]], np.int64))
        for predicate, frame in RoundsStrategy().run(first, derivation.store, derivation.context).facts.items():
            derivation.store.add_derived(predicate, frame)
        outcome = RoundsStrategy().run(second, derivation.store, derivation.context, {"p": state})
        assert outcome.facts["p"].rows == 15  # with those that were handed over
        derivation.store.add_derived("p", outcome.facts["p"])
        assert derivation.facts() == expected(text)


def test_constants_that_collide_get_other_ids(spark: SparkSession) -> None:
    text = 't("a"). t("b"). t(concat(X, Y)) :- t(X), t(Y), length(X) < 2, length(Y) < 2. n(X, length(X)) :- t(X).'
    assert derived(spark, text, hash_bits=3) == expected(text)


def test_one_key_may_have_nearly_all_rows(spark: SparkSession) -> None:
    facts = "".join(f"e(0, {number}). e({number}, 0). " for number in range(1, 60))
    text = facts + "p(X, Z) :- e(X, Y), e(Y, Z). n(Y, count(X)) :- p(X, Y). m(median(V)) :- e(X, V)."
    assert derived(spark, text) == expected(text)


def test_a_group_may_be_larger_than_a_batch(spark: SparkSession) -> None:
    facts = "".join(f'v({number % 3}, {number}, "{number}"). ' for number in range(700))
    text = facts + "m(G, median(V), max(T)) :- v(G, V, T). a(avg(V), sum(V), min(T)) :- v(_, V, T), V < 600."
    before = spark.conf.get("spark.sql.execution.arrow.maxRecordsPerBatch")
    spark.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", "50")
    try:
        assert derived(spark, text) == expected(text)
    finally:
        spark.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", before or "10000")


def test_settings_of_the_session_are_as_before(spark: SparkSession) -> None:
    keys = [setting.key for setting in round_settings(7)]
    before = [spark.conf.get(key, None) for key in keys]
    with settings_for_rounds(spark, 7):
        assert spark.conf.get("spark.sql.shuffle.partitions") == "7"
    assert [spark.conf.get(key, None) for key in keys] == before


def test_an_expression_without_a_value_can_stop_the_run(spark: SparkSession) -> None:
    with Derivation(spark, "e(1). e(0). p(1 / X) :- e(X).") as derivation:
        job = NodeJob.of(derivation.graph, derivation.graph.hyper_nodes[0], discards_errors=False)
        with pytest.raises(ProgramError, match="division by zero") as failure:
            RoundsStrategy().run(job, derivation.store, derivation.context)
        assert failure.value.diagnostics[0].message.startswith("in rule r1: 1 / X has no value")
