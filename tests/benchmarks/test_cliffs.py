"""The benchmarks of costs that must not jump: small ones run and give the right numbers."""

from __future__ import annotations

import pytest

from benchmarks.__main__ import main
from benchmarks.cliffs.experiments import EXPERIMENTS, SIZES, run_experiment
from benchmarks.spark.record import Outcome


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=[pytest.mark.slow] * (name in ("facts", "rules", "joins"))) for name in EXPERIMENTS],
)
def test_an_experiment_on_small_data_gives_the_right_numbers(name: str) -> None:
    outcome = Outcome(name, "quick")
    EXPERIMENTS[name](outcome, SIZES["quick"])
    check(outcome)


def test_an_experiment_runs_once_before_it_is_measured() -> None:
    check(run_experiment("rounds", "quick"))


def check(outcome: Outcome) -> None:
    assert not outcome.problems
    assert not outcome.verdicts
    assert outcome.figures


def test_the_names_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["cliffs", "--list"]) == 0
    assert capsys.readouterr().out.split() == list(EXPERIMENTS)
