"""The benchmarks of the Spark engine: tiny ones run and give the right numbers; choosing, judging, and the report as JSON."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from rich.console import Console

from benchmarks.__main__ import main
from benchmarks.data import INPUTS
from benchmarks.experiments import UnknownName, chosen_of
from benchmarks.spark import against_loop, plain_loop, runs, short_rounds, suite
from benchmarks.spark.command import print_verdicts
from benchmarks.spark.experiments import EXPERIMENTS, run_experiment
from benchmarks.spark.inputs import copies, directory_of, rows_directory, tree, triples_file
from benchmarks.spark.record import Outcome
from benchmarks.spark.sizes import BY_NAME, FULL, TINY
from benchmarks.spark.suite import Report
from corollary import KnowledgeBase
from tests.services.spark_session import shared_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(scope="module")
def spark() -> SparkSession:
    """The session of this process, which the experiments use as well, and tests of databases after them."""
    return shared_session()


def figures(outcome: Outcome) -> dict[tuple[str, str], float]:
    return {(figure.case, figure.what): figure.value for figure in outcome.figures}


EXPERIMENT_CASES = [pytest.param(name, marks=[pytest.mark.spark, pytest.mark.slow]) for name in EXPERIMENTS]


# -- tiny experiments --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", EXPERIMENT_CASES)
def test_tiny_experiments_give_the_right_numbers(name: str, spark: SparkSession) -> None:
    outcome = run_experiment(name, TINY)
    assert outcome.problems == []
    assert outcome.figures
    assert all(figure.value >= 0 for figure in outcome.figures)
    assert outcome.verdicts == []  # tiny data have no targets


@pytest.mark.slow
@pytest.mark.spark
def test_every_short_round_is_seen(spark: SparkSession) -> None:
    outcome = Outcome("rounds", "tiny")
    short_rounds.run(outcome, replace(TINY, known=0), lambda: spark)
    assert figures(outcome)["chain", "rounds"] == TINY.rounds - 1


@pytest.mark.spark
def test_the_plain_loop_is_right_and_stops_when_its_time_is_up(spark: SparkSession, tmp_path: Path) -> None:
    chain = rows_directory("chain", lambda: {"edge": [(node, node + 1) for node in range(12)]}, tmp_path) / "edge.tsv"
    whole = plain_loop.closure(spark, chain, 60.0)
    assert (whole.rows, whole.finished) == (12 * 13 // 2, True)
    cut = plain_loop.closure(spark, chain, 0.0)
    assert cut.rows < whole.rows
    assert not cut.finished


@pytest.mark.spark
def test_a_wrong_number_of_answers_is_a_problem(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    case = against_loop.CASES["tc-random"]
    wrong = replace(case, loop=lambda *_: plain_loop.Loop(7, 1, 1.0, True))
    monkeypatch.setattr(against_loop, "CASES", {case.name: wrong})
    outcome = run_experiment("plain-loop", TINY)
    facts = int(figures(outcome)["tc-random", "facts"])
    assert outcome.problems == [f"plain-loop, tc-random, plain loop: 7 answers, not {facts:,}"]


# -- data --------------------------------------------------------------------------------------------------------------


def test_the_tree_is_the_one_of_the_other_benchmarks() -> None:
    assert tree(FULL.tree, seed=4) == INPUTS["sg-tree"]()["par"]


def test_copies_of_a_graph_have_no_node_in_common() -> None:
    assert copies([(0, 1), (1, 2)], 2, 3) == [(0, 1), (1, 2), (3, 4), (4, 5)]


def test_triples_are_different_and_read_by_the_embedded_engine(tmp_path: Path) -> None:
    kb = KnowledgeBase()
    assert kb.load("triple", triples_file(1_003, tmp_path)) == 1_003
    assert not kb.rejects


def test_files_are_written_once(tmp_path: Path) -> None:
    written: list[Path] = []
    directories = {directory_of("one", written.append, tmp_path) for _ in range(2)}
    assert (len(directories), len(written)) == (1, 1)


def test_a_run_that_publishes_counts_what_it_wrote(tmp_path: Path) -> None:
    directory = rows_directory("pair", lambda: {"p": [(1, 2), (2, 3)]}, tmp_path)
    run = runs.run_program("q(X) :- p(X, Y).", directory, "embedded", ["q"], publishes=True)
    assert (run.counts, list(run.seconds)) == ({"q": 2}, ["load", "derive", "publish"])


# -- choosing, judging, telling ----------------------------------------------------------------------------------------


def judged() -> Report:
    outcome = Outcome("rounds", "full")
    outcome.add("chain", "a round", 300.0, "ms", target=250.0)
    outcome.add("chain", "times the loop", 12.0, "x", target=10.0, less=False)
    outcome.add("chain", "facts", 5, "")
    return Report(outcomes={"rounds": outcome})


def test_figures_with_a_target_are_judged() -> None:
    assert [(verdict.what, verdict.met) for verdict in judged().verdicts] == [
        ("a round, ms", False),
        ("times the loop, x", True),
    ]


def test_an_outcome_is_the_same_after_json() -> None:
    outcome = judged().outcomes["rounds"]
    assert Outcome.of(json.loads(json.dumps(outcome.as_dict()))) == outcome


def test_the_report_shows_targets_and_problems(capsys: pytest.CaptureFixture[str]) -> None:
    report = judged()
    report.failures.append("spill ended with 1")
    print_verdicts(report, Console(width=120))
    shown = capsys.readouterr().out
    assert "MISS" in shown
    assert "PASS" in shown
    assert "WRONG  spill ended with 1" in shown


def test_names_and_patterns_choose() -> None:
    assert chosen_of(EXPERIMENTS, []) == list(EXPERIMENTS)
    assert chosen_of(EXPERIMENTS, ["s*", "rounds"]) == ["rounds", "scale", "spill"]
    with pytest.raises(UnknownName, match="there is no experiment 'round'; there are plain-loop"):
        chosen_of(EXPERIMENTS, ["round"])


def test_the_command_writes_json_and_tells_of_problems_by_its_exit_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked: list[tuple[str, str]] = []

    def run_one(name: str, sizes: object) -> Outcome | str:
        asked.append((name, getattr(sizes, "name", "")))
        return judged().outcomes["rounds"] if name == "rounds" else f"{name} ended with 1"

    monkeypatch.setattr(suite, "_run_one", run_one)
    file = tmp_path / "report.json"
    assert main(["spark", "rounds", "--json", str(file)]) == 0
    assert main(["spark", "spill", "--quick"]) == 1
    assert asked == [("rounds", "full"), ("spill", "quick")]
    document = json.loads(file.read_text())
    assert [one["met"] for one in document["verdicts"]] == [False, True]
    assert document["experiments"][0]["experiment"] == "rounds"
    assert {"spark", "cores", "memory_mb", "load_before", "sizes", "problems"} <= set(document)
    capsys.readouterr()
    assert main(["spark", "--list"]) == 0
    assert capsys.readouterr().out.splitlines() == list(EXPERIMENTS)


def test_sizes_grow() -> None:
    tiny, quick, full = BY_NAME["tiny"], BY_NAME["quick"], BY_NAME["full"]
    assert tiny.triples < quick.triples < full.triples
    assert full.walkers * (full.steps + 1) * 24 > 1 << 30  # more than the heap of the experiment that spills
