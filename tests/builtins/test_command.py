"""`corollary builtins`, run as its users run it."""

from __future__ import annotations

from pathlib import Path

from corollary.program.builtins import BUILTINS
from tests.cli.command import corollary


def test_all_built_ins_are_listed(tmp_path: Path) -> None:
    run = corollary("builtins", cwd=tmp_path)
    assert run.returncode == 0
    assert sum(line.startswith("  ") for line in run.stdout.splitlines()) == len(BUILTINS)
    assert "  pred:contains(string, string) → boolean" in run.stdout


def test_one_is_explained_by_any_of_its_names(tmp_path: Path) -> None:
    expected = corollary("builtins", "func:numeric-add", cwd=tmp_path).stdout
    assert "ADD(0.1, 0.2) = 0.3" in expected
    assert corollary("builtins", "ADD", cwd=tmp_path).stdout == expected
    assert corollary("builtins", "numeric_add", cwd=tmp_path).stdout == expected
    assert corollary("builtins", "+", cwd=tmp_path).stdout == expected
    assert corollary("builtins", "xs:integer", cwd=tmp_path).stdout.startswith("xsd:integer(any) → xsd:integer\n")


def test_a_part_of_a_name_finds_several(tmp_path: Path) -> None:
    found = corollary("builtins", "year-from", cwd=tmp_path).stdout.split("\n\n")
    assert [one.split("(")[0] for one in found] == ["func:year-from-dateTime", "func:year-from-date"]


def test_an_unknown_name_is_an_error_with_a_hint(tmp_path: Path) -> None:
    run = corollary("builtins", "substrin_before", cwd=tmp_path)
    assert (run.returncode, run.stdout) == (2, "")
    assert run.stderr == "there is no built-in 'substrin_before': did you mean 'substring_before'?\n"
