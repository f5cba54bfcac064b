"""The methods of `KnowledgeBase` for streams."""

from __future__ import annotations

import threading
from collections.abc import AsyncIterable, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from corollary.analysis import Analysis
from corollary.backends import Backend
from corollary.diagnostics import Diagnostic, ProgramError, catalogue

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from corollary.engines.embedded.marking.strategy import MarkingStrategy
    from corollary.program import Program
    from corollary.reasoning.maintain.chooser import Strategy
    from corollary.reasoning.run import Run
    from corollary.store.durable import Durable
    from corollary.streams.async_stream import AsyncStream
    from corollary.streams.stream import Stream
    from corollary.streams.structured import SparkStream
    from corollary.transactions import TransactionResult


class Streaming:
    """The methods of a knowledge base for streams. See docs/streams.md.

    Heavy imports are inside the methods, because most knowledge bases have no streams.
    """

    analysis: Analysis
    _backend: Backend
    _lock: threading.RLock
    _durable: Durable | None

    def stream(
        self,
        source: Any,
        *,
        strategy: str | MarkingStrategy = "auto",
        policy: str = "reject",
        largest: int = 1_000_000,
        queue_size: int = 64,
        follow: bool = False,
        rejects: str | PathLike[str] | None = None,
        name: str | None = None,
    ) -> Stream:
        """Apply updates from an iterable, an async iterable, a `queue.Queue` or a file; return an iterator of results, one
        for each.

        docs/streams.md lists the strategies; you can also pass your own. With a `name`, which needs a knowledge base in a
        directory, the position in the source is stored with each version, and a stream of the same name continues from there.

        >>> from corollary import Change, KnowledgeBase
        >>> kb = KnowledgeBase("path(X, Y) :- edge(X, Y). edge(1, 2).")
        >>> for result in kb.stream([Change(insert={"edge": [(2, 3)]}), Change(delete={"edge": [(1, 2)]})]):
        ...     print(result.number, list(result.inserted["path"]), list(result.deleted["path"]))
        1 [(2, 3)] []
        2 [] [(1, 2)]
        """
        from corollary.streams.results import Positions
        from corollary.streams.sources import resumed_source, source_of
        from corollary.streams.stream import Stream
        from corollary.streams.target import Target

        options: dict[str, Any] = {"size": queue_size, "follow": follow, "prefixes": self.program.prefixes}
        if name is not None and self.path is None:
            message = f"the stream '{name}' has a name, but this knowledge base has no directory to store its position"
            hint = "KnowledgeBase.create(path, program) creates one; a stream without a name starts at the beginning"
            raise ProgramError([Diagnostic(catalogue.NOT_STORED, message, None, hint)])
        positions = Positions(self, name) if name is not None else None
        updates = resumed_source(source, positions.last, **options) if positions else source_of(source, **options)
        target = Target(
            self,
            self._backend,
            self._operation,
            lambda change, followed_by: self._apply([change], stream=followed_by),
            strategy=strategy,
            largest=largest,
            is_stored=self._durable is not None,
        )
        return Stream(target, updates, policy, rejects, positions)

    def stream_async(self, source: Any, *, queue_size: int = 64, **options: Any) -> AsyncStream:
        """Return the results for an event loop: `async for result in kb.stream_async(updates)`.

        It takes the same sources and options as `stream`; asynchronous iterators are read in the loop.
        """
        from corollary.streams.async_stream import Arrivals, AsyncStream

        if not isinstance(source, AsyncIterable) or hasattr(source, "take_now") or options.get("name") is not None:
            return AsyncStream(self.stream(source, queue_size=queue_size, **options))
        arrivals = Arrivals(queue_size)
        return AsyncStream(self.stream(arrivals, **options), source, arrivals)

    def write_stream(
        self,
        frame: Any,
        *,
        predicate: str | None = None,
        columns: Sequence[str] | Mapping[str, Sequence[str]] | None = None,
        order: str | None = None,
        checkpoint: str | PathLike[str] | None = None,
        policy: str = "reject",
        rejects: str | PathLike[str] | None = None,
        largest: int | None = None,
        trigger: Mapping[str, Any] | None = None,
        name: str | None = None,
    ) -> SparkStream:
        """Start a Spark query that applies a streaming data frame of changes, one transaction per micro-batch; see
        docs/streams.md.

        Each row is a change: `op` is insert or delete, `predicate` names the predicate, and the other columns are the
        arguments. The parameter `predicate` replaces that column; `columns` names the arguments, for all or for each
        predicate. Of several changes to a fact in a batch, the last one by the column `order` counts; without `order`,
        insertions win. `checkpoint`,
        `trigger` and `name` are those of Spark's query.
        """
        from corollary.streams.structured import WriteStreamOptions, write_stream

        with self._operation() as run:
            self._materialise(run)
            asked = WriteStreamOptions(
                predicate, columns, order, checkpoint, policy, rejects, largest, trigger or {}, name
            )
            return write_stream(self, self._backend, frame, asked)

    if TYPE_CHECKING:

        @property
        def program(self) -> Program: ...

        @property
        def marks(self) -> dict[str, Any]: ...

        @property
        def version(self) -> int | None: ...

        @property
        def path(self) -> Path | None: ...

        def marking(self, **marks: Any) -> AbstractContextManager[None]: ...

        def apply(self, *changes: Any) -> TransactionResult: ...

        def _apply(self, written: Sequence[Any], *, stream: Strategy | None) -> TransactionResult: ...

        def arity(self, predicate: str) -> int | None: ...

        def full_name(self, predicate: str) -> str: ...

        def data_name(self, predicate: str) -> str: ...

        def materialise(self) -> Any: ...

        def _materialise(self, run: Run) -> None: ...

        def _operation(self) -> AbstractContextManager[Run]: ...

        def predicates(self) -> list[str]: ...
