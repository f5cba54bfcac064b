"""Sources of updates. `take` waits for the next update; `take_now` returns one only if it has arrived."""

from __future__ import annotations

import io
import itertools
import queue
import threading
from collections.abc import AsyncIterable, AsyncIterator, Collection, Iterable, Iterator, Mapping
from os import PathLike
from pathlib import Path
from typing import Any, Protocol

from corollary.diagnostics import Diagnostic, ProgramError, catalogue
from corollary.streams.update_lines import FileLines, read_updates
from corollary.streams.updates import Arrived, arrived, failed

QUEUE_SIZE = 64
_POLL = 0.05  # seconds between two checks of a growing file, and of whether a stream was closed


class UpdateSource(Protocol):
    @property
    def waiting(self) -> int:
        """Return the number of updates that have arrived and were not taken."""
        ...

    def take(self) -> Arrived | None:
        """Wait for the next update and return it; None at the end."""
        ...

    def take_now(self) -> Arrived | None:
        """Return the next update if it has arrived, otherwise None."""
        ...

    def close(self) -> None: ...


class Journalled(UpdateSource, Protocol):
    """A source that can resume at a position."""

    def go_on(self, position: Any) -> None:
        """Continue after this position; called before the first update is taken."""
        ...

    def committed(self, position: Any) -> None:
        """Tell the source that everything up to this position is applied and on disk, so that it will not be read again."""
        ...


class Ready:
    """Updates that have all arrived: a list, or a file on disk. The position in a list is a number of updates."""

    def __init__(self, updates: Iterable[Any], count: int = 0, name: str = "update", taken: int = 0) -> None:
        self._all = updates
        self._updates = itertools.islice(updates, taken, None)
        self._name = name
        self._count = count
        self._taken = taken
        self._is_over = False

    @property
    def waiting(self) -> int:
        return max(0, self._count - self._taken)

    def take(self) -> Arrived | None:
        if self._is_over:
            return None
        self._taken += 1
        place = f"{self._name} {self._taken}"
        try:
            update = arrived(next(self._updates), place)
            if update.position is None:
                update.position = {"updates": self._taken}
            return update
        except StopIteration:
            self._is_over = True
            return None
        except Exception as error:
            self._is_over = True
            return failed(place, error)

    take_now = take

    def close(self) -> None:
        self._is_over = True
        if hasattr(self._all, "close"):
            self._all.close()


class Queued:
    """A `queue.Queue` that the program fills; None in it ends the stream."""

    def __init__(self, updates: queue.Queue[Any], is_over: threading.Event | None = None) -> None:
        self._queue = updates
        self._taken = 0
        self._is_over = is_over or threading.Event()

    @property
    def waiting(self) -> int:
        return self._queue.qsize()

    def take(self) -> Arrived | None:
        while not self._is_over.is_set():
            try:
                return self._arrived(self._queue.get(timeout=_POLL))
            except queue.Empty:
                continue
        return None

    def take_now(self) -> Arrived | None:
        if self._is_over.is_set():
            return None
        try:
            return self._arrived(self._queue.get_nowait())
        except queue.Empty:
            return None

    def _arrived(self, item: object) -> Arrived | None:
        if item is None:
            self._is_over.set()
            return None
        self._taken += 1
        return arrived(item, f"update {self._taken}")

    def close(self) -> None:
        self._is_over.set()


class Pumped(Queued):
    """Updates from a source that may block: a thread reads it into a bounded queue and waits while the queue is full."""

    def __init__(
        self, updates: Iterable[Any], size: int, name: str = "the stream", is_over: threading.Event | None = None
    ) -> None:
        super().__init__(queue.Queue(size), is_over)
        self._thread = threading.Thread(target=self._pump, args=(updates, name), name="corollary-stream", daemon=True)
        self._thread.start()

    def _pump(self, updates: Iterable[Any], name: str) -> None:
        last: Any = None
        numbers = itertools.count(1)
        try:
            for item in updates:
                # Updates that are read ahead are copied at once: the producer may fill the same object again.
                if item is not None and not self._put(arrived(item, f"update {next(numbers)}")):
                    return
        except Exception as error:
            last = failed(name, error)
        if last is None or self._put(last):
            self._put(None)

    def _put(self, item: object) -> bool:
        while not self._is_over.is_set():
            try:
                self._queue.put(item, timeout=_POLL)
                return True
            except queue.Full:
                continue
        return False


