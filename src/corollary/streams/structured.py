"""Structured Streaming: micro-batches of Spark into a knowledge base on Spark, each of them one transaction.

On a knowledge base in a directory the version and the number of the batch commit together, so a batch that Spark hands over a
second time, after a restart, changes nothing.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from corollary.diagnostics import Diagnostic, ProgramError, catalogue
from corollary.engines.spark.streaming.batch import Batch, all_rejected, read_batch
from corollary.engines.spark.streaming.change_columns import ChangeColumns
from corollary.streams.batch_results import BatchResult, RejectedChange
from corollary.streams.positions import Positions
from corollary.streams.reject_files import first_rows, write_rejected
from corollary.transactions import Change, TransactionResult

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.query import StreamingQuery

    from corollary.engines.spark.context import Context

_KEPT = 10_000  # results and rejected changes that a stream remembers
_QUERY = "sql.streaming.queryId"


@dataclass(frozen=True)
class Batches:
    """What happens to a batch, whichever it is. `positions` gives those of a query where they are kept."""

    context: Context
    columns: ChangeColumns
    apply: Callable[[Change], TransactionResult]
    version: Callable[[], int | None]
    positions: Callable[[str], Positions] | None
    largest: int | None
    fails: bool
    rejects: Path | None


class SparkStream:
    """A streaming query that changes a knowledge base. `results` are those of the last batches, `rejects` the first bad changes.

    `query` is Spark's own object.
    """

    def __init__(self, batches: Batches) -> None:
        self._batches = batches
        self._failure: BaseException | None = None
        self._lock = threading.Lock()
        self.results: deque[BatchResult] = deque(maxlen=_KEPT)
        self.rejects: list[RejectedChange] = []
        self.query: StreamingQuery

    def start(self, frame: DataFrame, options: Mapping[str, str], trigger: Mapping[str, Any], name: str | None) -> None:
        writer = frame.writeStream.foreachBatch(self._process).options(**options)
        if name is not None:
            writer = writer.queryName(name)
        if trigger:
            writer = writer.trigger(**trigger)
        self.query = writer.start()

    # -- one batch ---------------------------------------------------------------------------------------------------

    def _process(self, batch: DataFrame, number: int) -> None:
        try:
            with self._lock:
                self._apply(batch, number)
        except BaseException as error:
            self._failure = error
            raise

    def _apply(self, batch: DataFrame, number: int) -> None:
        started, given = time.perf_counter(), self._batches
        positions = given.positions(_query_of(batch)) if given.positions is not None else None
        last = positions.last if positions is not None else None
        if last is not None and number <= last["batch"]:
            self.results.append(BatchResult(number, given.version(), applied=False))
            return
        found = self._checked(read_batch(given.context, batch, given.columns), batch, number)
        with _committing(positions, {"batch": number}):
            result = given.apply(Change(found.insert, found.delete))
        inserted, deleted = ({name: len(side[name]) for name in side} for side in (result.inserted, result.deleted))
        self.results.append(
            BatchResult(
                number, given.version(), True, found.rows, found.bad,
                result.report.explicit_inserted, result.report.explicit_deleted, inserted, deleted,
                time.perf_counter() - started,
            )
        )  # fmt: skip

    def _checked(self, found: Batch, batch: DataFrame, number: int) -> Batch:
        """What is right about a batch; the rest is told, or ends the stream."""
        largest = self._batches.largest
        if largest is not None and found.rows > largest:
            kind, reason = (
                catalogue.UPDATE_TOO_LARGE,
                f"a batch of {found.rows:,} changes, and {largest:,} is the limit",
            )
            hint = "sources have options that bound batches, as maxFilesPerTrigger; largest=N allows more"
            if self._batches.fails:
                raise ProgramError([Diagnostic(kind, f"batch {number}: {reason}", None, hint)])
            found = Batch(found.rows, {}, {}, found.rows, all_rejected(batch, kind.code, reason))
        if not found.bad:
            return found
        if self._batches.fails:
            raise ProgramError([self._diagnostic(found, number)])
        room = _KEPT - len(self.rejects)
        self.rejects += [RejectedChange(number, *row) for row in first_rows(found.rejected, room)] if room else []
        if self._batches.rejects is not None:
            write_rejected(found.rejected, self._batches.rejects, number)
        return found

    def _diagnostic(self, found: Batch, number: int) -> Diagnostic:
        ((code, reason, text),) = first_rows(found.rejected, 1)
        more = f" (and {found.bad - 1:,} more)" if found.bad > 1 else ""
        hint = 'policy="reject" leaves such changes out and tells of them'
        return Diagnostic(catalogue.CATALOGUE[code], f"batch {number}: {reason}: {text[:200]}{more}", None, hint)

    # -- for the caller ----------------------------------------------------------------------------------------------

    @property
    def is_active(self) -> bool:
        return bool(self.query.isActive)

    def process_all(self) -> None:
        """Waits until everything is applied that has arrived by now; raises what made the stream fail."""
        self._telling(self.query.processAllAvailable)

    def await_end(self, seconds: float | None = None) -> bool:
        """Waits for the end of the stream and says whether it has come; raises what made it fail."""
        waiting = self.query.awaitTermination
        # Spark takes fractions of seconds, too, though its types say otherwise.
        found = self._telling(lambda: waiting() if seconds is None else waiting(seconds))  # type: ignore[arg-type]
        return True if found is None else bool(found)

    def _telling(self, wait: Callable[[], Any]) -> Any:
        try:
            return wait()
        except Exception:
            if isinstance(self._failure, ProgramError):
                raise self._failure from None
            raise

    def stop(self) -> None:
        """Ends the stream; a batch that is being applied is applied as a whole or not at all."""
        self.query.stop()

    def __enter__(self) -> SparkStream:
        return self

    def __exit__(self, *error: object) -> None:
        self.stop()


def _committing(positions: Positions | None, position: Any) -> AbstractContextManager[None]:
    return positions.committing(position) if positions is not None else nullcontext()


def _query_of(batch: DataFrame) -> str:
    """The id of the query, which its checkpoint keeps."""
    found = batch.sparkSession.sparkContext.getLocalProperty(_QUERY)
    assert found is not None, "Spark runs a batch of no query"
    return found
