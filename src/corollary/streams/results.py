"""The results of a stream: one for each update, the rejected updates, and statistics."""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any, Protocol

from corollary.diagnostics import Diagnostic
from corollary.engines.embedded.marking.statistics import MarkingStatistics
from corollary.transactions import Change, Facts, MaintenanceReport

# -- positions ---------------------------------------------------------------------------------------------------------

# How far a named stream has come: its position commits with the version of its update, so both exist or none does.
#
# Each source defines its positions: a place in a file, a number of updates, an entry of a journal.

STREAMS = "streams"
"""The mark of a version that has the positions, by name of the stream."""


class Marked(Protocol):
    """The part of a knowledge base in a directory that positions use."""

    @property
    def marks(self) -> dict[str, Any]: ...

    def marking(self, **marks: Any) -> AbstractContextManager[None]: ...

    def apply(self, *changes: Change) -> Any: ...


class Positions:
    """The position of a named stream in its source, stored in the knowledge base."""

    def __init__(self, kb: Marked, name: str) -> None:
        self._kb = kb
        self._name = name

    @property
    def last(self) -> Any:
        """Return the last committed position; None for a new stream."""
        return self._kb.marks.get(STREAMS, {}).get(self._name)

    def committing(self, position: Any) -> AbstractContextManager[None]:
        """Store the position with the transaction inside the block; if the transaction fails, the position does not
        change."""
        return self._kb.marking(**{STREAMS: {**self._kb.marks.get(STREAMS, {}), self._name: position}})

    def pass_over(self, position: Any) -> None:
        """Store the position after a rejected update, which changes nothing else."""
        with self.committing(position):
            self._kb.apply(Change())


# -- results -----------------------------------------------------------------------------------------------------------


@dataclass
class UpdateStatistics(MarkingStatistics):
    """The cost of an update; `instances` counts all rule instances, including those of rules that are maintained set at a
    time."""

    seconds: float = 0.0
    instances: int = 0

    def as_dict(self) -> dict[str, Any]:
        return {
            "seconds": self.seconds,
            "applications": {
                "deletions": self.deletions,
                "backward": self.backward,
                "forward": self.forward,
                "insertions": self.insertions,
            },
            "marks": {"explicit": self.explicit_marks, "implicit": self.implicit_marks},
            "instances": self.instances,
        }


@dataclass
class StreamStatistics(UpdateStatistics):
    """The totals of all updates so far."""

    updates: int = 0
    rejected: int = 0

    def count(self, update: UpdateStatistics, *, rejected: bool) -> None:
        self.updates += 1
        self.rejected += rejected
        self.add(update)

    def as_dict(self) -> dict[str, Any]:
        return {"updates": self.updates, "rejected": self.rejected, **super().as_dict()}


@dataclass(frozen=True)
class RejectedUpdate:
    """An update that was not applied: its number and place, the reason, and the beginning of its text."""

    number: int
    place: str
    diagnostics: tuple[Diagnostic, ...]
    text: str = ""

    @property
    def reason(self) -> str:
        return "; ".join(f"{diagnostic.code}: {diagnostic.message}" for diagnostic in self.diagnostics)

    def as_dict(self) -> dict[str, Any]:
        codes = [diagnostic.code for diagnostic in self.diagnostics]
        return {"update": self.number, "place": self.place, "codes": codes, "reason": self.reason, "text": self.text}


@dataclass(frozen=True)
class StreamResult:
    """The result of an update: the visible facts that it inserted and deleted, which are none if it was rejected."""

    number: int
    place: str
    inserted: Facts
    deleted: Facts
    statistics: UpdateStatistics
    report: MaintenanceReport | None = field(default=None, repr=False)
    rejected: RejectedUpdate | None = None

    @property
    def is_rejected(self) -> bool:
        return self.rejected is not None
