"""Delete and rederive, for steps whose rules depend on themselves.

Facts of a recursive step may support each other, so that counting does not tell when they have to go. Everything that might
depend on what was deleted is taken back for now, then what still has a derivation is found again, and what follows from it and
from new facts is added. A fact that others than the step support stays where it is, and the deletion does not spread from it
(paper 002, where these are the nonrecursive counters); the classical algorithm goes on and finds such facts again.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from corollary.engines.embedded.maintenance.maintained_relation import GONE, OVERDELETED, UNBORN, Numbers
from corollary.engines.embedded.maintenance.step_rules import StepRules, whole_before
from corollary.engines.embedded.maintenance.transaction import StepReport, Transaction, facts_of
from corollary.engines.embedded.relation import Codes, Relation
from corollary.planning import NormalRule
from corollary.planning.deltas import CHANGING


class RecursiveStep:
    """One recursive step in one transaction."""

    def __init__(self, rules: StepRules, transaction: Transaction, report: StepReport) -> None:
        self._rules = rules
        self._owner = rules.step.owner
        self._heads = rules.step.heads
        self._transaction = transaction
        self._report = report
        self._relations = {name: transaction.relation(name, arity) for name, arity in self._heads.items()}

    # -- deletion ----------------------------------------------------------------------------------------------------

    def delete(self, removed_rules: Iterable[NormalRule], *, stops_at_support: bool = True) -> dict[str, Codes]:
        """Takes back what may depend on deleted facts and removed rules; gives what has a derivation all the same."""
        overdeleted = self._overdelete(list(removed_rules), stops_at_support)
        for name, numbers in overdeleted.items():
            maintained = self._relations[name]
            supported = numbers[maintained.support(self._owner, numbers) > 0]
            maintained.change_support(self._owner, supported, -maintained.support(self._owner, supported))
            maintained.flags[numbers] &= ~np.uint8(OVERDELETED)
            self._report.overdeleted += len(numbers)
        return self.rederive({name: self._relations[name].rows(numbers) for name, numbers in overdeleted.items()})

    def _overdelete(self, removed_rules: list[NormalRule], stops_at_support: bool) -> dict[str, Numbers]:
        found: dict[str, list[Numbers]] = {name: [] for name in self._heads}
        candidates = self._transaction.derive(self._rules.losing, self._heads)
        for rule in removed_rules:
            if rule.head.predicate in self._heads:
                self._transaction.views.run(whole_before(rule), candidates[rule.head.predicate])
        current = {
            name: np.union1d(
                self._deletable(name, facts_of(candidates[name]), stops_at_support),
                self._without_support(name, stops_at_support),
            )
            for name in self._heads
        }
        while any(len(numbers) for numbers in current.values()):
            self._report.rounds += 1
            for name, numbers in current.items():
                self._relations[name].flags[numbers] |= OVERDELETED
                found[name].append(numbers)
            self._set_changing({name: self._relations[name].rows(numbers) for name, numbers in current.items()})
            candidates = self._transaction.derive(self._rules.spreading, self._heads)
            current = {
                name: self._deletable(name, facts_of(candidates[name]), stops_at_support) for name in self._heads
            }
        return {name: np.concatenate(parts) for name, parts in found.items() if parts}

    def _deletable(self, name: str, facts: Codes, stops_at_support: bool) -> Numbers:
        """Those of the facts that were visible, were not reached yet and that nobody else supports."""
        maintained = self._relations[name]
        numbers = maintained.locate(facts)
        numbers = numbers[(maintained.flags[numbers] & (UNBORN | OVERDELETED)) == 0]
        if stops_at_support:
            numbers = numbers[maintained.external_support(self._owner, numbers) == 0]
        return numbers

    def _without_support(self, name: str, stops_at_support: bool) -> Numbers:
        """The facts whose support by others has gone: the step's own may go round in circles."""
        maintained = self._relations[name]
        numbers = maintained.lost_rows()
        numbers = numbers[(maintained.flags[numbers] & (UNBORN | OVERDELETED)) == 0]
        return numbers[maintained.external_support(self._owner, numbers) == 0]

    def rederive(self, facts: dict[str, Codes]) -> dict[str, Codes]:
        """Those of the facts that are not visible and have a derivation from what is; the step supports them again."""
        hidden = {}
        for name, rows in facts.items():
            numbers = self._relations[name].locate(rows)
            hidden[name] = self._relations[name].rows(numbers[(self._relations[name].flags[numbers] & GONE) != 0])
        self._set_changing(hidden)
        derived = self._transaction.derive(self._rules.checking, self._heads)
        found = {}
        for name, relation in derived.items():
            if relation.size:
                numbers = self._relations[name].place(facts_of(relation))
                self._relations[name].change_support(self._owner, numbers, 1)
                found[name] = facts_of(relation)
                self._report.rederived += relation.size
        return found

    # -- insertion ---------------------------------------------------------------------------------------------------

    def insert(self, start: dict[str, Codes], new_rules: Iterable[NormalRule]) -> None:
        """Adds what follows from these facts of the step, from new facts of others and from new rules."""
        current: dict[str, list[Codes]] = {name: [facts] for name, facts in start.items()}
        for name, maintained in self._relations.items():
            _, inserted = maintained.difference()
            current.setdefault(name, []).append(inserted)
        candidates = self._transaction.derive(self._rules.gaining, self._heads)
        for rule in new_rules:
            self._transaction.views.run(rule, candidates[rule.head.predicate])
        for name, facts in self._add(candidates).items():
            current.setdefault(name, []).append(facts)
        delta = {name: np.concatenate(parts) for name, parts in current.items() if parts}
        while self._set_changing(delta):
            self._report.rounds += 1
            delta = self._add(self._transaction.derive(self._rules.growing, self._heads))

    def _add(self, candidates: dict[str, Relation]) -> dict[str, Codes]:
        """Makes the candidates visible; gives those that were not."""
        added = {}
        for name, relation in candidates.items():
            if relation.size:
                maintained = self._relations[name]
                numbers = maintained.place(facts_of(relation))
                numbers = numbers[(maintained.flags[numbers] & GONE) != 0]
                maintained.change_support(self._owner, numbers, 1)
                if len(numbers):
                    added[name] = maintained.rows(numbers)
        return added

    def _set_changing(self, facts: dict[str, Codes]) -> bool:
        """What the rules inside the step see as just changed; False when that is nothing."""
        views, is_any = self._transaction.views, False
        for name, arity in self._heads.items():
            rows = facts.get(name)
            is_any |= views.set_delta(CHANGING + name, rows if rows is not None else np.empty((0, arity), np.uint32))
        return is_any
