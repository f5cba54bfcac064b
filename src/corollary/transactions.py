"""Changing facts and rules together, all or nothing, and what came of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from types import TracebackType
from typing import TYPE_CHECKING, Any

from corollary.program import Program

if TYPE_CHECKING:
    from corollary.engines.embedded.maintenance.transaction import StepReport
    from corollary.results import Result


@dataclass
class Change:
    """What a transaction does. A fact that is both deleted and inserted is there afterwards, and so is a rule.

    `insert` and `delete` hold rows, Arrow tables or pandas frames by predicate; `add_rules` texts or programs, `remove_rules`
    names or texts of rules.

    >>> from corollary import Change, KnowledgeBase
    >>> kb = KnowledgeBase("edge(1, 2). path(X, Y) :- edge(X, Y).")
    >>> result = kb.apply(Change(insert={"edge": [(2, 3)]}, delete={"edge": [(1, 2)]}))
    >>> list(result.inserted["path"]), list(result.deleted["path"])
    ([(2, 3)], [(1, 2)])
    """

    insert: Mapping[str, Any] = field(default_factory=dict)
    delete: Mapping[str, Any] = field(default_factory=dict)
    add_rules: tuple[str | Program, ...] = ()
    remove_rules: tuple[str, ...] = ()


class Facts(Mapping[str, "Result"]):
    """Facts by predicate, those of all others are none; nothing is decoded before it is looked at."""

    def __init__(
        self, found: Mapping[str, Result], full_name: Callable[[str], str], empty: Callable[[str], Result]
    ) -> None:
        self._found = found
        self._full_name = full_name
        self._empty = empty

    def __getitem__(self, predicate: str) -> Result:
        name = self._full_name(predicate)
        return self._found[name] if name in self._found else self._empty(name)

    def __iter__(self) -> Iterator[str]:
        return iter(sorted(self._found))

    def __len__(self) -> int:
        return len(self._found)

    def __repr__(self) -> str:
        return "{" + ", ".join(f"{name}: {len(facts):,}" for name, facts in sorted(self._found.items())) + "}"


@dataclass(frozen=True)
class MaintenanceReport:
    """What each hyper-node that a transaction touched did: its strategy, rounds, rule instances, and time."""

    steps: tuple[StepReport, ...]
    seconds: float
    explicit_inserted: int
    explicit_deleted: int

    def __str__(self) -> str:
        lines = [f"{self.seconds * 1000:,.1f} ms"]
        for step in self.steps:
            why = f" ({step.reason})" if step.reason else ""
            lines.append(
                f"{step.owner}  {step.strategy}{why}: +{step.inserted:,} -{step.deleted:,} facts, {step.rounds:,} rounds, "
                f"{step.instances:,} instances, {step.overdeleted:,} overdeleted, {step.rederived:,} rederived, "
                f"{step.seconds * 1000:,.1f} ms"
            )
        return "\n".join(lines)


@dataclass(frozen=True)
class TransactionResult:
    """The visible facts that a transaction brought and took, by predicate, and how they were found."""

    inserted: Facts
    deleted: Facts
    report: MaintenanceReport

    def __repr__(self) -> str:
        return f"<TransactionResult: inserted {self.inserted!r}, deleted {self.deleted!r}>"


class Transaction:
    """Collects changes in a `with` block; they happen together at its end, or not at all if the block raises.

    >>> from corollary import KnowledgeBase
    >>> kb = KnowledgeBase("edge(1, 2). edge(2, 3). path(X, Y) :- edge(X, Y).")
    >>> with kb.transaction() as tx:
    ...     tx.delete("edge", [(1, 2)])
    ...     tx.add_rules("path(X, Z) :- path(X, Y), edge(Y, Z).")
    ...     tx.insert("edge", [(3, 4)])
    >>> sorted(tx.result.inserted["path"]), list(tx.result.deleted["path"])
    ([(2, 4), (3, 4)], [(1, 2)])
    """

    def __init__(self, apply: Callable[[list[Change]], TransactionResult]) -> None:
        self._apply = apply
        self._changes: list[Change] = []
        self._result: TransactionResult | None = None

    def insert(self, predicate: str, facts: Any) -> None:
        self._changes.append(Change(insert={predicate: facts}))

    def delete(self, predicate: str, facts: Any) -> None:
        """The explicit facts among these go; those that are not explicit are left alone."""
        self._changes.append(Change(delete={predicate: facts}))

    def add_rules(self, *programs: str | Program) -> None:
        self._changes.append(Change(add_rules=programs))

    def remove_rules(self, *rules: str) -> None:
        """Rules by name or by text."""
        self._changes.append(Change(remove_rules=rules))

    @property
    def result(self) -> TransactionResult:
        if self._result is None:
            raise RuntimeError("a transaction has its result after its with block")
        return self._result

    def __enter__(self) -> Transaction:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self._result = self._apply(self._changes)
