"""The benchmark of modules: on small data, modules save the orders of magnitude of rule instances that they are for."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from benchmarks.__main__ import main
from benchmarks.modules import child, command
from benchmarks.modules.programs import BENCHMARKS
from benchmarks.modules.trial import (
    ALGORITHMS,
    CHANGES,
    COUNTING,
    DERIVE,
    LARGE_DELETIONS,
    MAT,
    MAT_MOD,
    MODULAR,
    SMALL_DELETIONS,
    Trial,
    run_trial,
)

SCALES = {"places": 0.2, "universities": 0.1, "categories": 0.1, "dag-r": 0.1}


@cache
def trial(name: str, algorithm: str) -> Trial:
    return run_trial(name, algorithm, scale=SCALES[name], sets=2)


@pytest.mark.parametrize("name", BENCHMARKS)
def test_all_algorithms_find_the_same_facts(name: str) -> None:
    derived = {trial(name, algorithm).costs[DERIVE].facts for algorithm in ALGORITHMS}
    assert len(derived) == 1
    for change in CHANGES:
        assert trial(name, MODULAR).costs[change].facts == trial(name, COUNTING).costs[change].facts


@pytest.mark.parametrize("name", BENCHMARKS)
def test_modules_never_try_more_instances(name: str) -> None:
    assert trial(name, MAT_MOD).costs[DERIVE].instances <= trial(name, MAT).costs[DERIVE].instances
    for change in CHANGES:
        assert trial(name, MODULAR).costs[change].instances <= trial(name, COUNTING).costs[change].instances


@pytest.mark.parametrize("name", ["places", "categories"])
def test_small_deletions_from_closures_among_other_rules_take_far_fewer_instances(name: str) -> None:
    modular, counting = (trial(name, algorithm).costs[SMALL_DELETIONS].instances for algorithm in (MODULAR, COUNTING))
    assert 20 * modular < counting


def test_places_are_derived_with_a_tenth_of_the_instances() -> None:
    assert 10 * trial("places", MAT_MOD).costs[DERIVE].instances < trial("places", MAT).costs[DERIVE].instances


def test_on_an_acyclic_graph_no_instance_is_tried() -> None:
    modular, counting = trial("dag-r", MODULAR), trial("dag-r", COUNTING)
    assert not any(cost.instances for cost in modular.costs.values())
    assert all(counting.costs[name].instances > 50_000 for name in (DERIVE, SMALL_DELETIONS, LARGE_DELETIONS))


def test_tables_stand_beside_those_of_the_paper() -> None:
    trials = {("dag-r", algorithm): trial("dag-r", algorithm) for algorithm in (MAT, MAT_MOD, MODULAR)}
    first, small, *_ = command.sheets(trials, limit=60)
    assert first.rows[0][:6] == [
        "dag-r",
        "1,000",
        f"{trials['dag-r', MAT].costs[DERIVE].facts - 1000:,}",
        "1",
        "1",
        "0",
    ]
    assert small.rows[0][4:] == ["failed", "", "3,005.11"]


def test_what_reaches_the_limit_is_left_out() -> None:
    found = run_trial("dag-r", COUNTING, scale=0.3, limit=0.0)
    assert not found.costs
    rows = [sheet.rows[0] for sheet in command.sheets({("dag-r", COUNTING): found}, limit=60)]
    assert rows[1][4:6] == ["> 60", ""]


def test_names_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["modules", "--list"]) == 0
    assert capsys.readouterr().out.split() == list(BENCHMARKS)


def test_results_are_written_into_a_document(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def in_this_process(module: str, *arguments: str, seconds: float) -> Any:
        capsys.readouterr()
        child.main(*arguments)
        return json.loads(capsys.readouterr().out)

    monkeypatch.setattr(command, "run_in_process", in_this_process)
    page = tmp_path / "modules.md"
    page.write_text("<!-- results of modules: begin -->\n<!-- results of modules: end -->\n")
    assert main(["modules", "dag-r", "--scale", "0.05", "--sets", "1", "--markdown", str(page)]) == 0
    assert "Paper 002, Table 2: large deletions" in page.read_text()
