"""What comes out of a stream on Spark: a result for each micro-batch, and the changes that were rejected."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class BatchResult:
    """What a micro-batch did. `applied` is False for one that a run before had committed already.

    `changes` are its rows, `rejected` those that were wrong; `explicit_inserted` and `explicit_deleted` are explicit facts that
    really came and went, `inserted` and `deleted` visible ones by predicate.
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
    """A change that was not applied: its batch, why, and its row as JSON."""

    batch: int
    code: str
    reason: str
    text: str

    def as_dict(self) -> dict[str, Any]:
        return {"batch": self.batch, "code": self.code, "reason": self.reason, "change": self.text}
