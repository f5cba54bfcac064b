"""The facts of a recursive step as rows in the driver or in tables; see `engines.base.StepFacts`.

While the step runs, its own predicates are seen through an overlay. Nothing reaches the transaction before `finish`,
except for facts that earlier steps adopted, so giving the step up means to forget it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from functools import reduce
from typing import TYPE_CHECKING

import numpy as np

from corollary.engines.base import Mark, OverBudget, Signed
from corollary.engines.spark.maintenance.change_rows import ChangeRows, Ids, either, summed, without
from corollary.engines.spark.maintenance.signed_relation import SignedRelation
from corollary.engines.spark.maintenance.step_jobs import RunJobs
from corollary.engines.spark.maintenance.steps import SparkStep
from corollary.engines.spark.maintenance.support_lookup import present_among, support_of, visible_among
from corollary.engines.spark.maintenance.transaction import SparkTransaction
from corollary.engines.spark.maintenance.versions import SparkVersions
from corollary.engines.spark.relations import FrameStore
from corollary.planning import NormalRule
from corollary.planning.deltas import AFTER, BEFORE
from corollary.reasoning.maintain.step_rules import Delta, whole_before
from corollary.reasoning.maintain.transaction import Task

if TYPE_CHECKING:
    from corollary.engines.spark.maintenance.changing_facts import SparkChangingFacts

FactRows = Mapping[str, ChangeRows]


class SparkStepFacts:
    """The facts of a step. One that `counts` has counters beside its support, filled when a deletion first needs them.

    `most` is the number of facts that a deletion may reach; more raise `OverBudget`.
    """

    def __init__(
        self,
        task: Task,
        facts: SparkChangingFacts,
        *,
        counts: bool = False,
        most: int | None = None,
    ) -> None:
        self._task = task
        self._facts = facts
        self._counts = counts
        self._most = most
        self._owner = task.step.owner
        self._heads = task.step.heads
        self._transaction, self._versions = facts.state, facts.versions
        self._own: dict[str, list[ChangeRows]] = {name: [] for name in self._heads}  # changes of the step's support
        self._counted: dict[str, list[ChangeRows]] = {name: [] for name in self._heads}
        self._only_own: dict[str, list[ChangeRows]] = {}  # facts that only the step supports, until they are withdrawn
        self._disowned: dict[str, ChangeRows] = {}  # facts that others support
        self._reached: dict[str, ChangeRows] = {}
        self._marks: dict[Mark, dict[str, ChangeRows]] = {mark: {} for mark in Mark}
        self._round = 0
        self._more = 0  # visible facts that the transaction does not know yet

    # -- rules -------------------------------------------------------------------------------------------------------

    def derive(self, deltas: Iterable[Delta], new: Iterable[NormalRule] = ()) -> dict[str, ChangeRows]:
        return self._run([*(delta.rule for delta in deltas), *new])

    def _run(self, rules: Iterable[NormalRule]) -> dict[str, ChangeRows]:
        wanted = [Signed((self._owner, rule.head.predicate), rule) for rule in rules]
        return {name: rows for (_, name), rows in self._facts.derive(wanted).items()}

    def rows(self, heads: FactRows) -> dict[str, ChangeRows]:
        return {name: found.once() for name, found in heads.items() if found.rows}

    def arrays(self, facts: FactRows) -> dict[str, Ids]:
        return {name: rows.in_driver()[:, :-1] for name, rows in facts.items()}

    def heads(self, arrays: Mapping[str, Ids]) -> dict[str, ChangeRows]:
        context, found = self._transaction.context, {}
        for name, ids in arrays.items():
            distinct = np.unique(ids, axis=0)
            rows = np.column_stack((distinct, np.ones(len(distinct), np.int64)))
            found[name] = ChangeRows.of_ids(context, self._heads[name], rows)
        return found

    # -- rounds ------------------------------------------------------------------------------------------------------

    def trying(self) -> AbstractContextManager[None]:
        return nullcontext()  # `reach` counts the overdeleted facts

    def begin_rounds(self, *, grows: bool = False) -> None:
        self._round = 0

    def next_round(self) -> None:
        self._round += 1
        self._transaction.context.run.round(self._round)
        self.check()

    def check(self) -> None:
        context = self._transaction.context
        context.run.check(context.facts() + self._more if context.run.counts_facts else None)

    @property
    def visible_size(self) -> int:
        return sum(self._versions.relation(AFTER + name, arity).size for name, arity in self._heads.items())

    # -- sets --------------------------------------------------------------------------------------------------------

    def size(self, facts: FactRows) -> int:
        return sum(one.rows for one in facts.values())

    def union(self, facts: FactRows, others: FactRows) -> dict[str, ChangeRows]:
        return _united(facts, others)

    def disjoint_union(self, parts: Sequence[FactRows]) -> dict[str, ChangeRows]:
        return reduce(_united, parts, {})

    def difference(self, facts: FactRows, others: FactRows) -> dict[str, ChangeRows]:
        return _without(facts, others)

    def mark(self, facts: FactRows, mark: Mark) -> None:
        self._marks[mark] = _united(self._marks[mark], facts)

    def unmark(self, facts: FactRows, mark: Mark) -> None:
        self._marks[mark] = _without(self._marks[mark], facts)

    def having(self, facts: FactRows, mark: Mark) -> dict[str, ChangeRows]:
        return _without(facts, _without(facts, self._marks[mark]))

    def without(self, facts: FactRows, *marks: Mark) -> dict[str, ChangeRows]:
        for mark in marks:
            facts = _without(facts, self._marks[mark])
        return dict(facts)

    def visible(self, facts: FactRows) -> dict[str, ChangeRows]:
        found = visible_among(facts, self._heads, self._versions)
        return {name: rows.once() for name, rows in found.items() if rows.rows}

    def ask_about(self, facts: FactRows) -> None:
        self._versions.changing = dict(facts)
        self._versions.forget()

    # -- deletion ------------------------------------------------------------------------------------------------

    def note_lost(self, heads: FactRows) -> None:
        self._note(heads, -1)

    def _note(self, heads: FactRows, sign: int) -> None:
        for name, rows in heads.items() if self._counts else ():
            self._counted[name].append(rows.times(sign))

    def remove(self, rules: Sequence[NormalRule]) -> dict[str, ChangeRows]:
        """Return what removed rules derived; the new counters of a changed step never included it."""
        return self.rows(self._run(map(whole_before, rules)))

    def given_up(self) -> dict[str, ChangeRows]:
        found = {name: self._transaction.visible(name, arity).lost for name, arity in self._heads.items()}
        return {name: rows for name, rows in found.items() if rows.rows}

    def deletable(self, lost: FactRows, given_up: FactRows, *, stops_at_support: bool = True) -> dict[str, ChangeRows]:
        """Return facts through which a deletion may continue, never those with other support: looking that up costs
        less than following them."""
        waiting = _without(_without(_united(lost, given_up), self._reached), self._disowned)
        return self._unsupported(waiting, disowns=True)

    def _unsupported(self, facts: FactRows, *, disowns: bool) -> dict[str, ChangeRows]:
        found = {}
        for name, support in support_of(facts, self._heads, self._owner, self._transaction).items():
            if support.unsupported.rows and self._task.earlier.adopt(name, support.unsupported):
                before = support.unsupported
                support = support_of({name: facts[name]}, self._heads, self._owner, self._transaction)[name]
                self._reveal(name, without(before, support.unsupported))
            if disowns and support.own_supported.rows:
                self._own[name].append(support.own_supported.times(-1))
                self._disowned = _united(self._disowned, {name: support.own_supported})
            if support.own_unsupported.rows:
                self._only_own.setdefault(name, []).append(support.own_unsupported)
            if support.unsupported.rows:
                found[name] = support.unsupported.once()
        return found

    def unsupported(self, facts: FactRows) -> dict[str, ChangeRows]:
        return self._unsupported(_without(facts, self._disowned), disowns=False)

    def _reveal(self, name: str, adopted: ChangeRows) -> None:
        """Make facts that others adopted, and that were visible before the transaction, unchanged again."""
        overlay = self._versions.overlay
        if name in overlay:
            overlay[name] = without(overlay[name], adopted)
        self._versions.forget()

    def reach(self, facts: FactRows) -> None:
        self._versions.spread = dict(self._reached)
        self._reached = _united(self._reached, facts)
        self._versions.reached = dict(self._reached)
        self.ask_about(facts)
        if self._most is not None and self.size(self._reached) > self._most:
            raise OverBudget(f"more than {self._most:,} facts may depend on what was deleted")

    def reached(self) -> dict[str, ChangeRows]:
        return dict(self._reached)

    def spread(self, facts: FactRows) -> None:
        """Note these facts as followed: the next call of `reach` leaves them out of UNSPREAD."""

    def withdraw(self, facts: FactRows) -> None:
        for name, rows in facts.items():
            self._own[name] += [own.times(-1) for own in self._withdrawn(name, rows)]
            hidden = rows.times(-1)
            self._versions.overlay[name] = summed([without(self._seen(name), hidden), hidden])
        self._more -= self.size(facts)
        self._versions.forget()

    def _withdrawn(self, name: str, rows: ChangeRows) -> list[ChangeRows]:
        """Return the withdrawal of the step's support for these facts, which no other owner supports."""
        parts = self._only_own.pop(name, [])
        if not parts or rows is self._reached.get(name):
            return parts
        own = reduce(either, parts)
        self._only_own[name] = [without(own, rows)]
        return [without(own, self._only_own[name][0])]

    def _seen(self, name: str) -> ChangeRows:
        """Return how the facts of a predicate have changed, as rules of the step see them."""
        overlay = self._versions.overlay
        return overlay[name] if name in overlay else self._transaction.flips_of(name, self._heads[name])

    def hidden(self, facts: FactRows) -> tuple[dict[str, ChangeRows], dict[str, ChangeRows]]:
        return dict(facts), {}

    def restore(self, heads: FactRows) -> dict[str, ChangeRows]:
        found = self.rows(heads)
        self._show(found)
        return found

    def restore_counted(self, facts: FactRows) -> dict[str, ChangeRows]:
        self.withdraw(facts)
        if not facts:
            return {}
        counters = self._transaction.counters
        if not counters.has(self._owner):
            self._fill_counters()
        relations = {name: counters.now(self._owner, name, self._counted[name]) for name in facts}
        return self.restore(present_among(facts, relations))

    def _fill_counters(self) -> None:
        """Fill the counters, which are not needed before the first deletion."""
        task, counters = self._task, self._transaction.counters
        new = [rule.name for rule in task.new_rules]
        relations = _recount(task.step, new, self._transaction, self._versions, self._facts.run_jobs)
        counters.fill(self._owner, relations)
        facts = sum(relation.size for relation in relations.values())
        task.report.reason = f"counted the derivations of {facts:,} facts"

    def begin_proofs(self) -> None:
        self._versions.proved = {}
        self._versions.forget()

    def prove(self, facts: FactRows) -> None:
        self.mark(facts, Mark.KNOWN)
        self._versions.proved = dict(self._marks[Mark.KNOWN])
        hidden = _without(facts, self.visible(facts))
        self._show(hidden)
        self._versions.forget()

    # -- insertion ----------------------------------------------------------------------------------------------

    def born(self) -> dict[str, ChangeRows]:
        found = {name: self._transaction.visible(name, arity).inserted for name, arity in self._heads.items()}
        return {name: rows.once() for name, rows in found.items() if rows.rows}

    def set_changing(self, facts: FactRows) -> None:
        self.ask_about(facts)

    def add(self, heads: FactRows) -> dict[str, ChangeRows]:
        self._note(heads, +1)
        seen = visible_among(heads, self._heads, self._versions)
        added = self.rows(_without(heads, seen))
        self._show(added)
        return added

    def _show(self, facts: FactRows) -> None:
        for name, rows in facts.items():
            self._own[name].append(rows)
            self._versions.overlay[name] = summed([self._seen(name), rows])
        self._more += self.size(facts)
        self._versions.forget()

    def finish(self) -> None:
        counters = self._transaction.counters
        if self._counts and counters.has(self._owner):
            for name, changes in self._counted.items():
                for change in changes:
                    counters.change(self._owner, name, change)
        for name, changes in self._own.items():
            if changes:
                self._transaction.change_support(name, self._owner, summed(changes), counted=False)
        self._versions.clear()


