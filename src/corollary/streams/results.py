"""The results of a stream: one for each update, the rejected updates, and statistics."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from corollary.diagnostics import Diagnostic
from corollary.engines.embedded.marking.statistics import MarkingStatistics
from corollary.transactions import Facts, MaintenanceReport


@dataclass
class UpdateStatistics(MarkingStatistics):
    """The cost of an update; `instances` are all rule instances, including those of rules that are maintained set by set."""

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
    """The sums of all updates so far."""

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
    """An update that was not applied: its number, where it stood, why, and the beginning of its text."""

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
    """The result of an update: the visible facts it inserted and deleted; none where it was rejected."""

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
