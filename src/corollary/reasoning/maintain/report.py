"""The outcome of a transaction, and what it cost in each hyper-node."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass
class StepReport:
    """The cost of maintaining a hyper-node: the strategy and the reason for it, rounds, rule instances, and time.

    `overdeleted` counts the facts of the first phase, `rederived` those of them that were rederived or proved,
    `deleted` and `inserted` the visible changes.
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
    """The visible facts that a transaction deleted and inserted, by predicate, and its cost, hyper-node by hyper-node.

    Sets of facts are in the engine's own form; predicates without a changed fact are missing.
    """

    deleted: dict[str, Any] = field(default_factory=dict)
    inserted: dict[str, Any] = field(default_factory=dict)
    steps: list[StepReport] = field(default_factory=list)
    explicit_deleted: int = 0
    explicit_inserted: int = 0
    seconds: float = 0.0
