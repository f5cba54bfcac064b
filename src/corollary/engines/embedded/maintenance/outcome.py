"""What goes into a transaction, and what comes out of it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Protocol

from corollary.engines.embedded.closures import Difference
from corollary.engines.embedded.maintenance.replacement import Replacement
from corollary.engines.embedded.maintenance.transaction import StepReport
from corollary.engines.embedded.relation import Codes


class LazyRows(Protocol):
    """Facts that are counted, and written out when somebody wants to see them."""

    count: int

    def rows(self) -> Codes: ...


class Written:
    """Facts that are written out already."""

    def __init__(self, rows: Codes) -> None:
        self._rows = rows
        self.count = len(rows)

    def rows(self) -> Codes:
        return self._rows


class OneSide:
    """What a closure's difference deleted or inserted. A difference must live as long as one of its sides: the closure tells
    it when to take a copy of what it needs."""

    def __init__(self, difference: Difference, rows: LazyRows) -> None:
        self._difference = difference
        self._rows = rows
        self.count = rows.count

    def rows(self) -> Codes:
        return self._rows.rows()


class ReplacedSide:
    """What went or came where a predicate was derived anew."""

    def __init__(self, replacement: Replacement, side: int) -> None:
        self._replacement = replacement
        self._side = side
        self.count = replacement.counts[side]

    def rows(self) -> Codes:
        return self._replacement.difference[self._side]


def sides_of(replacement: Replacement) -> tuple[ReplacedSide, ReplacedSide]:
    return ReplacedSide(replacement, 0), ReplacedSide(replacement, 1)


@dataclass
class FactChange:
    """Explicit facts to delete and to insert, as rows by predicate; what is in both is inserted."""

    delete: dict[str, Codes] = field(default_factory=dict)
    insert: dict[str, Codes] = field(default_factory=dict)


@dataclass
class Outcome:
    """The visible facts that a transaction took and brought, and what it cost, hyper-node by hyper-node."""

    deleted: dict[str, LazyRows] = field(default_factory=dict)
    inserted: dict[str, LazyRows] = field(default_factory=dict)
    steps: list[StepReport] = field(default_factory=list)
    explicit_deleted: int = 0
    explicit_inserted: int = 0
    seconds: float = 0.0

    def add(self, predicate: str, deleted: LazyRows, inserted: LazyRows) -> None:
        if deleted.count:
            self.deleted[predicate] = deleted
        if inserted.count:
            self.inserted[predicate] = inserted


def by_node(steps: Iterable[tuple[str, StepReport]]) -> list[StepReport]:
    """One report for each hyper-node, with the steps that prepare what its rules need."""
    found: dict[str, StepReport] = {}
    for node, step in steps:
        total = found.setdefault(node, StepReport(node, ""))
        names = [name for name in total.strategy.split(" + ") if name]
        total.strategy = " + ".join(dict.fromkeys([*names, step.strategy]))
        total.reason = "; ".join(dict.fromkeys(reason for reason in (total.reason, step.reason) if reason))
        total.rounds += step.rounds
        total.instances += step.instances
        total.overdeleted += step.overdeleted
        total.rederived += step.rederived
        total.seconds += step.seconds
        if step.owner == node:
            total.deleted, total.inserted = step.deleted, step.inserted
    return list(found.values())
