"""Where updates come from: collections, iterators, queues, files, event loops; who waits for whom, and how a stream ends."""

from __future__ import annotations

import asyncio
import io
import queue
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

import pytest

from corollary import KnowledgeBase
from corollary.diagnostics import ProgramError
from corollary.streams import Stream
from corollary.streams.updates import Arrived
from corollary.transactions import Change

RULES = "path(X, Y) :- edge(X, Y). path(X, Z) :- edge(X, Y), path(Y, Z). edge(1, 2)."
JSON = '{"insert": {"edge": [[2, 3]]}}\n\n{"delete": {"edge": [[1, 2]]}, "insert": {"edge": [[3, 4]]}}\n{}\n'
TEXT = "add(edge(2, 3)).\n\ndelete(edge(1, 2)).\nadd( edge(3,4) ) .\n\n\n"
CHANGES = [
    Change(insert={"edge": [(2, 3)]}),
    Change(delete={"edge": [(1, 2)]}, insert={"edge": [(3, 4)]}),
    Change(),
]
EXPECTED = [([(1, 3), (2, 3)], []), ([(2, 4), (3, 4)], [(1, 2), (1, 3)]), ([], [])]


def until(condition: Callable[[], bool]) -> None:
    for _ in range(1000):
        if condition():
            return
        time.sleep(0.01)
    raise AssertionError("this should have happened by now")


def paths(stream: Stream) -> list[tuple[list, list]]:
    found = []
    for result in stream:
        assert result.rejected is None, result.rejected.reason
        found.append((sorted(result.inserted["path"]), sorted(result.deleted["path"])))
    return found


def generated() -> Iterator[Change]:
    yield from CHANGES


def filled() -> queue.Queue:
    found: queue.Queue = queue.Queue()
    for item in (*CHANGES, None):
        found.put(item)
    return found


@pytest.mark.parametrize(
    "make",
    [
        lambda: CHANGES,
        lambda: tuple(CHANGES),
        generated,
        filled,
        lambda: [{"insert": {"edge": [(2, 3)]}}, '{"delete": {"edge": [[1, 2]]}, "insert": {"edge": [[3, 4]]}}', {}],
        lambda: io.StringIO(JSON),
        lambda: io.StringIO(TEXT),
        lambda: io.BytesIO(JSON.encode()),
        lambda: arriving(0.01),
    ],
    ids=["list", "tuple", "generator", "queue", "objects", "json", "text", "bytes", "asynchronous"],
)
def test_every_source_gives_one_result_for_each_update(make: Callable[[], object]) -> None:
    stream = KnowledgeBase(RULES).stream(make())
    assert paths(stream) == EXPECTED
    assert stream.statistics.updates == 3
    assert next(stream, None) is None


@pytest.mark.parametrize("text", [JSON, TEXT], ids=["json", "text"])
def test_a_file_is_read_by_its_path(tmp_path: Path, text: str) -> None:
    path = tmp_path / "updates"
    path.write_text(text, encoding="utf-8")
    assert paths(KnowledgeBase(RULES).stream(path)) == EXPECTED
    assert paths(KnowledgeBase(RULES).stream(str(path))) == EXPECTED


def test_a_file_that_grows_is_followed(tmp_path: Path) -> None:
    path = tmp_path / "updates"
    path.write_text('{"insert": {"edge": [[2, 3]]}}\n{"insert": {"ed', encoding="utf-8")
    kb = KnowledgeBase(RULES)
    with kb.stream(path, follow=True) as stream:
        assert list(next(stream).inserted["edge"]) == [(2, 3)]
        with open(path, "a", encoding="utf-8") as file:
            file.write('ge": [[3, 4]]}}\n')
        assert list(next(stream).inserted["edge"]) == [(3, 4)]
    assert next(stream, None) is None


