"""The engine suite's programs, and files in and out, on a cluster whose machines share one directory."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from corollary import KnowledgeBase
from corollary.engines.spark.ingest import Ingest
from corollary.engines.spark.strategies.chooser import STRATEGIES
from corollary.language import parse_program
from tests.engine_suite.many_programs import answers_of, facts_of, parsed, together
from tests.engine_suite.test_golden_programs import GOLDEN
from tests.engines.spark.engine_runs import EngineRun
from tests.engines.spark.test_engine import PROGRAMS
from tests.oracle import evaluate
from tests.services.spark_cluster import SparkCluster

pytestmark = [pytest.mark.slow, pytest.mark.spark, pytest.mark.cluster, pytest.mark.xdist_group("cluster")]

READ_BY_TASKS = -1
"""No file is small enough for the driver."""
FLIGHTS = """
    reach(X, Y) :- flight(X, Y).
    reach(X, Z) :- flight(X, Y), reach(Y, Z).
    hub(X, count(Y)) :- flight(X, Y).
    one_way(X, Y) :- reach(X, Y), not reach(Y, X).
"""


def golden(topic: str) -> list[str]:
    return [path.read_text(encoding="utf-8") for path in sorted((GOLDEN / topic).rglob("program.dl"))]


def test_every_golden_program_has_the_facts_and_answers_of_the_oracle(spark: SparkSession) -> None:
    programs = parsed(golden(""))
    with EngineRun(spark, together(programs)) as run:
        found = run.facts()
    for number, program in enumerate(programs):
        expected = {name: facts for name, facts in evaluate(program).items() if facts}
        assert facts_of(number, found) == expected
    assert any(answers_of(number, program, found) for number, program in enumerate(programs))


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_every_strategy_gives_the_facts_of_the_oracle(spark: SparkSession, strategy: str) -> None:
    texts = [*PROGRAMS[::3], *golden("recursion")[:4]]
    with EngineRun(spark, together(parsed(texts)), strategy=strategy) as run:
        found = run.facts()
        assert strategy in run.strategies.values()
    for number, text in enumerate(texts):
        assert facts_of(number, found) == {
            name: facts for name, facts in evaluate(parse_program(text)).items() if facts
        }


@pytest.mark.parametrize("form", ["csv", "parquet", "delta"])
def test_files_in_and_out_through_a_directory_that_all_share(
    cluster: SparkCluster, spark: SparkSession, monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    monkeypatch.setitem(Ingest.__init__.__kwdefaults__, "small_file", READ_BY_TASKS)
    folder = cluster.shared / f"files-{form}"
    folder.mkdir()
    flights = "".join(f"city {n},city {(n * n + 1) % 40}\n" for n in range(40))
    (folder / "flight.csv").write_text(flights + "München,東京\nbroken\n", encoding="utf-8")
    embedded = KnowledgeBase(FLIGHTS)
    with KnowledgeBase(FLIGHTS, engine=spark, workspace=str(cluster.shared / "workspaces")) as kb:
        for one in (kb, embedded):
            one.load("flight", folder / "flight.csv")
        assert list(map(str, kb.rejects)) == list(map(str, embedded.rejects))
        for predicate in ("reach", "hub", "one_way"):
            assert sorted(kb.facts(predicate)) == sorted(embedded.facts(predicate))
        target = folder / f"one_way.{form}"
        kb.write("one_way", target)
    assert read_back(target) == sorted(embedded.facts("one_way"))
    assert not list((cluster.shared / "workspaces").iterdir())
    assert sorted(path.name for path in folder.iterdir()) == sorted(["flight.csv", target.name])


def read_back(path: Path) -> list[tuple[object, ...]]:
    kb = KnowledgeBase()
    kb.load("p", path)
    return sorted(kb.facts("p"))
