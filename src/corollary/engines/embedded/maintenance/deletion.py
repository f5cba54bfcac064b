"""Delete and rederive, for steps whose rules depend on themselves.

Facts of a recursive step may support each other, so that counting does not tell when they have to go. Everything that might
depend on what was deleted is taken back for now, then what still has a derivation is found again, and what follows from it and
from new facts is added.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from corollary.engines.embedded.maintenance.maintained_relation import GONE, REACHED, SPREAD, Numbers
from corollary.engines.embedded.maintenance.recursive_step import Found, RecursiveStep, Task
from corollary.engines.embedded.maintenance.transaction import facts_of
from corollary.engines.embedded.relation import Relation


def delete_and_rederive(
    task: Task, *, stops_at_support: bool = False, check_budget: Callable[[], None] = lambda: None
) -> None:
    """The classical algorithm (paper 004, section 3.1), where a deletion goes on from facts that others support, too.

    `check_budget` is called while facts are taken back and may give up by raising: every fact is still there then, some marked.
    """
    step = _DeleteAndRederive(task)
    start = step.rederive(step.overdelete(stops_at_support=stops_at_support, check_budget=check_budget))
    step.insert(start)
    step.clear_marks()


class OverdeletingStep(RecursiveStep):
    """A step that takes back everything that may depend on what is gone."""

    def overdelete(self, *, stops_at_support: bool, check_budget: Callable[[], None] = lambda: None) -> Found:
        """The facts that a deletion reaches, marked."""
        reached: dict[str, list[Numbers]] = {name: [] for name in self.heads}
        lost = self.lost_from_outside()
        current = {
            name: np.union1d(numbers, self.without_support(name))
            for name, numbers in self._reach(lost, stops_at_support).items()
        }
        while any(len(numbers) for numbers in current.values()):
            check_budget()
            self.report.rounds += 1
            for name, numbers in current.items():
                self.relations[name].mark(numbers, REACHED)
                reached[name].append(numbers)
            self.set_changing(current)
            lost = self.derive_by_old(self.rules.spreading)
            for name, numbers in current.items():
                self.relations[name].mark(numbers, SPREAD)
            current = self._reach(lost, stops_at_support)
        found = {name: np.concatenate(parts) for name, parts in reached.items() if parts}
        self.report.overdeleted += sum(map(len, found.values()))
        return found

    def _reach(self, lost: dict[str, Relation], stops_at_support: bool) -> Found:
        found = {}
        for name in self.heads:
            relation = lost.get(name)
            numbers = np.empty(0, np.int64)
            if relation is not None and relation.size:
                numbers = self.relations[name].locate(facts_of(relation))
                self.note_lost(name, numbers, relation)
            found[name] = self.deletable(name, numbers, stops_at_support=stops_at_support)
        return found

    def note_lost(self, name: str, numbers: Numbers, lost: Relation) -> None:
        """Called with the heads of lost instances, in the order of their rows."""


class _DeleteAndRederive(OverdeletingStep):
    def rederive(self, overdeleted: Found) -> Found:
        """Takes the step's support back; gives those of the facts that are visible all the same, or derivable in one step."""
        hidden, found = {}, {}
        for name, numbers in overdeleted.items():
            maintained = self.relations[name]
            supported = numbers[maintained.support(self.owner, numbers) > 0]
            maintained.change_support(self.owner, supported, -maintained.support(self.owner, supported))
            hidden[name] = self.unsupported(name, maintained.having(numbers, GONE))
            found[name] = maintained.without(numbers, GONE)
        self.set_changing(hidden)
        for name, relation in self.derive(self.rules.checking).items():
            maintained = self.relations[name]
            numbers = maintained.locate(facts_of(relation))
            maintained.change_support(self.owner, numbers, 1)
            found[name] = np.concatenate((found[name], numbers))
        self.report.rederived += sum(map(len, found.values()))
        return found
