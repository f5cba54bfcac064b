"""From a streaming data frame to a stream that runs: what was asked for is checked before anything starts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from corollary.analysis import Analysis
from corollary.backends import Backend
from corollary.diagnostics import Diagnostic, ProgramError, catalogue
from corollary.streams.positions import Marked, Positions
from corollary.streams.stream import POLICIES
from corollary.streams.structured import Batches, SparkStream
from corollary.transactions import Change, TransactionResult

if TYPE_CHECKING:
    from corollary.backends.spark import SparkBackend


@dataclass(frozen=True)
class Options:
    """What `KnowledgeBase.write_stream` takes."""

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
    """What such a stream needs of a knowledge base."""

    analysis: Analysis

    @property
    def version(self) -> int | None: ...

    @property
    def path(self) -> Path | None: ...

    def full_name(self, predicate: str) -> str: ...

    def predicates(self) -> list[str]: ...

    def arity(self, predicate: str) -> int | None: ...


def write_stream(kb: StreamedOnSpark, backend: Backend, frame: Any, asked: Options) -> SparkStream:
    spark = _checked(backend, frame, asked)
    from corollary.engines.spark.streaming.change_columns import change_columns

    is_durable = kb.path is not None
    if is_durable and asked.checkpoint is None:
        message = "a stream into a knowledge base in a directory needs a checkpoint: it says what Spark has read"
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


def _checked(backend: Backend, frame: Any, asked: Options) -> SparkBackend:
    if asked.policy not in POLICIES:
        raise ValueError(f"the policy is 'reject' or 'fail', not '{asked.policy}'")
    if type(backend).__name__ != "SparkBackend":
        message = "streaming data frames are followed by the Spark engine"
        raise _not_streamed(message, 'KnowledgeBase(…, engine="spark"), or kb.stream(…) on this one')
    spark: SparkBackend = backend  # type: ignore[assignment]
    if not spark.settings.updates:
        raise _not_streamed("this knowledge base promised that nothing would change", "updates=True is the default")
    if not getattr(frame, "isStreaming", False):
        raise _not_streamed("this is no streaming data frame", "spark.readStream makes them; kb.apply(…) takes others")
    return spark


def _spellings(kb: StreamedOnSpark, arities: Mapping[str, int]) -> dict[str, str]:
    """What rows may call the predicates: their full names, and those with the prefixes of the program."""
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