def _united(facts: FactRows, others: FactRows) -> dict[str, ChangeRows]:
    found = dict(facts)
    for name, rows in others.items():
        found[name] = either(found[name], rows) if name in found else rows
    return found


def _without(facts: FactRows, others: FactRows) -> dict[str, ChangeRows]:
    found = {name: without(rows, others[name]) if name in others else rows for name, rows in facts.items()}
    return {name: rows for name, rows in found.items() if rows.rows}


def _recount(
    step: SparkStep, new_rules: Collection[str], transaction: SparkTransaction, versions: SparkVersions, run: RunJobs
) -> dict[str, SignedRelation]:
    """Return how often the step's previous rules derived each fact before the transaction; no fact changes by that."""
    context = transaction.context
    rules = tuple(rule for rule in step.job.rules if rule.name not in new_rules)
    job = replace(step.job, rules=rules, modules=(), recursive=False, decomposition=None, counts=True)
    store = FrameStore(context.spark)
    for name, arity in job.relations.items():
        frame = versions.relation(BEFORE + name, arity).visible()
        store.arities[name] = arity
        store.derived[name] = [frame] if frame.rows != 0 else []
    (outcome,) = run([job], store)
    found = {}
    for name, arity in step.heads.items():
        counted = outcome.counted.get(name)
        found[name] = SignedRelation(context, arity, (counted,) if counted is not None else (), counted=True)
    return found
