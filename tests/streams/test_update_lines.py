"""Files of updates with bad lines in them: a line takes nothing with it but its own update, now and after a restart."""

from __future__ import annotations

import json
import os
import queue
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from corollary import KnowledgeBase, ProgramError
from corollary.streams.update_lines import read_updates
from tests.cli.command import corollary, write

RULES = "path(X, Y) :- edge(X, Y). path(X, Z) :- edge(X, Y), path(Y, Z). edge(1, 2)."


def edge(first: int, second: int) -> str:
    return json.dumps({"insert": {"edge": [[first, second]]}}) + "\n"


def told(text: str) -> list[tuple[int, int | None]]:
    """For each update the number of its line, and that of facts it inserts; None where it cannot be read."""
    updates = read_updates(text.splitlines(keepends=True), "f")
    return [
        (
            int(one.place.removeprefix("f:")),
            None if one.change is None else sum(map(len, one.change.insert.values())),
        )
        for one in updates
    ]


JSON, TEXT = edge(2, 3), "add(edge(2, 3)).\n"
CASES = {
    "in the middle": (JSON + "oops\n" + JSON, [(1, 1), (2, None), (3, 1)]),
    "first": ('truncated": [[1,2]]}}\n' + JSON + JSON, [(1, None), (2, 1), (3, 1)]),
    "two": ("oops\noops\n" + JSON, [(1, None), (2, None), (3, 1)]),
    "before a blank line": ("oops\n\n" + JSON, [(1, None), (3, 1)]),
    "last": (JSON + "oops", [(1, 1), (2, None)]),
    "no object": (JSON + "[1, 2]\n" + JSON, [(1, 1), (2, None), (3, 1)]),
    "a byte order mark": ("\ufeff" + JSON, [(1, 1)]),
    "a byte order mark in text": ("\ufeff" + TEXT, [(1, 1)]),
    "text before JSON": (TEXT + TEXT + JSON, [(1, 2), (3, 1)]),
    "text behind JSON": (JSON + TEXT + TEXT, [(1, 1), (2, 2)]),
    "a block of text goes as a whole": ("ad(edge(1, 2)).\n" + TEXT + "\n" + TEXT, [(1, None), (4, 1)]),
    "a mistake in a block of text": (TEXT + "oops\n" + TEXT + "\n" + TEXT, [(2, None), (5, 1)]),
    "comments": ("% one\n" + TEXT + "// two\n" + TEXT + "\n% three\n\n" + TEXT + "\n\n", [(2, 2), (8, 1), (10, 0)]),
    "comments in JSON": ("% one\n" + JSON + "// two\n" + JSON, [(2, 1), (4, 1)]),
    "only comments": ("% one\n\n// two\n", []),
}


@pytest.mark.parametrize("case", CASES)
def test_a_bad_line_takes_only_its_own_update_with_it(case: str) -> None:
    text, expected = CASES[case]
    assert told(text) == expected


@pytest.mark.parametrize("bad", ["oops\n", 'cut": [[1, 2]]}}\n', "\x00\x01\n"])
def test_a_stream_that_goes_on_behind_a_bad_line_loses_nothing(tmp_path: Path, bad: str) -> None:
    """Also where the bad line is the first one that is read, as after a failure."""
    file = tmp_path / "updates"
    kb = KnowledgeBase.create(tmp_path / "kb", RULES)
    file.write_text(edge(2, 3) + bad + edge(3, 4) + edge(4, 5))
    for _ in range(2):
        with pytest.raises(ProgramError, match=r"updates:2"):
            list(kb.stream(file, name="f", policy="fail"))
    log = tmp_path / "rejects"
    results = list(KnowledgeBase.open(tmp_path / "kb").stream(file, name="f", rejects=log))
    assert [(result.place.rpartition(":")[2], result.is_rejected) for result in results] == [
        ("2", True),
        ("3", False),
        ("4", False),
    ]
    assert sorted(KnowledgeBase.open(tmp_path / "kb").facts("edge")) == [(1, 2), (2, 3), (3, 4), (4, 5)]
    assert json.loads(log.read_text())["text"] == bad


def test_every_place_to_stop_is_a_place_to_go_on(tmp_path: Path) -> None:
    """Forms change without a blank line, and each update is applied once, whichever was the last one before a restart."""
    file = tmp_path / "updates"
    file.write_text(
        "oops\noops\n" + edge(2, 3) + "add(edge(3, 4)).\n" + edge(4, 5) + "% so\nadd(edge(5, 6)).\n\n" + edge(6, 7)
    )
    kb = KnowledgeBase.create(tmp_path / "kb", RULES)
    places = []
    for _ in range(7):
        with kb.stream(file, name="f") as stream:
            places.append(next(stream).place.rpartition(":")[2])
    assert places == ["1", "2", "3", "4", "5", "7", "9"]
    assert kb.count("edge") == 6
    assert list(kb.stream(file, name="f")) == []


def test_the_log_has_all_of_a_long_line(tmp_path: Path) -> None:
    text = '{"insert": {"edge": [' + ", ".join(f"[{number}, 1]" for number in range(1000)) + "]\n"
    (tmp_path / "updates").write_text(text)
    list(KnowledgeBase(RULES).stream(tmp_path / "updates", rejects=tmp_path / "rejects"))
    assert json.loads((tmp_path / "rejects").read_text())["text"] == text


