"""A recursive step in one transaction: what is taken back, what is found again, and what follows from new facts.

Delete and rederive, a set at a time (papers 002 and 004), in rounds that cost what they find. Everything that might depend on
what is gone is taken back for now, but for facts that others support; then what still has a derivation is found again, and
what follows from it, from new facts and from new rules is added. While the step runs, its own predicates are seen through an
overlay.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from corollary.engines.embedded.maintenance.step_rules import Delta, whole_before
from corollary.engines.embedded.maintenance.transaction import StepReport
from corollary.engines.spark.maintenance.change_rows import ChangeRows, summed
from corollary.engines.spark.maintenance.delta_rules import DeltaRules, Wanted
from corollary.engines.spark.maintenance.row_sets import either, without
from corollary.engines.spark.maintenance.steps import SparkStep
from corollary.engines.spark.maintenance.support_lookup import Support, support_of, visible_among
from corollary.engines.spark.maintenance.transaction import Transaction
from corollary.engines.spark.maintenance.versions import Versions
from corollary.planning import NormalRule

Rows = dict[str, ChangeRows]
Adopt = Callable[[str, ChangeRows], bool]
"""Asks earlier steps whether they derive some facts of a predicate; True where they do, for some."""


class OverBudget(Exception):
    """Following a change has become more expensive than deriving anew; the text says why."""


@dataclass
class RecursiveTask:
    """One step to maintain in one transaction.

    `new_rules` are the names of those that it has got in it, and `removed_rules` those that it has lost. `most` is how many
    facts a deletion may reach, and `most_new` how many new rules may bring.
    """

    step: SparkStep
    transaction: Transaction
    versions: Versions
    rules: DeltaRules
    report: StepReport
    adopt: Adopt
    new_rules: Collection[str] = ()
    removed_rules: Sequence[NormalRule] = ()
    most: int | None = None
    most_new: int | None = None


def delete_and_rederive(task: RecursiveTask) -> None:
    """Raises `OverBudget`, and then nothing has changed but what earlier steps have adopted."""
    RecursiveStep(task).run()


class RecursiveStep:
    """Finds again what one look at the rules derives; `recursive_counting` has the other way."""

    def __init__(self, task: RecursiveTask) -> None:
        self.task = task
        self.step = task.step
        self.transaction, self.versions, self._rules = task.transaction, task.versions, task.rules
        self._heads = task.step.heads
        self._own: dict[str, list[ChangeRows]] = {name: [] for name in self._heads}  # changes of the step's support
        self._reached: Rows = {}
        self._disowned: Rows = {}  # facts that others support

    def run(self) -> None:
        self._insert(self._rederive(self._overdelete()))
        self.commit()

    # -- what strategies do in their own way -------------------------------------------------------------------------

    def note(self, instances: Mapping[str, ChangeRows], sign: int) -> None:
        """Called with the heads of the instances that are lost or gained, and how many of them; each comes once."""

    def derivable(self, overdeleted: Rows) -> Rows:
        """Those of the facts that are derived from what is left; they are the ones that are changing."""
        return self._derive(self.step.rules.checking)

    # -- what is lost ------------------------------------------------------------------------------------------------

    def _overdelete(self) -> Rows:
        """The facts that a deletion reaches."""
        lost = self._derive_by_old(self.step.rules.losing)
        self.note(lost, -1)
        for name, rows in self._run([whole_before(rule) for rule in self.task.removed_rules]).items():
            if name in self._heads:
                lost[name] = either(lost[name], rows) if name in lost else rows
        for name, arity in self._heads.items():
            given_up = self.transaction.visible(name, arity).lost
            if given_up.rows:
                lost[name] = either(lost[name], given_up) if name in lost else given_up
        current = self._deletable(lost)
        while current:
            self.task.report.rounds += 1
            self.versions.spread = dict(self._reached)
            for name, rows in current.items():
                known = self._reached.get(name)
                self._reached[name] = rows if known is None else either(known, rows)
            self.versions.reached = dict(self._reached)
            self.versions.changing = current
            self.versions.forget()
            self._check(self._count(self._reached), self.task.most, "may depend on what was deleted")
            lost = self._derive_by_old(self.step.rules.spreading)
            self.note(lost, -1)
            current = self._deletable(lost)
        self.task.report.overdeleted += self._count(self._reached)
        return self._reached

    def _check(self, facts: int, most: int | None, what: str) -> None:
        if most is not None and facts > most:
            self.versions.clear()
            raise OverBudget(f"more than {most:,} facts {what}")

    def _deletable(self, lost: Mapping[str, ChangeRows]) -> Rows:
        """Those of the facts that no deletion has reached yet and that nobody else supports."""
        found: Rows = {}
        waiting = dict(lost)
        for known in (self._reached, self._disowned):
            waiting = {name: without(rows, known[name]) if name in known else rows for name, rows in waiting.items()}
        for name, support in support_of(waiting, self._heads, self.step.owner, self.transaction).items():
            if support.unsupported.rows and self.task.adopt(name, support.unsupported):
                self.versions.forget()
                support = support_of({name: waiting[name]}, self._heads, self.step.owner, self.transaction)[name]
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

    def _rederive(self, overdeleted: Rows) -> Rows:
        """Those of the facts that rules of the step derive from what is left."""
        for name, arity in self._heads.items():
            change = self.transaction.flips_of(name, arity)
            if name in overdeleted:
                hidden = overdeleted[name].times(-1)
                change = summed([without(change, hidden), hidden])
            self.versions.overlay[name] = change
        self.versions.reached, self.versions.spread = {}, {}
        self.versions.changing = dict(overdeleted)
        self.versions.forget()
        if not overdeleted:
            return {}
        found = {name: rows.once() for name, rows in self.derivable(overdeleted).items() if rows.rows}
        self._show(found)
        self.task.report.rederived += self._count(found)
        return found

    # -- what is gained ----------------------------------------------------------------------------------------------

    def _insert(self, start: Rows) -> None:
        """Adds what follows from these facts of the step and from new facts of others."""
        delta = dict(start)
        for name, arity in self._heads.items():
            born = self.transaction.visible(name, arity).inserted
            if born.rows:
                delta[name] = either(delta[name], born) if name in delta else born.once()
        self._set_changing(delta)
        by_new = [self.step.rules.whole[name] for name in self.task.new_rules]
        new = self._add(self._derive_by_old(self.step.rules.gaining, by_new))
        for name, rows in new.items():
            delta[name] = either(delta[name], rows) if name in delta else rows
        came = self._count(new)
        while delta:
            self._check(came, self.task.most_new, "follow from new rules")
            self.task.report.rounds += 1
            self._set_changing(delta)
            delta = self._add(self._derive(self.step.rules.growing))
            came += self._count(delta)

    def _set_changing(self, delta: Rows) -> None:
        self.versions.changing = dict(delta)
        self.versions.forget()

    def _add(self, found: Mapping[str, ChangeRows]) -> Rows:
        """Shows what was found and not visible, which is what the next round starts from."""
        self.note(found, +1)
        seen = visible_among(found, self._heads, self.versions)
        new = {name: without(rows, seen[name]) if name in seen else rows for name, rows in found.items()}
        added = {name: rows.once() for name, rows in new.items() if rows.rows}
        self._show(added)
        return added

    def _show(self, facts: Rows) -> None:
        for name, rows in facts.items():
            self._own[name].append(rows)
            self.versions.overlay[name] = summed([self.versions.overlay[name], rows])
        self.versions.forget()

    # -- rules -------------------------------------------------------------------------------------------------------

    def _derive(self, deltas: Iterable[Delta]) -> Rows:
        return self._run([delta.rule for delta in deltas])

    def _derive_by_old(self, deltas: Iterable[Delta], others: Sequence[NormalRule] = ()) -> Rows:
        """The same without new rules, which had no instance before and get all they have now at once, among `others`."""
        new = self.task.new_rules
        return self._run([*(delta.rule for delta in deltas if delta.rule.name not in new), *others])

    def _run(self, rules: Iterable[NormalRule]) -> Rows:
        wanted = [Wanted((self.step.owner, rule.head.predicate), rule) for rule in rules]
        return {name: rows for (_, name), rows in self._rules.derive(wanted).items()}

    @staticmethod
    def _count(rows: Mapping[str, ChangeRows]) -> int:
        return sum(one.rows for one in rows.values())

    def commit(self) -> None:
        for name, changes in self._own.items():
            if changes:
                self.transaction.change_support(name, self.step.owner, summed(changes), counted=False)
        self.versions.clear()