def test_values_are_written_as_in_json_files_of_facts() -> None:
    kb = KnowledgeBase("q(X) :- p(X). p(0).")
    line = '{"insert": {"p": [[1.0], [1.5e0], ["a"], [true], [{"@id": "urn:x"}]]}}'
    (result,) = kb.stream([line])
    assert len(result.inserted["p"]) == 5
    assert result.inserted["q"].sorted() == result.inserted["p"].sorted()
    assert list(kb.query("p(1)")) == [()]


def test_names_with_prefixes_are_known_in_texts() -> None:
    kb = KnowledgeBase("@prefix ex: <urn:> . ex:q(X) :- ex:p(X). ex:p(ex:a).")
    (result,) = kb.stream(io.StringIO("add(ex:p(ex:b)).\ndelete(ex:p(ex:a)).\n"))
    assert len(result.inserted["ex:q"]) == len(result.deleted["ex:q"]) == 1


# -- looking ahead, waiting --------------------------------------------------------------------------------------------


class Recorded:
    """A source that tells how it is asked."""

    def __init__(self, updates: list[Change], there: int) -> None:
        self._updates = updates
        self._there = there
        self.calls: list[str] = []

    @property
    def waiting(self) -> int:
        return len(self._updates)

    def take(self) -> Arrived | None:
        self.calls.append("take")
        return Arrived("update", self._updates.pop(0)) if self._updates else None

    def take_now(self) -> Arrived | None:
        self.calls.append("now")
        if self._there:
            self._there -= 1
            return Arrived("update", self._updates.pop(0)) if self._updates else None
        return None

    def close(self) -> None:
        self.calls.append("close")


def test_it_looks_one_update_ahead_and_no_further() -> None:
    source = Recorded(list(CHANGES), there=1)
    stream = KnowledgeBase(RULES).stream(source, strategy="bf-marking")
    assert source.calls == []
    next(stream)
    assert source.calls == ["take", "now"]
    next(stream)
    assert source.calls == ["take", "now", "now", "now"]  # nothing was there, at the start and before the insertions
    next(stream)
    assert source.calls == ["take", "now", "now", "now", "take"]
    assert next(stream, None) is None
    assert source.calls[-2:] == ["take", "close"]


def test_without_marks_nothing_is_looked_at() -> None:
    source = Recorded(list(CHANGES), there=3)
    list(KnowledgeBase(RULES).stream(source, strategy="bf"))
    assert "now" not in source.calls


def test_an_update_is_not_waited_for_while_one_can_be_processed() -> None:
    updates: queue.Queue = queue.Queue()
    kb = KnowledgeBase(RULES)
    stream = kb.stream(updates)
    updates.put(CHANGES[0])
    assert sorted(next(stream).inserted["path"]) == [(1, 3), (2, 3)]
    updates.put(CHANGES[1])
    assert sorted(next(stream).deleted["path"]) == [(1, 2), (1, 3)]
    updates.put(None)
    assert next(stream, None) is None


def test_a_slow_consumer_holds_the_producer_back() -> None:
    produced = []

    def endless() -> Iterator[Change]:
        while True:
            produced.append(len(produced))
            yield Change(insert={"edge": [(len(produced), 0)]})

    with KnowledgeBase(RULES).stream(endless(), queue_size=4, strategy="bf-marking") as stream:
        until(lambda: stream.waiting == 4)
        time.sleep(0.2)
        assert len(produced) == 5  # four wait in the queue, one in the hand of the reader
        for _ in range(3):
            next(stream)
        until(lambda: stream.waiting == 5)  # and the one that was looked at
        assert len(produced) == 9
    until(lambda: not any(thread.name == "corollary-stream" for thread in threading.enumerate()))


def test_closing_ends_a_stream_that_waits() -> None:
    stream = KnowledgeBase(RULES).stream(queue.Queue())
    threading.Timer(0.1, stream.close).start()
    assert next(stream, None) is None


# -- failing sources ---------------------------------------------------------------------------------------------------


def failing() -> Iterator[Change]:
    yield CHANGES[0]
    raise ConnectionError("the sensor is gone")


