"""A stream with a name: its position commits with its updates, and a stream that is started again goes on from there."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from corollary import KnowledgeBase, ProgramError
from corollary.streams.mqtt import MqttUpdates
from corollary.transactions import Change
from tests.engine_suite.scripts import visible

RULES = """
path(X, Y) :- edge(X, Y).
path(X, Z) :- path(X, Y), path(Y, Z).
lonely(X) :- node(X), not path(X, _).
node(0). edge(0, 1).
"""


def update(number: int) -> dict:
    """Each of them can be applied once only: it deletes what the one before has inserted."""
    gone = {"delete": {"edge": [[number - 1, number]]}} if number > 1 else {}
    return {"insert": {"edge": [[number, number + 1]], "node": [[number]]}, **gone}


def text(number: int) -> str:
    found = update(number)
    lines = [f"add({name}({', '.join(map(str, row))}))." for name, rows in found["insert"].items() for row in rows]
    lines += [f"delete(edge({row[0]}, {row[1]}))." for row in found.get("delete", {}).get("edge", ())]
    return "\n".join(lines) + "\n\n"


FORMS = {"json": lambda number: json.dumps(update(number)) + "\n", "text": text}


def expected(count: int) -> KnowledgeBase:
    kb = KnowledgeBase(RULES)
    for number in range(1, count + 1):
        kb.apply(Change(**update(number)))
    return kb


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("strategy", ["bf-marking", "sets"])
def test_a_file_is_read_once_however_often_it_is_streamed(tmp_path: Path, strategy: str, form: str) -> None:
    file, place = tmp_path / "updates", tmp_path / "kb"
    KnowledgeBase.create(place, RULES)
    written = 0
    for until in (2, 3, 3, 7):
        with open(file, "a", encoding="utf-8") as target:
            while written < until:
                written += 1
                target.write(FORMS[form](written))
        results = list(KnowledgeBase.open(place).stream(file, name="f", strategy=strategy, policy="fail"))
        assert sum(bool(result.inserted["edge"]) for result in results) == len(results)
        assert visible(KnowledgeBase.open(place)) == visible(expected(until))
    assert not KnowledgeBase.verify(place)


def test_a_stream_that_is_left_in_the_middle_goes_on_there(tmp_path: Path) -> None:
    kb = KnowledgeBase.create(tmp_path / "kb", RULES)
    updates = [update(number) for number in range(1, 6)]
    with kb.stream(updates, name="list") as stream:
        next(stream)
        next(stream)
    again = KnowledgeBase.open(tmp_path / "kb")
    assert [result.place for result in again.stream(updates, name="list")] == ["update 3", "update 4", "update 5"]
    assert list(again.stream(updates, name="list")) == []
    assert visible(again) == visible(expected(5))


def test_streams_have_positions_of_their_own(tmp_path: Path) -> None:
    kb = KnowledgeBase.create(tmp_path / "kb", RULES)
    first, second = ([{"insert": {"node": [[number]]}} for number in numbers] for numbers in ((1, 2, 3), (11, 12)))
    streams = kb.stream(first, name="first"), kb.stream(second, name="second", strategy="dred")
    for stream in (streams[0], streams[1], streams[0]):
        next(stream)
    again = KnowledgeBase.open(tmp_path / "kb")
    assert again.marks["streams"] == {"first": {"updates": 2}, "second": {"updates": 1}}
    for name, updates in (("first", first), ("second", second)):
        assert len(list(again.stream(updates, name=name))) == 1


def test_a_rejected_update_is_passed_over_for_good(tmp_path: Path) -> None:
    kb = KnowledgeBase.create(tmp_path / "kb", RULES)
    updates = [{"insert": {"node": [[7]]}}, {"delete": {"node": [[99]]}}]
    assert [result.is_rejected for result in kb.stream(updates, name="s")] == [False, True]
    assert list(KnowledgeBase.open(tmp_path / "kb").stream(updates, name="s")) == []


def test_a_stream_that_fails_stands_before_the_bad_update(tmp_path: Path) -> None:
    kb = KnowledgeBase.create(tmp_path / "kb", RULES)
    updates = [{"insert": {"node": [[7]]}}, {"delete": {"node": [[99]]}}]
    with pytest.raises(ProgramError, match="E452"):
        list(kb.stream(updates, name="s", policy="fail"))
    kb.insert("node", [(8,)])  # a version of somebody else says nothing about the stream
    assert KnowledgeBase.open(tmp_path / "kb").marks["streams"] == {"s": {"updates": 1}}


def test_a_directory_that_somebody_else_has_changed_ends_a_stream(tmp_path: Path) -> None:
    """No update is to blame, so none is left out: whoever opens the directory again goes on with the same one."""
    kb = KnowledgeBase.create(tmp_path / "kb", RULES)
    updates = [update(number) for number in range(1, 4)]
    stream = kb.stream(updates, name="s", policy="reject")
    next(stream)
    KnowledgeBase.open(tmp_path / "kb").insert("node", [(77,)])
    with pytest.raises(ProgramError, match="E433"):
        next(stream)
    assert stream.statistics.rejected == 0
    again = KnowledgeBase.open(tmp_path / "kb")
    assert [result.place for result in again.stream(updates, name="s", policy="fail")] == ["update 2", "update 3"]


def test_a_feed_that_cannot_be_written_ends_a_stream(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from corollary.store import feed

    def full(*arguments: object, **options: object) -> None:
        raise OSError(28, "No space left on device")

    kb = KnowledgeBase.create(tmp_path / "kb", RULES)
    kb.feed(tmp_path / "feed", ["path"])
    updates = [update(number) for number in range(1, 4)]
    with monkeypatch.context() as patch:
        patch.setattr(feed, "commit", full)
        with pytest.raises(ProgramError, match="No space left"):
            next(kb.stream(updates, name="s"))
    again = KnowledgeBase.open(tmp_path / "kb")
    again.feed(tmp_path / "feed", ["path"])
    assert len(list(again.stream(updates, name="s", policy="fail"))) == 2  # the first one was applied
    assert visible(again) == visible(expected(3))


def test_a_mark_waits_for_its_change(tmp_path: Path) -> None:
    """After a stream the facts are grouped otherwise first, which is a version without a change."""
    kb = KnowledgeBase.create(tmp_path / "kb", RULES)
    list(kb.stream([update(1)]))
    kb.mark(offset=17)
    kb.insert("edge", [(5, 6)])
    marked = [version for version in range(1, kb.version + 1) if KnowledgeBase.open(kb.path, version=version).marks]
    assert marked == [kb.version]


@pytest.mark.parametrize("strategy", ["bf-marking", "dred", "sets"])
def test_whoever_opens_a_store_does_not_disturb_a_stream(tmp_path: Path, strategy: str) -> None:
    kb = KnowledgeBase.create(tmp_path / "kb", RULES)
    stream = kb.stream([update(number) for number in range(1, 5)], strategy=strategy, policy="fail")
    for number, _ in enumerate(stream, 1):
        version = kb.version
        reader = KnowledgeBase.open(tmp_path / "kb")
        assert visible(reader) == visible(expected(number))
        assert (kb.version, KnowledgeBase.open(tmp_path / "kb").version) == (version, version)


def test_a_file_that_is_another_one_now_is_not_read_on(tmp_path: Path) -> None:
    file = tmp_path / "updates"
    kb = KnowledgeBase.create(tmp_path / "kb", RULES)
    file.write_text(FORMS["json"](1))
    list(kb.stream(file, name="f"))
    for other in (FORMS["json"](2), ""):
        file.write_text(other)
        with pytest.raises(ProgramError, match="E456"):
            list(kb.stream(file, name="f"))
    file.write_text(FORMS["json"](1).strip())
    list(kb.stream(file, name="g"))
    file.write_text(FORMS["json"](1).strip() + " 17\n")
    with pytest.raises(ProgramError, match="has grown"):
        list(kb.stream(file, name="g"))
    assert visible(kb) == visible(expected(1))


@pytest.mark.parametrize("kind", ["list", "file", "mqtt"])
def test_a_name_needs_a_knowledge_base_in_a_directory(tmp_path: Path, kind: str) -> None:
    (tmp_path / "u.jsonl").write_text("")
    source = {
        "list": [],
        "file": tmp_path / "u.jsonl",
        "mqtt": MqttUpdates("localhost", "t", journal=tmp_path / "journal"),
    }[kind]
    for stream in (KnowledgeBase("p(1).").stream, KnowledgeBase("p(1).").stream_async):
        with pytest.raises(
            ProgramError, match=r"E437.*the stream 'gate' has a name, but this knowledge base has no directory"
        ):
            stream(source, name="gate")


def test_what_has_no_places_gets_no_name(tmp_path: Path) -> None:
    kb = KnowledgeBase.create(tmp_path / "kb", RULES)
    with pytest.raises(ProgramError, match="E456"):
        kb.stream(iter([update(1)]), name="s")
    with pytest.raises(ProgramError, match="E437"):
        KnowledgeBase(RULES).stream([update(1)], name="s")


KILLED = """
import os, signal, sys
from corollary import KnowledgeBase
from tests.store.killed import die_at
kb = KnowledgeBase.open(sys.argv[1])
stream = kb.stream(sys.argv[2], name="f", policy="fail")
die_at(int(sys.argv[3]))
for result in stream:
    pass
