"""Equality between two atoms on Spark: a join on keys of values and not all pairs, with the answers of the embedded engine."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from corollary import KnowledgeBase
from corollary.engines.spark.context import SparkSettings
from corollary.engines.spark.maintenance.delta_rules import DeltaRules
from corollary.engines.spark.workspace import Workspace

pytestmark = pytest.mark.spark

RULES = """
next(N, V) :- c(N, C), nat(V), V = C + 1.
same(N, V) :- c(N, C), nat(V), V = C.
wide(X, Y) :- left(X), right(Y), X = Y.
other(X, Y) :- left(X), right(Y), X = Y, X != 7.
"""
NUMBERS = [
    "1",
    "1.0",
    "1.0e0",
    "0.1",
    "0.1e0",
    "0.5",
    "0.5e0",
    "0",
    "9007199254740993",
    "9007199254740992.0e0",
]
LONG = ["-0.0e0", "123456789012345678901234567890", "1.5e300", "0.12345678901234567890123456789"]
OTHERS = [
    '"1"',
    "true",
    "<http://e.org/1>",
    '"2026-01-31T12:00:00Z"^^xsd:dateTime',
    '"2026-01-31T13:00:00+01:00"^^xsd:dateTime',
]
PREFIX = "@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .\n"
PAIRS = ("NestedLoop", "Cartesian")


@pytest.fixture
def plans(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The plans of all jobs that derive, or follow a change."""
    found: list[str] = []
    write, run = Workspace._write_to, DeltaRules._run_together

    def plan_of(df: Any) -> str:
        return str(df._jdf.queryExecution().executedPlan().toString())

    def writing(self: Workspace, path: str, df: DataFrame) -> Any:
        found.append(plan_of(df))
        return write(self, path, df)

    def running(self: DeltaRules, frames: Any) -> Any:
        found.extend(plan_of(df) for _, df in frames)
        return run(self, frames)

    monkeypatch.setattr(Workspace, "_write_to", writing)
    monkeypatch.setattr(DeltaRules, "_run_together", running)
    return found


def facts(name: str, constants: list[str]) -> str:
    return " ".join(f"{name}({one})." for one in constants)


def compared(kb: KnowledgeBase, expected: KnowledgeBase) -> None:
    for name in ("next", "same", "wide", "other"):
        assert set(kb.facts(name).constants()) == set(expected.facts(name).constants()), name


def test_numbers_are_joined_by_value_and_so_are_changes(spark: SparkSession, plans: list[str]) -> None:
    program = PREFIX + RULES + facts("left", NUMBERS) + facts("right", NUMBERS[::-1])
    settings = SparkSettings(strategy="rounds", partitions=2, task_change_facts=0, recompute_facts=0, driver_facts=0)
    with KnowledgeBase(program, engine=spark, spark_settings=settings) as kb:
        expected = KnowledgeBase(program)
        for one in (kb, expected):
            one.insert("c", [(n, n % 50) for n in range(100)])
            one.insert("nat", [(n,) for n in range(60)])
        compared(kb, expected)
        assert kb.count("next") == 100
        for one in (kb, expected):
            with one.transaction() as tx:
                tx.insert("c", [(1000, 5)])
                tx.delete("nat", [(1,)])
                tx.delete("left", [(1.0,)])
                tx.insert("right", [(0.5,)])
        compared(kb, expected)
    assert len(plans) > 8
    assert [plan for plan in plans if any(word in plan for word in PAIRS)] == []


def test_what_has_no_key_is_compared_all_the_same(spark: SparkSession) -> None:
    program = PREFIX + RULES + facts("left", [*NUMBERS, *LONG, *OTHERS]) + facts("right", [*OTHERS, *LONG, *NUMBERS])
    program += (
        facts("nat", [*NUMBERS, *LONG, *OTHERS]) + " c(1, 1.0e0). c(2, 0.5). c(3, 123456789012345678901234567889)."
    )
    with KnowledgeBase(program, engine=spark, spark_settings=SparkSettings(strategy="rounds", partitions=2)) as kb:
        compared(kb, KnowledgeBase(program))


WINDOWS = """
near(N, V) :- c(N, C), nat(V), C < V, V < C + 3.
far(N, V) :- c(N, C), nat(V), V - 5 >= C, 2 + V <= C + 9.
none(N, V) :- c(N, C), nat(V), V > C, V < C.
exactly(N, V) :- c(N, C), nat(V), V >= C + 1, V <= C + 1.
"""


def test_windows_of_integers_are_joins_on_bins_and_so_are_changes(spark: SparkSession, plans: list[str]) -> None:
    settings = SparkSettings(strategy="rounds", partitions=2, task_change_facts=0, recompute_facts=0, driver_facts=0)
    with KnowledgeBase(WINDOWS, engine=spark, spark_settings=settings) as kb:
        expected = KnowledgeBase(WINDOWS)
        for one in (kb, expected):
            one.insert("c", [(n, n * 7 % 50 - 20) for n in range(100)])
            one.insert("nat", [(n,) for n in range(-30, 40)] + [(2**61 - 1,), (-(2**61),)])
        for _ in range(2):
            for name in ("near", "far", "none", "exactly"):
                assert set(kb.facts(name).constants()) == set(expected.facts(name).constants()), name
            assert kb.count("near") > 50
            assert kb.count("exactly") > 50
            for one in (kb, expected):
                with one.transaction() as tx:
                    tx.insert("c", [(1000, 5), (1001, -7)])
                    tx.delete("nat", [(1,), (-2,)])
    assert [plan for plan in plans if any(word in plan for word in PAIRS)] == []


def test_windows_of_other_numbers_are_right(spark: SparkSession) -> None:
    program = (
        PREFIX + WINDOWS + facts("nat", [*NUMBERS, *LONG, *OTHERS]) + " c(1, 1.0e0). c(2, 0.5). c(3, 9007199254740991)."
    )
    with KnowledgeBase(program, engine=spark, spark_settings=SparkSettings(strategy="rounds", partitions=2)) as kb:
        expected = KnowledgeBase(program)
        for name in ("near", "far", "none", "exactly"):
            assert set(kb.facts(name).constants()) == set(expected.facts(name).constants()), name
