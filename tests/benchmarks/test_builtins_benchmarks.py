"""The benchmarks of built-ins: on small data they run and give the right numbers."""

from __future__ import annotations

import pytest

from benchmarks.__main__ import main
from benchmarks.builtins.experiments import CASES, EXPERIMENTS, run_experiment


def test_the_embedded_engine_on_small_data_gives_the_right_numbers() -> None:
    outcome = run_experiment("embedded", "quick")
    assert not outcome.problems
    assert not outcome.verdicts
    assert [figure.case for figure in outcome.figures if figure.what.startswith("applied")] == list(CASES)


def test_the_names_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["builtins", "--list"]) == 0
    assert capsys.readouterr().out.split() == list(EXPERIMENTS)
