"""The worked examples of papers 000 and 002 about changes, on Spark, all of them in one knowledge base."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from corollary import KnowledgeBase
from corollary.engines.spark.context import SparkSettings
from corollary.language import parse_program
from corollary.program import Clause
from corollary.reasoning.maintain.report import StepReport
from corollary.transactions import TransactionResult
from tests.engine_suite.scripts import State, follow
from tests.engines.spark.derivation_counts import recount
from tests.generator import Change, Scenario
from tests.papers.test_maintenance import FACTS, RUNNING, four_chains
from tests.papers.texts import RULE_8, RULE_SET_2

pytestmark = pytest.mark.spark

COUNTERS = """
a(1). b(1). c(1, 2).
n1: h(X) :- a(X).
n2: h(X) :- b(X).
n3: h(Y) :- h(X), c(X, Y).
n4: h(X) :- h(Y), c(X, Y).
"""
RULE_4 = "r4: p4(X,Y) :- p2(X,Y)."
# What p11 needs of rule set 2, and one hyper-node that reads it.
SET_2 = "\n".join(line for line in RULE_SET_2.split("\n") if line.split(":")[0] in ("r1", "r2", "r3", "r9"))
RULE_1 = "r1: p11(X, Y) :- p1(X, Y)."


def clauses(text: str) -> tuple[Clause, ...]:
    return tuple(parse_program(text).of_type(Clause))


SCRIPTS = [
    # 002: h(1) has two derivations without recursion. When one goes it stays, when both go it does not support itself.
    Scenario(parse_program(COUNTERS), (Change(delete=(("a", (1,)),)), Change(delete=(("b", (1,)),)))),
    # 000, 4.4: rule 8 makes a hyper-node larger, and smaller again; without rule 4 it falls apart, and comes together again.
    Scenario(parse_program(RUNNING + FACTS), (Change(add_rules=clauses(RULE_8)), Change(remove_rules=("r8",)))),
    Scenario(parse_program(RUNNING + FACTS), (Change(remove_rules=("r4",)), Change(add_rules=clauses(RULE_4)))),
    # 000, rule set 2: p11 empties without r1, although the facts of {r2, r3} support each other.
    Scenario(parse_program(SET_2 + four_chains(2)), (Change(remove_rules=("r1",)), Change(add_rules=clauses(RULE_1)))),
]


@pytest.mark.parametrize(
    "strategy",
    ["dred-counting", *(pytest.param(other, marks=pytest.mark.slow) for other in ("auto", "dred", "recompute"))],
)
def test_the_examples_give_what_the_oracle_does_and_go_on_from_what_they_had(
    spark: SparkSession, strategy: str
) -> None:
    limits = SparkSettings(partitions=2, task_change_facts=0, recompute_facts=0)
    results: list[TransactionResult] = []

    def check(kb: KnowledgeBase, result: TransactionResult, state: State) -> None:
        recount(kb, result, state)
        results.append(result)

    follow(SCRIPTS, check=check, engine=spark, strategy=strategy, spark_settings=limits).close()
    first, second = results
    if strategy == "recompute":
        return
    before, after = ({step.owner: step for step in result.report.steps} for result in (first, second))
    larger = before["{1 r2, 1 r3, 1 r4, 1 r8}"]
    assert (larger.strategy != "recompute", larger.reason) == (True, "went on from what it had (+1 r8)")
    assert (larger.overdeleted, larger.deleted) == (0, 0)
    smaller = after["{1 r2, 1 r3, 1 r4}"]
    assert smaller.reason.startswith("went on from what it had (-1 r8)")
    assert smaller.deleted == larger.inserted
    together = after["{2 r2, 2 r3, 2 r4}"]
    assert together.reason == "went on from what it had (+2 r4)"
    assert not {"{1 r1}", "{2 r1}"} & {*before, *after}  # nothing that they read has changed
    assert is_counted(before["{0 n3, 0 n4}"]) is False  # b still supports 1: nothing is in doubt
    assert is_counted(after["{0 n3, 0 n4}"]) is (strategy == "dred-counting")


def is_counted(step: StepReport) -> bool:
    return "counted the derivations" in step.reason
