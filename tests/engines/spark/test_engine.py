"""The Spark engine: every strategy gives the facts of the oracle, and a task that derives too much hands over."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from itertools import pairwise
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from corollary.diagnostics import ProgramError
from corollary.engines.spark.strategies.chooser import STRATEGIES
from corollary.language import parse_program, parse_query
from corollary.reasoning.run import Run
from tests.engine_suite.many_programs import facts_of, parsed, together
from tests.engines.spark.engine_runs import EngineRun
from tests.oracle import answer, evaluate

pytestmark = pytest.mark.spark

CHAIN = "edge(1, 2). edge(2, 3). edge(3, 4). edge(4, 5). edge(7, 7). edge(8, 9). edge(9, 8). "
PATHS = "path(X, Y) :- edge(X, Y). "
PROGRAMS = [
    CHAIN + PATHS + "path(X, Z) :- edge(X, Y), path(Y, Z).",
    CHAIN + PATHS + "path(X, Z) :- path(X, Y), edge(Y, Z). path(5, 1).",
    CHAIN + PATHS + "path(X, Z) :- path(X, Y), path(Y, Z). far(X, count(Y)) :- path(X, Y).",
    CHAIN + PATHS + "path(X, Z) :- path(X, Y), path(Y, Z), X != Z.",
    CHAIN + PATHS + "path(Y, X) :- path(X, Y). path(X, Z) :- path(X, Y), path(Y, Z).",
    CHAIN + PATHS + "path(Y, X) :- path(X, Y). path(X, Z) :- path(X, Y), path(Y, Z), X != Z. path(3, 3).",
    # A guard compares values: 1 and 1.0e0 are two constants of equal value, so that a closure would be wrong.
    "p(1, 2). p(2, 1.0e0). p(1.0e0, 3). p(X, Z) :- p(X, Y), p(Y, Z), X != Z.",
    "p(1, 2). p(2, 1.0e0). p(Y, X) :- p(X, Y). p(X, Z) :- p(X, Y), p(Y, Z), X != Z.",
    CHAIN + "reach(X, Y) :- start(X), edge(X, Y). reach(X, Z) :- reach(X, Y), edge(Y, Z), not closed(X, Z). "
    "start(1). start(8). closed(1, 4). closed(8, 8).",
    CHAIN + "a(X, Y) :- edge(X, Y). b(Y, X) :- a(X, Z), edge(Z, Y). a(X, Y) :- b(Y, X), X != Y.",
    "par(1, 2). par(1, 3). par(2, 4). par(3, 5). sg(X, Y) :- par(P, X), par(P, Y), X != Y. "
    "sg(X, Y) :- par(A, X), sg(A, B), par(B, Y).",
    'n("a", 0). n(X, N + 1) :- n(X, N), N < 5. t(X, concat(X, "b")) :- n(X, 5). last(X, max(N)) :- n(X, N).',
    "go :- on(1). on(1). stay :- go, not off(1). nothing(X) :- on(X), off(X).",
]


def oracle(text: str) -> dict[str, object]:
    return {predicate: facts for predicate, facts in evaluate(parse_program(text)).items() if facts}


@pytest.mark.parametrize(
    "strategy",
    # By rounds these take the longest; `test_rounds.py` runs rules of all kinds by rounds as well.
    [None, *(pytest.param(one, marks=[pytest.mark.slow] if one == "rounds" else []) for one in STRATEGIES)],
)
def test_every_strategy_gives_the_facts_of_the_oracle(spark: SparkSession, strategy: str | None) -> None:
    with EngineRun(spark, together(parsed(PROGRAMS)), strategy=strategy) as run:
        found = run.facts()
        used = set(run.strategies.values())
    assert [facts_of(number, found) for number in range(len(PROGRAMS))] == [oracle(text) for text in PROGRAMS]
    assert used == {strategy or "single-task"} | ({"single-task"} if strategy in ("closure", "decomposable") else set())


def test_a_whole_small_program_is_one_task(spark: SparkSession) -> None:
    with EngineRun(spark, PROGRAMS[2]) as run:
        run.engine.materialise()
        reports = run.engine.report.nodes
    assert [(str(one.node), one.strategy, one.new_facts) for one in reports] == [
        ("{r1}", "single-task", 7),
        ("{r2}", "single-task", 8),
        ("{r3}", "single-task", 7),
    ]
    assert {one.reason for one in reports} == {"7 input facts fit into one task, with 3 hyper-nodes"}


def test_a_task_at_its_cap_hands_over(spark: SparkSession) -> None:
    text = PROGRAMS[10] + " elder(X) :- sg(X, _), not par(_, X)."
    with EngineRun(spark, text, task_fact_cap=1) as run:
        found = run.facts()
        reports = run.engine.report.nodes
    assert found == oracle(text)
    assert [report.strategy for report in reports] == ["rounds", "rounds", "single-task"]
    assert reports[0].reason.startswith("single-task stopped as it has derived ")
    assert reports[0].reason.endswith(" facts; no other strategy is left")


def test_a_closure_that_is_too_large_for_one_task_is_dealt_out(spark: SparkSession, monkeypatch) -> None:
    monkeypatch.setattr("corollary.engines.spark.strategies.single_task.PAIRS_ALONE", 5)
    with EngineRun(spark, PROGRAMS[0]) as run:
        found = run.facts()
        assert run.strategies == {"{r1}": "single-task", "{r2}": "closure"}
        assert "single-task stopped as its closure has 8 pairs" in run.engine.report.nodes[1].reason
    assert found == oracle(PROGRAMS[0])


@pytest.mark.parametrize("number", [4, 5, 7])
def test_components_that_no_task_holds(spark: SparkSession, number: int) -> None:
    with EngineRun(spark, PROGRAMS[number], strategy="closure", single_task_facts=2) as run:
        assert run.facts() == oracle(PROGRAMS[number])


def test_constants_with_one_hash_stay_apart(spark: SparkSession) -> None:
    names = [f"name{number}" for number in range(12)]
    facts = " ".join(f'e("{one}", "{two}").' for one, two in pairwise(names))
    text = facts + ' p(X, Y) :- e(X, Y). p(X, Z) :- p(X, Y), e(Y, Z). q(concat(X, "!"), "new") :- p(X, "name11").'
    with EngineRun(spark, text, hash_bits=8) as run:
        assert run.facts() == oracle(text)


@pytest.mark.parametrize(
    "query",
    ["path(1, X)", "path(X, Y), X > Y", "path(1, 2)", "path(2, 1)", "path(1, X), BIND(X * 2.5e0 AS Y)", "none(X)"],
)
@pytest.mark.parametrize("small", [True, False])
def test_answers(spark: SparkSession, paths: EngineRun, query: str, small: bool) -> None:
    parsed_query = parse_query(query, {})
    paths.context.settings = type(paths.context.settings)(partitions=2, single_task_facts=10_000 if small else 1)
    assert paths.answers(parsed_query) == answer(parsed_query, evaluate(paths.program))


@pytest.fixture(scope="module")
def paths(spark: SparkSession):
    with EngineRun(spark, PROGRAMS[0]) as run:
        run.engine.materialise()
        yield run


@pytest.mark.parametrize(("edges", "cycle", "pairs"), [(300, False, 45_150), (150, True, 22_500)])
@pytest.mark.parametrize("rule", ["path(X, Z) :- edge(X, Y), path(Y, Z).", "path(X, Z) :- path(X, Y), path(Y, Z)."])
def test_the_closures_of_chains_and_cycles(spark: SparkSession, edges: int, cycle: bool, pairs: int, rule: str) -> None:
    facts = " ".join(f"edge({n}, {(n + 1) % edges if cycle else n + 1})." for n in range(edges))
    for strategy in ("single-task", "closure", *(["decomposable"] if "edge" in rule else [])):
        with EngineRun(spark, facts + PATHS + rule, strategy=strategy) as run:
            run.engine.materialise()
            assert run.store.rows("path") == pairs, strategy


def test_a_failed_check_cancels_the_jobs_and_leaves_nothing(spark: SparkSession) -> None:
    class TooLong(Exception):
        pass

    started = time.monotonic()

    def check(facts: int) -> None:
        if time.monotonic() - started > 1:
            raise TooLong

    with EngineRun(spark, "n(0). n(X + 1) :- n(X).") as run:
        with pytest.raises(TooLong):
            run.engine.materialise(Run(watch=check))
        assert not run.engine.is_materialised
        assert not run.store.derived
    assert time.monotonic() - started < 60
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("corollary")]


def test_an_expression_without_a_value_can_stop_everything(spark: SparkSession) -> None:
    with EngineRun(spark, 'p("a"). q(X + 1) :- p(X).') as run:
        run.engine._discards_errors = False
        with pytest.raises(ProgramError, match="in rule r1: X \\+ 1 has no value"):
            run.engine.materialise()


def test_other_rules_for_the_same_facts(spark: SparkSession) -> None:
    with EngineRun(spark, PROGRAMS[0]) as run:
        run.engine.materialise()
        from corollary.analysis import RuleGraph

        run.engine.replace_rules(RuleGraph.of(parse_program("path(X, Y) :- edge(Y, X).").rules))
        assert run.facts()["path"] == oracle(CHAIN + "path(X, Y) :- edge(Y, X).")["path"]


def test_an_interrupt_stops_spark_and_leaves_no_file(tmp_path: Path) -> None:
    script = f"""
import os, signal, sys, threading
sys.path.insert(0, {str(Path(__file__).parents[3])!r})
from corollary.engines.spark_session import start_session
from tests.engines.spark.engine_runs import EngineRun
with start_session("test", cores=1, heap_megabytes=1024) as spark:
    with EngineRun(spark, "n(0). n(X + 1) :- n(X).", workspace={str(tmp_path)!r}) as run:
        threading.Timer(5, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
        try:
            run.engine.materialise()
        except KeyboardInterrupt:
            print("interrupted", run.store.derived, run.engine.is_materialised)
"""
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=300)
    assert run.stdout == "interrupted {} False\n", run.stderr
    assert list(tmp_path.iterdir()) == []