@pytest.mark.parametrize("make", [failing, lambda: Collected()], ids=["iterator", "collection"])
def test_an_error_of_the_source_comes_after_the_updates_before_it(make: Callable[[], object]) -> None:
    kb = KnowledgeBase(RULES)
    stream = kb.stream(make())
    next(stream)
    with pytest.raises((ConnectionError, ProgramError), match="the sensor is gone"):
        next(stream)
    assert next(stream, None) is None
    assert kb.count("edge") == 2


class Collected(list):
    """A list that cannot be read to its end."""

    def __iter__(self) -> Iterator[Change]:
        return failing()


def test_a_missing_file_is_a_diagnostic(tmp_path: Path) -> None:
    with pytest.raises(ProgramError, match="E454"):
        next(KnowledgeBase(RULES).stream(tmp_path / "missing.jsonl"))


def test_a_file_that_decodes_itself_and_is_no_text_is_a_diagnostic(tmp_path: Path) -> None:
    (tmp_path / "updates").write_bytes(b'{"insert": {"edge": [["\xff"]]}}\n')
    with open(tmp_path / "updates", encoding="utf-8") as file, pytest.raises(ProgramError, match="is not UTF-8"):
        next(KnowledgeBase(RULES).stream(file))


@pytest.mark.parametrize("source", [{"insert": {}}, 7, None])
def test_what_is_no_source_is_refused(source: object) -> None:
    with pytest.raises(TypeError):
        KnowledgeBase(RULES).stream(source)


# -- event loops -------------------------------------------------------------------------------------------------------


async def arriving(delay: float) -> AsyncIterator[Change]:
    for change in CHANGES:
        await asyncio.sleep(delay)
        yield change


@pytest.mark.parametrize("delay", [0, 0.01])
def test_an_asynchronous_iterator_gives_results_asynchronously(delay: float) -> None:
    async def run() -> list[tuple[list, list]]:
        found = []
        async with KnowledgeBase(RULES).stream_async(arriving(delay)) as stream:
            async for result in stream:
                found.append((sorted(result.inserted["path"]), sorted(result.deleted["path"])))
        return found

    assert asyncio.run(run()) == EXPECTED


def test_a_stream_in_an_event_loop_has_the_options_and_sources_of_any_other(tmp_path: Path) -> None:
    async def bad() -> AsyncIterator[dict]:
        yield {"delete": {"edge": [[8, 9]]}}
        yield {"insert": {"edge": [[2, 3]]}}

    async def rejected(kb: KnowledgeBase, source: object, **options: object) -> list[bool]:
        async with kb.stream_async(source, **options) as stream:
            return [result.is_rejected async for result in stream]

    log = tmp_path / "rejects"
    assert asyncio.run(rejected(KnowledgeBase(RULES), bad(), rejects=log, policy="reject", queue_size=1)) == [
        True,
        False,
    ]
    assert "E452" in log.read_text()
    kb = KnowledgeBase.create(tmp_path / "kb", RULES)
    (tmp_path / "updates").write_text(JSON)
    assert asyncio.run(rejected(kb, tmp_path / "updates", name="f")) == [False] * 3
    assert asyncio.run(rejected(kb, tmp_path / "updates", name="f")) == []
    assert asyncio.run(rejected(kb, filled())) == [False, True, False]  # the second one deletes what is gone
    with pytest.raises(ProgramError, match="E456"):
        asyncio.run(rejected(kb, bad(), name="g"))


def test_an_asynchronous_source_is_held_back_and_its_error_comes_through() -> None:
    produced = []

    async def endless() -> AsyncIterator[Change]:
        for number in range(20):
            produced.append(number)
            yield Change(insert={"edge": [(number, 0)]})
        raise ConnectionError("the broker is gone")

    async def run() -> int:
        stream = KnowledgeBase(RULES).stream_async(endless(), queue_size=3)
        await anext(stream)
        await asyncio.sleep(0.05)
        assert len(produced) <= 6
        for _ in range(19):
            await anext(stream)
        with pytest.raises((ConnectionError, ProgramError), match="the broker is gone"):
            await anext(stream)
        return stream.stream.statistics.updates

    assert asyncio.run(run()) == 20