def resumed_source(source: Any, position: Any, **options: Any) -> UpdateSource:
    """Return the source, continued after the position that an earlier stream committed; None starts at the beginning."""
    if hasattr(source, "go_on"):
        source.go_on(position)
        made: UpdateSource = source
        return made
    if isinstance(source, (str, PathLike)) and not Path(source).is_fifo():
        return source_of(source, position=position, **options)
    if isinstance(source, Collection) and not isinstance(source, Mapping):
        return Ready(source, len(source), taken=position["updates"] if position else 0)
    message = f"a named stream resumes where it stopped, but {type(source).__name__} has no positions"
    hint = "files, lists and sources with go_on(position) have them; a stream without a name takes any source"
    raise ProgramError([Diagnostic(catalogue.STREAM_MOVED, message, None, hint)])


def source_of(
    source: Any,
    *,
    size: int = QUEUE_SIZE,
    follow: bool = False,
    prefixes: Mapping[str, str] | None = None,
    position: Any = None,
) -> UpdateSource:
    """Return a source of updates for a collection, an iterator, a queue, a file or its path; a source is returned as it
    is."""
    if size < 1:
        raise ValueError("a queue holds at least one update")
    if hasattr(source, "take_now"):
        made: UpdateSource = source
        return made
    if isinstance(source, queue.Queue):
        return Queued(source)
    if isinstance(source, (str, PathLike)):
        return _file(Path(source), size, follow, prefixes, position)
    if isinstance(source, io.TextIOBase) or hasattr(source, "readline"):
        name = str(getattr(source, "name", "the stream"))
        is_over = threading.Event()
        lines = _growing(source, is_over) if follow else source
        updates = read_updates(_decoded(lines), name, prefixes)
        return Ready(updates) if _is_on_disk(source) and not follow else Pumped(updates, size, name, is_over)
    if isinstance(source, Mapping):
        raise TypeError("a stream takes many updates: give a list of them")
    if isinstance(source, Collection):
        return Ready(source, len(source))
    if isinstance(source, Iterable):
        return Pumped(source, size)
    if isinstance(source, AsyncIterable):
        return Pumped(_driven(source), size)
    raise TypeError(f"updates come from an iterable, a queue or a file, not from {type(source).__name__}")


def _driven(source: AsyncIterable[Any]) -> Iterator[Any]:
    """Yield the updates of an asynchronous source, read in a new event loop."""
    import asyncio

    updates = aiter(source)
    with asyncio.Runner() as runner:
        while True:
            try:
                update = runner.run(_next_of(updates))
            except StopAsyncIteration:
                return
            yield update


async def _next_of(updates: AsyncIterator[Any]) -> Any:
    return await anext(updates)


def _file(
    path: Path, size: int, follow: bool, prefixes: Mapping[str, str] | None, position: Any = None
) -> UpdateSource:
    is_over = threading.Event()
    lines = FileLines(path, position, is_over if follow else None)
    updates = _closing(lines, read_updates(lines, str(path), prefixes, lines.number + 1))
    is_on_disk = path.is_file() or not path.exists()  # not a pipe
    return Ready(updates, name=str(path)) if is_on_disk and not follow else Pumped(updates, size, str(path), is_over)


def _closing(lines: FileLines, updates: Iterator[Arrived]) -> Iterator[Arrived]:
    try:
        yield from updates
    finally:
        lines.close()


def _growing(file: Any, is_over: threading.Event) -> Iterator[Any]:
    """Yield the lines of a file to which others append; wait for unfinished lines."""
    begun: Any = None
    while not is_over.is_set():
        line = file.readline()
        if not line:
            is_over.wait(_POLL)
            continue
        begun = line if begun is None else begun + line
        if begun[-1:] in ("\n", b"\n"):
            yield begun
            begun = None


def _decoded(lines: Iterable[Any]) -> Iterator[str]:
    return (line.decode("utf-8", "surrogateescape") if isinstance(line, bytes) else line for line in lines)


def _is_on_disk(file: Any) -> bool:
    try:
        return bool(file.seekable())
    except (AttributeError, ValueError):
        return False