os.kill(os.getpid(), signal.SIGTERM)
"""


def test_a_killed_stream_loses_and_repeats_nothing(tmp_path: Path) -> None:
    """Each process dies at another call that matters to the disk; an update twice would be an error, as it deletes."""
    file, place, count = tmp_path / "updates", tmp_path / "kb", 12
    file.write_text("".join(FORMS["json"](number) for number in range(1, count + 1)))
    KnowledgeBase.create(place, RULES)
    steps, ends = iter((9, 26)), []
    while not ends or ends[-1] == -signal.SIGKILL:
        command = [sys.executable, "-c", KILLED, str(place), str(file), str(next(steps, 10_000))]
        run = subprocess.run(command, capture_output=True, text=True, cwd=Path(__file__).parents[2], env=os.environ)
        ends.append(run.returncode)
        assert not run.stderr, run.stderr
        done = KnowledgeBase.open(place).marks.get("streams", {}).get("f", {"line": 0})["line"]
        assert visible(KnowledgeBase.open(place)) == visible(expected(done))
    assert (ends[-1], done) == (-signal.SIGTERM, count)
    assert len(ends) == 3, "nobody was killed"
    assert not KnowledgeBase.verify(place)


def test_the_command_goes_on_where_it_was_left(tmp_path: Path) -> None:
    file, place = tmp_path / "updates", tmp_path / "kb"
    KnowledgeBase.create(place, RULES)
    command = [sys.executable, "-m", "corollary", "stream", str(place), "--updates", str(file), "--policy", "fail"]
    for until in (2, 5):
        file.write_text("".join(FORMS["json"](number) for number in range(1, until + 1)))
        run = subprocess.run(command, capture_output=True, text=True)
        assert run.returncode == 0, run.stderr
        assert visible(KnowledgeBase.open(place)) == visible(expected(until))
    assert "3 updates" in run.stderr
