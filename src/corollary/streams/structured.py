"""Structured Streaming: micro-batches of Spark into a knowledge base on Spark, each of them one transaction.

On a knowledge base in a directory, the number of the batch is stored with the version, so a batch that Spark delivers again
after a restart changes nothing.
"""

from __future__ import annotations

import json
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import pyarrow as pa

from corollary.analysis import Analysis
from corollary.backends import Backend
from corollary.diagnostics import Diagnostic, ProgramError, catalogue
from corollary.engines.spark.streaming.batch import (
    CODE,
    REASON,
    TEXT,
    ChangeColumns,
    MicroBatch,
    all_rejected,
    change_columns,
    read_batch,
)
from corollary.io.atomic import replacing
from corollary.streams.results import Marked, Positions
from corollary.streams.stream import POLICIES
from corollary.transactions import Change, TransactionResult

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.query import StreamingQuery

    from corollary.backends.spark import SparkBackend
    from corollary.engines.spark.context import Context

_KEPT = 10_000  # results and rejected changes that a stream keeps
_QUERY = "sql.streaming.queryId"


@dataclass(frozen=True)
class BatchResult:
    """The result of a micro-batch. `applied` is False for one that an earlier run had committed already.

    `changes` is the number of its rows, `rejected` the number of invalid ones; `explicit_inserted` and `explicit_deleted`
    count the explicit facts that changed, `inserted` and `deleted` hold the visible ones by predicate.
    """

    batch: int
    version: int | None
    applied: bool
    changes: int = 0
    rejected: int = 0
    explicit_inserted: int = 0
    explicit_deleted: int = 0
    inserted: dict[str, int] = field(default_factory=dict)
    deleted: dict[str, int] = field(default_factory=dict)
    seconds: float = 0.0


@dataclass(frozen=True)
class RejectedChange:
    """A change that was not applied: its batch, the reason, and its row as JSON."""

    batch: int
    code: str
    reason: str
    text: str

    def as_dict(self) -> dict[str, Any]:
        return {"batch": self.batch, "code": self.code, "reason": self.reason, "change": self.text}


@dataclass(frozen=True)
class Batches:
    """Applies the micro-batches of any query. `positions` returns the stored positions of a query, if there are any."""

    context: Context
    columns: ChangeColumns
    apply: Callable[[Change], TransactionResult]
    version: Callable[[], int | None]
    positions: Callable[[str], Positions] | None
    largest: int | None
    fails: bool
    rejects: Path | None


