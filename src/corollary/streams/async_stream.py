"""Streams for programs with an event loop: `async for` gives a result for each update."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterable, AsyncIterator
from typing import Any

from corollary.streams.results import StreamResult
from corollary.streams.stream import Stream
from corollary.streams.updates import Arrived, arrived, failed


class AsyncStream(AsyncIterator[StreamResult]):
    """A stream of results for an event loop. A thread waits for each update and applies it, so the loop is not blocked.

    A task of the loop reads an asynchronous iterator into `arrivals`, which is then the source of the stream.
    """

    def __init__(
        self, stream: Stream, source: AsyncIterable[Any] | None = None, arrivals: Arrivals | None = None
    ) -> None:
        self.stream = stream
        self._source = source
        self._arrivals = arrivals
        self._reader: asyncio.Task[None] | None = None

    async def __anext__(self) -> StreamResult:
        if self._arrivals is not None and self._source is not None:
            if self._reader is None:
                self._reader = asyncio.create_task(self._arrivals.read(self._source))
            if not self.stream.has_next:
                await self._arrivals.some()
        try:
            return await asyncio.to_thread(self._next)
        except _Over:
            await self.close()
            raise StopAsyncIteration from None

    def _next(self) -> StreamResult:
        try:
            return next(self.stream)
        except StopIteration:
            raise _Over from None  # a StopIteration must not leave a thread

    async def close(self) -> None:
        self.stream.close()
        if self._reader is not None:
            self._reader.cancel()

    async def __aenter__(self) -> AsyncStream:
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.close()


class _Over(Exception):
    """Raised at the end of the stream."""


class Arrivals:
    """A queue of at most `size` updates that the event loop fills and another thread empties."""

    def __init__(self, size: int) -> None:
        if size < 1:
            raise ValueError("a queue holds at least one update")
        self._waiting: deque[Arrived] = deque()
        self._room = asyncio.Semaphore(size)
        self._changed = asyncio.Event()
        self._is_complete = False
        self._loop: asyncio.AbstractEventLoop | None = None

    async def read(self, source: AsyncIterable[Any]) -> None:
        self._loop = asyncio.get_running_loop()
        number = 0
        try:
            async for item in source:
                number += 1
                await self._room.acquire()
                self._waiting.append(arrived(item, f"update {number}"))
                self._changed.set()
        except Exception as error:
            self._waiting.append(failed("the stream", error))
        finally:
            self._is_complete = True
            self._changed.set()

    async def some(self) -> None:
        """Wait until there is an update, or the stream has ended."""
        while not self._waiting and not self._is_complete:
            self._changed.clear()
            await self._changed.wait()

    @property
    def waiting(self) -> int:
        return len(self._waiting)

    def take_now(self) -> Arrived | None:
        try:
            found = self._waiting.popleft()
        except IndexError:
            return None
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._room.release)
        return found

    take = take_now  # the next update has arrived

    def close(self) -> None:
        self._is_complete = True
