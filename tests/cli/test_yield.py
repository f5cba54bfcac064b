"""`corollary yield`."""

import json
from pathlib import Path

import pytest

from tests.cli.command import corollary, write

PROGRAM = """
r1: h(X, Z) :- a(X, Y), b(Y, Z).
r2: g(X, N) :- a(X, Y), N = Y + 1.
a(1, 2). a(1, 7).
"""
LOCATED = "r13: q(@X, Y) :- l(X, @A), p(@A, Y). l(2, 1). l(6, 5). p(1, 1). p(5, 6).\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write(tmp_path, program_dl=PROGRAM, located_dl=LOCATED, plain_dl="r1: h(X, count(Y)) :- a(X, Y).\n")
    (tmp_path / "facts").mkdir()
    (tmp_path / "facts" / "b.csv").write_text("2,3\n")
    return tmp_path


def test_all_rules_with_an_index_are_shown(folder: Path) -> None:
    done = corollary("yield", "program.dl", "--facts", "facts", cwd=folder)
    assert done.returncode == 0
    lines = done.stdout.splitlines()
    assert lines[0] == "r1: h(X, Z) :- a(X, Y), b(Y, Z)."
    assert "MCE  b.1 = a.2 (IS)" in lines
    assert "  T     2    a(1, 2)  b(2, 3)" in lines
    assert "  F     7    a(1, 7)  b: none" in lines
    assert "rule 'r2' has no Yield index to look at: it computes values" in done.stderr


def test_as_json_it_has_everything(folder: Path) -> None:
    done = corollary(
        "yield", "program.dl", "--facts", "facts", "--rule", "r1", "-f", "json", "--limit", "1", cwd=folder
    )
    (found,) = json.loads(done.stdout)
    assert [one["fire"] for one in found["links"][0]["entries"]] == [True, False, True]
    assert found["mce"] == [{"element": "b.1 = a.2", "type": "IS"}]
    assert found["instances"] == ["h(1, 3)"]


def test_the_ending_of_the_file_chooses_the_format(folder: Path) -> None:
    for name, start in (("index.svg", "<?xml"), ("index.json", "["), ("index.txt", "r1: ")):
        done = corollary("yield", "program.dl", "--rule", "r1", "-o", name, cwd=folder)
        assert (done.returncode, done.stdout) == (0, "")
        assert (folder / name).read_text().startswith(start)


def test_a_node_runs_rules_with_locations(folder: Path) -> None:
    done = corollary("yield", "located.dl", "--address", "1", cwd=folder)
    assert "l.2 = local address (AddressS)" in done.stdout
    assert done.stdout.splitlines()[-2:] == ["instances: 1", "  q(2, 1)"]


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["program.dl", "--rule", "r3"], 1, "E206"),
        (["program.dl", "--rule", "r2"], 1, "E210"),
        (["plain.dl"], 1, "there is no rule with a Yield index"),
        (["program.dl", "--address", "1"], 2, "no rule has a location"),
        (["located.dl", "--address", "X, 1"], 2, "is not a constant"),
        (["program.dl", "-o", "none/index.svg"], 2, "cannot write"),
    ],
)
def test_mistakes_have_hints(folder: Path, arguments: list[str], code: int, said: str) -> None:
    done = corollary("yield", *arguments, cwd=folder)
    assert (done.returncode, done.stdout) == (code, "")
    assert said in done.stderr