class SparkStream:
    """A streaming query that changes a knowledge base. `results` has the results of the last batches, `rejects` the first
    invalid changes.

    `query` is Spark's own query object.
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

    def _checked(self, found: MicroBatch, batch: DataFrame, number: int) -> MicroBatch:
        """Return the valid part of a batch; report the rejected rows, or end the stream because of them."""
        largest = self._batches.largest
        if largest is not None and found.rows > largest:
            kind, reason = (
                catalogue.UPDATE_TOO_LARGE,
                f"a batch of {found.rows:,} changes; the limit is {largest:,}",
            )
            hint = "limit the batches with an option of the source, such as maxFilesPerTrigger, or allow more with largest=N"
            if self._batches.fails:
                raise ProgramError([Diagnostic(kind, f"batch {number}: {reason}", None, hint)])
            found = MicroBatch(found.rows, {}, {}, found.rows, all_rejected(batch, kind.code, reason))
        if not found.bad:
            return found
        if self._batches.fails:
            raise ProgramError([self._diagnostic(found, number)])
        room = _KEPT - len(self.rejects)
        self.rejects += [RejectedChange(number, *row) for row in _first_rows(found.rejected, room)] if room else []
        if self._batches.rejects is not None:
            _write_rejected(found.rejected, self._batches.rejects, number)
        return found

    def _diagnostic(self, found: MicroBatch, number: int) -> Diagnostic:
        ((code, reason, text),) = _first_rows(found.rejected, 1)
        more = f" (and {found.bad - 1:,} more)" if found.bad > 1 else ""
        hint = 'policy="reject" rejects such changes and reports them'
        return Diagnostic(catalogue.CATALOGUE[code], f"batch {number}: {reason}: {text[:200]}{more}", None, hint)

    # -- for the caller ----------------------------------------------------------------------------------------------

    @property
    def is_active(self) -> bool:
        return bool(self.query.isActive)

    def process_all(self) -> None:
        """Wait until everything that has arrived is applied; raise the error that made the stream fail."""
        self._telling(self.query.processAllAvailable)

    def await_end(self, seconds: float | None = None) -> bool:
        """Wait for the end of the stream and return whether it has ended; raise the error that made it fail."""
        waiting = self.query.awaitTermination
        # Spark accepts fractions of seconds, although its types say otherwise.
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
        """End the stream; a batch that is being applied is applied as a whole or not at all."""
        self.query.stop()

    def __enter__(self) -> SparkStream:
        return self

    def __exit__(self, *error: object) -> None:
        self.stop()


def _committing(positions: Positions | None, position: Any) -> AbstractContextManager[None]:
    return positions.committing(position) if positions is not None else nullcontext()


def _query_of(batch: DataFrame) -> str:
    """Return the id of the query, which is stored in its checkpoint."""
    found = batch.sparkSession.sparkContext.getLocalProperty(_QUERY)
    assert found is not None, "Spark runs a batch without a query"
    return found


# -- rejected changes ----------------------------------------------------------------------------------------------------


def _first_rows(rejected: pa.Table | DataFrame, count: int) -> list[tuple[str, str, str]]:
    """Return codes, reasons and texts of the first rejected rows."""
    some = rejected.slice(0, count) if isinstance(rejected, pa.Table) else rejected.limit(count).toArrow()
    return [(row[CODE], row[REASON], row[TEXT]) for row in some.to_pylist()]


def _write_rejected(rejected: pa.Table | DataFrame, folder: Path, number: int) -> None:
    """Write `batch-N.jsonl`: a file, or a directory of files if Spark writes them.

    A batch that is processed twice writes the same file again.
    """
    folder.mkdir(parents=True, exist_ok=True)
    target = folder / f"batch-{number:010}.jsonl"
    if isinstance(rejected, pa.Table):
        lines = [RejectedChange(number, *row).as_dict() for row in _first_rows(rejected, rejected.num_rows)]
        with replacing(target) as aside:
            aside.write_text("".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines), encoding="utf-8")
        return
    from pyspark.sql import functions as F  # noqa: N812

    reported = rejected.select(F.lit(number).alias("batch"), CODE, REASON, F.col(TEXT).alias("change"))
    with replacing(target, also_parts=True) as aside:
        reported.write.json(aside.absolute().as_uri())


# -- starting -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class WriteStreamOptions:
    """The options of `KnowledgeBase.write_stream`."""

    predicate: str | None
    columns: Sequence[str] | Mapping[str, Sequence[str]] | None
    order: str | None
    checkpoint: str | PathLike[str] | None
    policy: str
    rejects: str | PathLike[str] | None
    largest: int | None
    trigger: Mapping[str, Any]
    name: str | None


class StreamedOnSpark(Marked, Protocol):
    """The part of a knowledge base that a stream on Spark uses."""

    analysis: Analysis

    @property
    def version(self) -> int | None: ...

    @property
    def path(self) -> Path | None: ...

    def full_name(self, predicate: str) -> str: ...

    def predicates(self) -> list[str]: ...

    def arity(self, predicate: str) -> int | None: ...


def write_stream(kb: StreamedOnSpark, backend: Backend, frame: Any, asked: WriteStreamOptions) -> SparkStream:
    """Start a stream of changes; check the options before anything runs."""
    spark = _checked(backend, frame, asked)
    is_durable = kb.path is not None
    if is_durable and asked.checkpoint is None:
        message = "a stream into a knowledge base in a directory needs a checkpoint, which records what Spark has read"
        raise _not_streamed(message, 'kb.write_stream(…, checkpoint="…")')
    arities = {name: arity for name in kb.predicates() if (arity := kb.arity(name)) is not None}
    columns = change_columns(
        frame, arities, _spellings(kb, arities),
        predicate=None if asked.predicate is None else kb.full_name(asked.predicate),
        columns=asked.columns, order=asked.order,
    )  # fmt: skip

    def apply(change: Change) -> TransactionResult:
        result: TransactionResult = kb.apply(change)
        return result

    batches = Batches(
        spark.context, columns, apply, lambda: kb.version,
        (lambda query: Positions(kb, query)) if is_durable else None,
        asked.largest, asked.policy == "fail", None if asked.rejects is None else Path(asked.rejects),
    )  # fmt: skip
    stream = SparkStream(batches)
    options = {} if asked.checkpoint is None else {"checkpointLocation": fspath(asked.checkpoint)}
    stream.start(frame, options, asked.trigger, asked.name)
    return stream


def _checked(backend: Backend, frame: Any, asked: WriteStreamOptions) -> SparkBackend:
    if asked.policy not in POLICIES:
        raise ValueError(f"the policy is 'reject' or 'fail', not '{asked.policy}'")
    if type(backend).__name__ != "SparkBackend":
        message = "streaming data frames need the Spark engine"
        raise _not_streamed(message, 'KnowledgeBase(…, engine="spark"), or kb.stream(…) on this one')
    spark: SparkBackend = backend  # type: ignore[assignment]
    if not spark.settings.updates:
        raise _not_streamed("this knowledge base was made with updates=False", "updates=True is the default")
    if not getattr(frame, "isStreaming", False):
        raise _not_streamed(
            "this is not a streaming data frame", "use spark.readStream, or kb.apply(…) for other data frames"
        )
    return spark


def _spellings(kb: StreamedOnSpark, arities: Mapping[str, int]) -> dict[str, str]:
    """Map the names that rows may use for the predicates to full names: the full names themselves, and those with prefixes of the
    program."""
    found = {name: name for name in arities}
    for prefix, namespace in kb.analysis.program.prefixes.items():
        found |= {
            f"{prefix}:{name[len(namespace) :]}": name
            for name in arities
            if name.startswith(namespace) and kb.full_name(f"{prefix}:{name[len(namespace) :]}") == name
        }
    return found


def _not_streamed(message: str, hint: str) -> ProgramError:
    return ProgramError([Diagnostic(catalogue.NOT_STREAMED, message, None, hint)])
