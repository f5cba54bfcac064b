"""`corollary rules --plan`, and `corollary graph` of a change."""

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.cli.command import corollary, write
from tests.papers.texts import FIGURE_1, RULE_8


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write(tmp_path, figure_dl=FIGURE_1.replace("p5(X,Y) :=", "p5(Y,Z) :="), r8_dl=RULE_8, wrong_dl="p2(X) :- p0(X, Y).")
    return tmp_path


def test_the_plan_of_an_addition(folder: Path) -> None:
    done = corollary("rules", "figure.dl", "--add", "r8.dl", "--plan", cwd=folder)
    assert done.returncode == 0
    assert "directly influenced (DIHN): {r2, r3, r4, r8}" in done.stdout.splitlines()
    assert done.stdout.splitlines()[-3:] == [
        "  1. {r2, r3, r4, r8}  its rules change",
        "  2. {r5, r6}          its facts may change",
        "  3. {r7}              its facts may change",
    ]


def test_the_plan_of_a_removal_as_json(folder: Path) -> None:
    found = json.loads(corollary("rules", "figure.dl", "--remove", "r4", "--plan", "--json", cwd=folder).stdout)
    assert found["removed"] == [{"name": "r4", "text": "p4(X, Y) :- p2(X, Y)."}]
    assert found["split"] == [{"from": ["r2", "r3", "r4"], "into": [["r3"], ["r2"]]}]


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["--remove", "r44", "--plan"], 1, "did you mean 'r4'?"),
        (["--add", "wrong.dl", "--plan"], 1, "E201"),
        (["--add", "none.dl", "--plan"], 1, "E100"),
        (["--plan"], 2, "give --add FILE or --remove NAME"),
        (["--remove", "r4"], 2, "add --plan"),
        (["--json"], 2, "add --plan"),
        (["--remove", "r4", "--plan", "--facts", "."], 2, "a plan needs no facts"),
    ],
)
def test_mistakes_have_hints(folder: Path, arguments: list[str], code: int, said: str) -> None:
    done = corollary("rules", "figure.dl", *arguments, cwd=folder)
    assert (done.returncode, done.stdout) == (code, "")
    assert said in done.stderr


def test_the_graph_of_a_change_shows_before_and_after(folder: Path) -> None:
    shown = corollary("graph", "figure.dl", "--remove", "r4", cwd=folder).stdout
    before, after = shown.split("after: ")
    assert before.startswith("before: figure.dl · 7 rules · 4 hyper-nodes")
    assert "    splits into {r3} and {r2}" in before.splitlines()
    assert "    left of {r2, r3, r4} · plan 1: its rules change" in after.splitlines()
    assert "    plan 3: its facts may change" in after.splitlines()


def test_the_rules_of_a_change_are_marked(folder: Path) -> None:
    shown = corollary("graph", "figure.dl", "--remove", "r4", "--add", "r8.dl", "-g", "rules", cwd=folder).stdout
    before, after = shown.split("after: ")
    assert "  r4: p4(X, Y) :- p2(X, Y).\n    removed\n" in before
    assert "  r8: p2(X, Z) :- p3(X, Y), p2(Y, Z).\n    added\n" in after


def test_as_svg_both_graphs_are_in_one_picture(folder: Path) -> None:
    assert corollary("graph", "figure.dl", "--add", "r8.dl", "-o", "change.svg", cwd=folder).returncode == 0
    root = ElementTree.parse(folder / "change.svg").getroot()
    rules = [one.get("data-rule") for one in root.iter() if one.get("class") == "rule"]
    assert (rules.count("r1"), rules.count("r8")) == (2, 1)
    ids = [one.get("id") for one in root.iter() if one.get("id")]
    assert len(ids) == len(set(ids))
    words = [one.text for one in root.iter() if one.text]
    assert "from {r2, r3, r4} · plan 1: its rules change" in words


@pytest.mark.parametrize("form", ["dot", "mermaid"])
def test_other_formats_have_both_in_one_graph(folder: Path, form: str) -> None:
    shown = corollary("graph", "figure.dl", "--add", "r8.dl", "-f", form, cwd=folder).stdout
    assert shown.count("r1") >= 2
    assert shown.count("before · grows into") == 1
    assert shown.count("digraph {" if form == "dot" else "flowchart TD") == 1
