"""Each example runs without a warning and prints what its expected.txt says; UPDATE_GOLDEN=1 rewrites that file."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

from corollary.analysis import analyse_texts
from corollary.language import read_source
from tests.docs.console import rewrites_expectations, shown_by

EXAMPLES = Path(__file__).parents[2] / "examples"
NAMES = sorted(path.name for path in EXAMPLES.iterdir() if path.is_dir())


def programs_of(name: str) -> list[str]:
    """The rules and queries first, then the facts."""
    files = sorted(path.name for path in (EXAMPLES / name).glob("*.dl"))
    return sorted(files, key=lambda file: file != f"{name}.dl")


def test_the_promised_examples_are_there() -> None:
    assert set(NAMES) >= {"family", "ontology", "reachability", "same_generation", "wind_farm"}


@pytest.mark.parametrize("name", NAMES)
def test_an_example_prints_what_is_expected(name: str) -> None:
    shown = shown_by(f"corollary run {' '.join(programs_of(name))}", EXAMPLES / name) + "\n"
    golden = EXAMPLES / name / "expected.txt"
    if rewrites_expectations():
        golden.write_text(shown, encoding="utf-8")
    assert shown == golden.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", NAMES)
def test_an_example_gives_rise_to_no_doubts(name: str) -> None:
    sources = [read_source(EXAMPLES / name / program) for program in programs_of(name)]
    assert analyse_texts(*sources).diagnostics == ()


def test_the_wind_farm_is_the_one_that_its_generator_writes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    generate(monkeypatch, "--out", str(tmp_path))
    for name in ("neighbour.csv", "temperature.csv"):
        assert (tmp_path / name).read_text("utf-8") == (EXAMPLES / "wind_farm" / "farm" / name).read_text("utf-8")


def test_a_larger_farm_has_as_many_turbines_as_wished(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    generate(monkeypatch, "--turbines", "45", "--farms", "4", "--out", str(tmp_path))
    rows = (tmp_path / "temperature.csv").read_text("utf-8").splitlines()
    assert len(rows) == len({row.split(",")[0] for row in rows}) == 45


def generate(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> None:
    monkeypatch.setattr("sys.argv", ["generate.py", *arguments])
    runpy.run_path(str(EXAMPLES / "wind_farm" / "generate.py"), run_name="__main__")