def test_bytes_that_are_no_text_are_one_bad_update(tmp_path: Path) -> None:
    file, log = tmp_path / "updates", tmp_path / "rejects"
    bad = b'{"insert": {"edge": [["\xff", 1]]}}\n'
    file.write_bytes(edge(2, 3).encode() + bad + edge(3, 4).encode() + b"add(edge(4, 5)).\nadd(edge(\xe9, 5)).\n\n")
    kb = KnowledgeBase.create(tmp_path / "kb", RULES)
    results = list(kb.stream(file, name="f", rejects=log))
    assert [result.is_rejected for result in results] == [False, True, False, True]
    assert [result.rejected.reason for result in results if result.rejected is not None] == [
        f"E450: {file}:2: this is not UTF-8 (character 24 of the line)",
        f"E450: {file}:5: this is not UTF-8 (character 10 of the line)",
    ]
    assert "\\xff" in log.read_text().replace("\\\\", "\\")
    assert kb.count("edge") == 3
    assert list(kb.stream(file, name="f")) == []


def test_bytes_that_are_no_text_may_come_from_the_standard_input(tmp_path: Path) -> None:
    write(tmp_path, p_dl=RULES)
    text = '{"insert": {"edge": [["\udcff", 1]]}}\n' + edge(2, 3)
    run = corollary("stream", "p.dl", "--updates", "-", "--changes", cwd=tmp_path, stdin=text)
    assert run.returncode == 0, run.stderr
    first, second = map(json.loads, run.stdout.splitlines())
    assert "is not UTF-8" in first["rejected"]
    assert second["inserted"]["edge"] == [[2, 3]]


def test_a_key_that_comes_twice_is_a_mistake() -> None:
    stream = KnowledgeBase(RULES).stream(['{"insert": {"edge": [[2, 3]], "edge": [[3, 4]]}}'])
    rejected = next(stream).rejected
    assert rejected is not None
    assert rejected.reason == "E450: update 1: the key 'edge' occurs twice"


# -- files that change -------------------------------------------------------------------------------------------------


def test_an_update_that_has_grown_is_not_applied_in_two_halves(tmp_path: Path) -> None:
    file = tmp_path / "updates"
    kb = KnowledgeBase.create(tmp_path / "kb", RULES)
    file.write_text("add(edge(2, 3)).\n")
    assert len(list(kb.stream(file, name="f"))) == 1  # the end of the file is its end
    file.write_text("add(edge(2, 3)).\nadd(edge(3, 4)).\n")
    with pytest.raises(ProgramError, match=r"E456.* the update that ended with line 1 has grown"):
        list(kb.stream(file, name="f"))
    assert kb.count("edge") == 2
    file.write_text("add(edge(2, 3)).\n\nadd(edge(3, 4)).\n")
    assert [result.place for result in kb.stream(file, name="f")] == [f"{file}:3"]
    assert kb.count("edge") == 3


def test_a_last_line_gets_its_end_later(tmp_path: Path) -> None:
    file = tmp_path / "updates"
    kb = KnowledgeBase.create(tmp_path / "kb", RULES)
    file.write_text(edge(2, 3).strip())
    list(kb.stream(file, name="f"))
    file.write_text(edge(2, 3) + "oops\n" + edge(3, 4))
    assert [result.place for result in kb.stream(file, name="f")] == [f"{file}:2", f"{file}:3"]


@pytest.mark.parametrize("how", ["cut", "replaced", "removed", "written anew"])
def test_a_file_that_is_cut_or_replaced_while_it_is_followed_is_an_error(tmp_path: Path, how: str) -> None:
    file = tmp_path / "updates"
    file.write_text(edge(2, 3) + edge(3, 4))
    with KnowledgeBase(RULES).stream(file, follow=True) as stream:
        next(stream)
        next(stream)
        if how == "cut":
            file.write_text(edge(4, 5))
        elif how == "written anew":
            with open(file, "r+") as target:  # it is never shorter than before
                target.write(edge(8, 9) + edge(7, 8) + edge(6, 7))
        elif how == "replaced":
            (tmp_path / "other").write_text(edge(4, 5) * 5)
            os.replace(tmp_path / "other", file)
        else:
            file.unlink()
        with pytest.raises(ProgramError, match=r"E456.* line 2"):
            next(stream)


def test_a_block_of_text_is_waited_for_in_a_file_that_is_followed(tmp_path: Path) -> None:
    file = tmp_path / "updates"
    file.write_text("add(edge(2, 3)).\n")
    found: queue.Queue = queue.Queue()
    with KnowledgeBase(RULES).stream(file, follow=True) as stream:
        thread = threading.Thread(target=lambda: found.put(sorted(next(stream).inserted["edge"])))
        thread.start()
        with pytest.raises(queue.Empty):
            found.get(timeout=0.3)
        with open(file, "a") as target:
            target.write("add(edge(3, 4)).\n\n")
        assert found.get(timeout=30) == [(2, 3), (3, 4)]
        thread.join()


# -- objects that are used again ---------------------------------------------------------------------------------------


def test_a_producer_may_fill_the_same_object_again() -> None:
    def updates() -> Iterator[dict]:
        row = [0, 0]
        rows = [row]
        update = {"insert": {"edge": rows}}
        for number in range(10, 40, 10):
            row[:] = number, number + 1
            yield update
            rows[:] = [row]

    kb = KnowledgeBase(RULES)
    assert not any(result.is_rejected for result in kb.stream(updates()))
    assert sorted(kb.facts("edge")) == [(1, 2), (10, 11), (20, 21), (30, 31)]


def test_facts_of_one_name_and_several_numbers_of_arguments_may_stand_in_one_update(tmp_path: Path) -> None:
    kb = KnowledgeBase("p(1). p(1, 2). q(X) :- p(X), p(X, _).", mixed_arities=True)
    (tmp_path / "updates.txt").write_text("add(p(3)).\nadd(p(3, 4)).\ndelete(p(1)).\ndelete(p(1, 2)).\n")
    (result,) = kb.stream(tmp_path / "updates.txt", policy="fail")
    assert (list(result.inserted["q"]), list(result.deleted["q"])) == ([(3,)], [(1,)])
