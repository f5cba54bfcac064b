"""The outcome of a transaction, with the cost of following it in each hyper-node."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass
class StepReport:
    """The cost of maintaining a hyper-node: which strategy ran and why, rounds, rule instances, and time.

    `overdeleted` are facts that were taken back for now, `rederived` those of them that were found or proved to follow all the
    same, `deleted` and `inserted` the visible facts that went and came.
    """

    owner: str
    strategy: str
    reason: str = ""
    rounds: int = 0
    instances: int = 0
    overdeleted: int = 0
    rederived: int = 0
    deleted: int = 0
    inserted: int = 0
    seconds: float = 0.0


@dataclass
class Outcome:
    """The visible facts that a transaction took and brought, by predicate, and what it cost, hyper-node by hyper-node.

    Sets of facts are in the engine's own form; predicates without a fact are missing.
    """

    deleted: dict[str, Any] = field(default_factory=dict)
    inserted: dict[str, Any] = field(default_factory=dict)
    steps: list[StepReport] = field(default_factory=list)
    explicit_deleted: int = 0
    explicit_inserted: int = 0
    seconds: float = 0.0
