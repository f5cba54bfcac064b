"""A recursive step in one transaction: what is taken back, what is found again, and what follows from new facts.

Delete and rederive, a set at a time (papers 002 and 004), in rounds that cost what they find. Everything that might depend on
what is gone is taken back for now, but for facts that others support; then what still has a derivation is found again, and
what follows from it and from new facts is added. While the step runs, its own predicates are seen through an overlay.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from corollary.engines.embedded.maintenance.step_rules import Delta
from corollary.engines.embedded.maintenance.transaction import StepReport
from corollary.engines.spark.maintenance.change_rows import ChangeRows, summed
from corollary.engines.spark.maintenance.delta_rules import DeltaRules, Wanted
from corollary.engines.spark.maintenance.row_sets import either, without
from corollary.engines.spark.maintenance.steps import SparkStep
from corollary.engines.spark.maintenance.support_lookup import Support, support_of, visible_among
from corollary.engines.spark.maintenance.transaction import Transaction
from corollary.engines.spark.maintenance.versions import Versions

Rows = dict[str, ChangeRows]
Adopt = Callable[[str, ChangeRows], bool]
"""Asks earlier steps whether they derive some facts of a predicate; True where they do, for some."""


class OverBudget(Exception):
    """Following a deletion has become more expensive than deriving anew."""


@dataclass
class RecursiveTask:
    """One step to maintain in one transaction; `most` is how many facts a deletion may reach."""

    step: SparkStep
    transaction: Transaction
    versions: Versions
    rules: DeltaRules
    report: StepReport
    adopt: Adopt
    most: int | None = None


def maintain_recursively(task: RecursiveTask) -> None:
    """Raises `OverBudget`, and then nothing has changed but what earlier steps have adopted."""
    run = _RecursiveStep(task)
    start = run.rederive(run.overdelete())
    run.insert(start)
    run.commit()


class _RecursiveStep:
    def __init__(self, task: RecursiveTask) -> None:
        self._task = task
        self._step = task.step
        self._transaction, self._versions, self._rules = task.transaction, task.versions, task.rules
        self._heads = task.step.heads
        self._own: dict[str, list[ChangeRows]] = {name: [] for name in self._heads}  # changes of the step's support
        self._reached: Rows = {}
        self._disowned: Rows = {}  # facts that others support

    # -- what is lost ------------------------------------------------------------------------------------------------

    def overdelete(self) -> Rows:
        """The facts that a deletion reaches."""
        lost = self._derive(self._step.rules.losing)
        for name, arity in self._heads.items():
            given_up = self._transaction.visible(name, arity).lost
            if given_up.rows:
                lost[name] = either(lost[name], given_up) if name in lost else given_up
        current = self._deletable(lost)
        while current:
            self._task.report.rounds += 1
            self._versions.spread = dict(self._reached)
            for name, rows in current.items():
                known = self._reached.get(name)
                self._reached[name] = rows if known is None else either(known, rows)
            self._versions.reached = dict(self._reached)
            self._versions.changing = current
            self._versions.forget()
            self._check_budget()
            current = self._deletable(self._derive(self._step.rules.spreading))
        self._task.report.overdeleted += self._count(self._reached)
        return self._reached

    def _check_budget(self) -> None:
        most = self._task.most
        if most is not None and self._count(self._reached) > most:
            self._versions.clear()
            raise OverBudget

    def _deletable(self, lost: Mapping[str, ChangeRows]) -> Rows:
        """Those of the facts that no deletion has reached yet and that nobody else supports."""
        found: Rows = {}
        waiting = dict(lost)
        for known in (self._reached, self._disowned):
            waiting = {name: without(rows, known[name]) if name in known else rows for name, rows in waiting.items()}
        for name, support in support_of(waiting, self._heads, self._step.owner, self._transaction).items():
            if support.unsupported.rows and self._task.adopt(name, support.unsupported):
                self._versions.forget()
                support = support_of({name: waiting[name]}, self._heads, self._step.owner, self._transaction)[name]
            self._disown(name, support)
            if support.unsupported.rows:
                found[name] = support.unsupported.once()
        return found

    def _disown(self, name: str, support: Support) -> None:
        """The step may have lost its last derivation of these facts: it stops to support them."""
        for rows in (support.own_unsupported, support.own_supported):
            if rows.rows:
                self._own[name].append(rows.times(-1))
        if support.own_supported.rows:
            known = self._disowned.get(name)
            rows = support.own_supported
            self._disowned[name] = rows if known is None else either(known, rows)

    # -- what is found again -----------------------------------------------------------------------------------------

    def rederive(self, overdeleted: Rows) -> Rows:
        """Those of the facts that rules of the step derive from what is left."""
        for name, arity in self._heads.items():
            change = self._transaction.flips_of(name, arity)
            if name in overdeleted:
                hidden = overdeleted[name].times(-1)
                change = summed([without(change, hidden), hidden])
            self._versions.overlay[name] = change
        self._versions.reached, self._versions.spread = {}, {}
        self._versions.changing = dict(overdeleted)
        self._versions.forget()
        if not overdeleted:
            return {}
        found = {name: rows.once() for name, rows in self._derive(self._step.rules.checking).items()}
        self._show(found)
        self._task.report.rederived += self._count(found)
        return found

    # -- what is gained ----------------------------------------------------------------------------------------------

    def insert(self, start: Rows) -> None:
        """Adds what follows from these facts of the step and from new facts of others."""
        delta = dict(start)
        for name, arity in self._heads.items():
            born = self._transaction.visible(name, arity).inserted
            if born.rows:
                delta[name] = either(delta[name], born) if name in delta else born.once()
        self._set_changing(delta)
        new = self._add(self._derive(self._step.rules.gaining))
        for name, rows in new.items():
            delta[name] = either(delta[name], rows) if name in delta else rows
        while delta:
            self._task.report.rounds += 1
            self._set_changing(delta)
            delta = self._add(self._derive(self._step.rules.growing))

    def _set_changing(self, delta: Rows) -> None:
        self._versions.changing = dict(delta)
        self._versions.forget()

    def _add(self, found: Mapping[str, ChangeRows]) -> Rows:
        """Shows what was found and not visible, which is what the next round starts from."""
        seen = visible_among(found, self._heads, self._versions, self._transaction)
        new = {name: without(rows, seen[name]) if name in seen else rows for name, rows in found.items()}
        added = {name: rows.once() for name, rows in new.items() if rows.rows}
        self._show(added)
        return added

    def _show(self, facts: Rows) -> None:
        for name, rows in facts.items():
            self._own[name].append(rows)
            self._versions.overlay[name] = summed([self._versions.overlay[name], rows])
        self._versions.forget()

    # -- rules -------------------------------------------------------------------------------------------------------

    def _derive(self, deltas: Iterable[Delta]) -> Rows:
        wanted = [Wanted((self._step.owner, delta.rule.head.predicate), delta.rule) for delta in deltas]
        return {name: rows for (_, name), rows in self._rules.derive(wanted).items()}

    @staticmethod
    def _count(rows: Mapping[str, ChangeRows]) -> int:
        return sum(one.rows for one in rows.values())

    def commit(self) -> None:
        for name, changes in self._own.items():
            if changes:
                self._transaction.change_support(name, self._step.owner, summed(changes), counted=False)
        self._versions.clear()
