"""The benchmarks of knowledge bases in a directory: small ones run and give the right numbers."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks.__main__ import main
from benchmarks.store.experiments import EXPERIMENTS, run_experiment


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_an_experiment_on_small_data_gives_the_right_numbers(name: str) -> None:
    outcome = run_experiment(name, "quick")
    assert not outcome.problems
    assert not outcome.verdicts
    assert all(figure.value >= 0 for figure in outcome.figures)


def test_the_report_is_written_as_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["store", "closure", "--quick", "--json", str(tmp_path / "report.json")]) == 0
    report = json.loads((tmp_path / "report.json").read_text())
    assert [experiment["experiment"] for experiment in report["experiments"]] == ["closure"]
    assert "bytes per fact" in capsys.readouterr().out


def test_the_names_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["store", "--list"]) == 0
    assert capsys.readouterr().out.split() == list(EXPERIMENTS)
