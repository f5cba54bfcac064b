"""The commands for knowledge bases in a directory, as people type them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.cli.command import PATHS, corollary, write


@pytest.fixture
def place(tmp_path: Path) -> Path:
    write(tmp_path, paths_dl=PATHS, edge_csv="1,2\n2,3\n", gone_dl="edge(1, 2).", more_dl="edge(3, 4). edge(4, 5).")
    write(tmp_path, back_dl="back: back(Y, X) :- path(X, Y).")
    (tmp_path / "facts").mkdir()
    (tmp_path / "edge.csv").rename(tmp_path / "facts" / "edge.csv")
    run = corollary("init", "kb", "paths.dl", "--facts", "facts", cwd=tmp_path)
    assert (run.returncode, run.stderr) == (0, "version 1: 5 facts\n"), run.stderr
    return tmp_path


def test_a_knowledge_base_is_made_changed_and_asked(place: Path) -> None:
    run = corollary("update", "kb", "--insert", "more.dl", "--delete", "gone.dl", "--add-rules", "back.dl", cwd=place)
    assert run.returncode == 0, run.stderr
    assert "+ back(4, 2)\n" in run.stdout
    assert "- edge(1, 2)\n" in run.stdout
    assert run.stderr == "version 2: 13 facts inserted and 3 deleted (explicit: 2 and 1)\n"
    asked = corollary("query", "kb", "path(2, X)", cwd=place)
    assert asked.stdout == "X\n━\n3\n4\n5\n3 answers\n"
    before = corollary("query", "kb", "path(1, X)", "--version", "1", cwd=place)
    assert before.stdout == "X\n━\n2\n3\n2 answers\n"


def test_a_data_file_is_named_after_its_predicate(place: Path) -> None:
    write(place, edge_csv="8,9\n")
    run = corollary("update", "kb", "--insert", "edge.csv", cwd=place)
    assert run.stdout == "+ edge(8, 9)\n+ path(8, 9)\n"


def test_an_update_explains_how_it_was_followed(place: Path) -> None:
    run = corollary("update", "kb", "--insert", "more.dl", "--explain", cwd=place)
    assert re.search(r"(?m)^\{r1\}  counting: \+0 -0 facts, .* ms$", run.stdout)
    assert re.search(r"(?m)^\{r2\}  right-linear: \+7 -0 facts", run.stdout)


def test_rules_of_a_directory_are_listed_planned_and_drawn(place: Path) -> None:
    corollary("update", "kb", "--insert", "more.dl", "--add-rules", "back.dl", cwd=place)
    listed = corollary("rules", "kb", "--no-text", cwd=place)
    assert listed.returncode == 0, listed.stderr
    assert [line.replace("│", " ").split() for line in listed.stdout.splitlines()[2:]] == [
        ["r1", "{r1}", "nonrecursive", "counting", "4"],
        ["r2", "{r2}", "right-linear", "right-linear", "6"],
        ["back", "{back}", "nonrecursive", "counting", "10"],
    ]
    plan = corollary("rules", "kb", "--remove", "r1", "--plan", cwd=place)
    assert plan.stdout.splitlines()[-2:] == ["  1. {r2}    its facts may change", "  2. {back}  its facts may change"]
    drawn = corollary("graph", "kb", "--remove", "r1", cwd=place)
    assert "{back}" in drawn.stdout
    entries = corollary("yield", "kb", "--rule", "r2", cwd=place)
    assert entries.returncode == 0, entries.stderr
    assert "edge(1, 2)" in entries.stdout
    refused = corollary("rules", "kb", "--facts", "facts", cwd=place)
    assert refused.returncode == 2
    assert "has its own facts" in refused.stderr
    assert corollary("log", "kb", cwd=place).stdout.count("version") <= 3  # nothing was changed


def test_the_log_tells_when_and_why(place: Path) -> None:
    corollary("update", "kb", "--insert", "more.dl", cwd=place)
    lines = corollary("log", "kb", cwd=place).stdout.splitlines()
    assert [line.split(" │ ")[0].strip() for line in lines[2:]] == ["1", "2"]
    assert [cell.strip() for cell in lines[3].split("│")[2:]] == ["facts", "2", "0", "9", "0"] or "facts" in lines[3]
    as_json = corollary("log", "kb", "--json", cwd=place).stdout
    assert '"version": 2' in as_json
    assert '"explicit_inserted": 2' in as_json


def test_two_versions_are_compared_in_both_directions(place: Path) -> None:
    corollary("update", "kb", "--delete", "gone.dl", "--add-rules", "back.dl", cwd=place)
    run = corollary("diff", "kb", "1", "2", cwd=place)
    assert "+ back: back(Y, X) :- path(X, Y).\n" in run.stdout
    assert "- path(1, 3)\n" in run.stdout
    back = corollary("diff", "kb", "2", "1", cwd=place)
    assert "+ path(1, 3)\n" in back.stdout
    assert corollary("diff", "kb", "2", "2", cwd=place).stdout == "nothing differs\n"


def test_changes_travel_in_a_file(place: Path) -> None:
    corollary("init", "other", "paths.dl", "--facts", "facts", cwd=place)
    corollary("update", "kb", "--insert", "more.dl", "--delete", "gone.dl", "--add-rules", "back.dl", cwd=place)
    run = corollary("export", "kb", "news.changes", "--since", "1", cwd=place)
    assert run.stderr == "wrote news.changes: versions 1 to 2\n"
    applied = corollary("apply", "other", "news.changes", cwd=place)
    assert applied.stderr == "version 2: 13 facts inserted and 3 deleted (explicit: 2 and 1)\n", applied.stderr
    again = corollary("apply", "other", "news.changes", cwd=place)
    assert again.stdout == "no visible fact changes\n"
    assert "applied news.changes" in corollary("log", "other", cwd=place).stdout
    for query in ("path(X, Y)", "back(X, Y)"):
        assert corollary("query", "other", query, cwd=place).stdout == corollary("query", "kb", query, cwd=place).stdout


def test_compacting_says_the_same_and_frees_space(place: Path) -> None:
    corollary("update", "kb", "--insert", "more.dl", cwd=place)
    run = corollary("compact", "kb", "--keep", "1", cwd=place)
    assert run.stderr.startswith("version 3: compacted, 0.0 MB freed")
    assert corollary("query", "kb", "path(1, X)", cwd=place).stdout.endswith("4 answers\n")
    gone = corollary("query", "kb", "path(1, X)", "--version", "1", cwd=place)
    assert gone.returncode == 3
    assert "E435" in gone.stderr


def test_what_is_right_is_verified(place: Path) -> None:
    run = corollary("verify", "kb", cwd=place)
    assert run.returncode == 0
    assert run.stdout == "the stored facts are exactly those that follow from the explicit facts\n"


def test_what_is_wrong_is_told(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from corollary import KnowledgeBase
    from corollary.engines.embedded.maintenance.changing_facts import EmbeddedChangingFacts
    from corollary.engines.embedded.maintenance.journal import SupportChange

    kb = KnowledgeBase.open(place / "kb")
    right = EmbeddedChangingFacts.support_changes

    def wrong(facts: EmbeddedChangingFacts) -> list[SupportChange]:
        """The facts of path are forgotten."""
        return [change for change in right(facts) if change.predicate != "path"]

    monkeypatch.setattr(EmbeddedChangingFacts, "support_changes", wrong)
    kb.insert("edge", [(3, 4)])
    run = corollary("verify", "kb", cwd=place)
    assert run.returncode == 3
    assert run.stdout == "path: 3 facts are missing, as path(1, 4)\n" or "path: 3 facts are missing" in run.stdout
    assert corollary("verify", "kb", "--version", "1", cwd=place).returncode == 0


@pytest.mark.parametrize("option", ["--insert", "--delete"])
@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("edge(1, X).", "this is a fact with variables"),
        ("edge(8, 9). p(X) :- edge(X, _).", "this is a rule"),
        ("edge(8, 9). ?- edge(X, Y).", "this is another statement"),
    ],
)
def test_a_file_of_facts_with_something_else_in_it_changes_nothing(
    place: Path, option: str, text: str, message: str
) -> None:
    write(place, wrong_dl=text)
    run = corollary("update", "kb", "--insert", "more.dl", option, "wrong.dl", cwd=place)
    assert run.returncode == 3
    assert f"error[E401]: a file of facts may only have facts without variables, but {message}" in run.stderr
    assert "wrong.dl:1:" in run.stderr
    assert len(corollary("log", "kb", "--json", cwd=place).stdout.splitlines()) == 1


@pytest.mark.parametrize(
    ("code", "arguments", "message"),
    [
        (3, ["log", "nowhere"], "error[E430]: there is no nowhere"),
        (3, ["init", "kb", "paths.dl"], "error[E431]: kb is not empty"),
        (3, ["init", "kb", "paths.dl"], "`corollary update` changes it"),
        (3, ["query", "kb", "path(1, X)", "--version", "7"], "error[E435]"),
        (3, ["apply", "kb", "paths.dl"], "error[E438]: paths.dl is not a change file"),
        (2, ["update", "kb"], "nothing to do"),
        (1, ["update", "kb", "--remove-rule", "r9"], "error[E206]"),
        (2, ["query", "kb", "path(1, X)", "--facts", "facts"], "corollary update"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else None,
)
def test_mistakes_have_their_exit_codes(place: Path, code: int, arguments: list[str], message: str) -> None:
    run = corollary(*arguments, cwd=place)
    assert run.returncode == code, run.stderr
    assert message in run.stderr
    assert corollary("query", "kb", "path(1, X)", cwd=place).stdout.endswith("2 answers\n")
