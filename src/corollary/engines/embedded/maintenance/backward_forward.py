"""Backward/Forward (paper 004, section 3.2; Motik et al. 2015): before a deletion spreads from a fact, the fact gets a chance.

A fact in doubt is checked. From it the search goes backward, to the facts of the step in the instances that derive it, and
forward again from those that are proved: others support them, or rules derive them from proved facts. A check ends when
everything in doubt is proved, or when the search has seen all that could help; what it has seen and not proved follows from
nothing that is left, and goes. What is proved stays proved while the step is maintained, so no fact is derived again.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from corollary.engines.embedded.maintenance.maintained_relation import (
    CHECKED,
    GONE,
    KNOWN,
    REACHED,
    SPREAD,
    Numbers,
)
from corollary.engines.embedded.maintenance.recursive_step import Found, RecursiveStep, Task
from corollary.engines.embedded.maintenance.transaction import facts_of
from corollary.engines.embedded.relation import Relation
from corollary.planning.deltas import PROVED

_NOBODY = np.empty(0, np.int64)


def maintain_by_checking(task: Task, check_budget: Callable[[], None] = lambda: None) -> None:
    """`check_budget` is called in every round and may give up by raising; the step's support is in no useful state then."""
    step = _CheckingStep(task, check_budget)
    step.delete()
    step.insert({})
    step.clear_marks()


class _CheckingStep(RecursiveStep):
    def __init__(self, task: Task, check_budget: Callable[[], None]) -> None:
        super().__init__(task)
        self._check_budget = check_budget
        for name, arity in self.heads.items():
            self.transaction.views.set_delta(PROVED + name, np.empty((0, arity), np.uint32))

    # -- deletion ----------------------------------------------------------------------------------------------------

    def delete(self) -> None:
        doubtful = self._doubtful(self.lost_from_outside())
        for name in self.heads:
            doubtful[name] = np.union1d(doubtful[name], self.without_support(name))
        while _any(doubtful):
            unprovable = self._unprovable(doubtful)
            if not _any(unprovable):
                return
            self.report.rounds += 1
            for name, numbers in unprovable.items():
                maintained = self.relations[name]
                supported = numbers[maintained.support(self.owner, numbers) > 0]
                maintained.change_support(self.owner, supported, -maintained.support(self.owner, supported))
                maintained.mark(numbers, REACHED)
            self.set_changing(unprovable)
            lost = self.derive_by_old(self.rules.spreading)
            for name, numbers in unprovable.items():
                self.relations[name].mark(numbers, SPREAD)
            doubtful = self._doubtful(lost)

    def _doubtful(self, lost: dict[str, Relation]) -> Found:
        """Those of the facts that are visible, neither proved nor deleted, and that nobody else supports."""
        found = dict.fromkeys(self.heads, _NOBODY)
        for name, relation in lost.items():
            maintained = self.relations[name]
            numbers = maintained.without(maintained.locate(facts_of(relation)), KNOWN)
            found[name] = self.deletable(name, numbers)
        return found

    # -- proofs ------------------------------------------------------------------------------------------------------

    def _unprovable(self, doubtful: Found) -> Found:
        """Facts that do not follow from what is left, all doubtful ones of that kind among them."""
        checked: dict[str, list[Numbers]] = {name: [] for name in self.heads}
        frontier = doubtful
        while _any(frontier):
            self._check_budget()
            for name, numbers in frontier.items():
                self.relations[name].mark(numbers, CHECKED)
                checked[name].append(numbers)
            self._prove(frontier)
            if not _any(self._unproved(doubtful)):
                frontier = {}
                continue
            frontier = self._bodies(self._unproved(frontier))
        unproved = self._unproved({name: np.concatenate([_NOBODY, *parts]) for name, parts in checked.items()})
        if _any(self._unproved(doubtful)):
            return unproved
        for name, numbers in unproved.items():  # the search has ended before it knew about them
            self.relations[name].unmark(numbers, CHECKED)
        return {}

    def _unproved(self, numbers: Found) -> Found:
        return {name: self.relations[name].without(found, KNOWN) for name, found in numbers.items()}

    def _bodies(self, heads: Found) -> Found:
        """The visible facts of the step that instances use which derive the heads, as far as they were not seen before."""
        self.set_changing(heads)
        found = {}
        for name, relation in self.derive(self.rules.backward).items():
            maintained = self.relations[name]
            found[name] = maintained.without(maintained.locate(facts_of(relation)), GONE | CHECKED | KNOWN)
        return found

    def _prove(self, frontier: Found) -> None:
        """Proves what follows from facts that others support, from other steps and from proved facts, as far as it is checked."""
        proved, others = {}, {}
        for name, numbers in frontier.items():
            others[name] = self.unsupported(name, numbers)
            proved[name] = np.setdiff1d(numbers, others[name], assume_unique=True)
        self.set_changing(others)
        for name, relation in self.derive(self.rules.checking_proved).items():
            numbers = self.relations[name].locate(facts_of(relation))
            proved[name] = np.concatenate((proved.get(name, _NOBODY), numbers))
        while _any(proved):
            self._know(proved)
            self.set_changing(proved)
            proved = {}
            for name, relation in self.derive(self.rules.proving).items():
                maintained = self.relations[name]
                numbers = maintained.having(maintained.locate(facts_of(relation)), CHECKED)
                proved[name] = maintained.without(numbers, KNOWN)

    def _know(self, proved: Found) -> None:
        for name, numbers in proved.items():
            maintained = self.relations[name]
            maintained.mark(numbers, KNOWN)
            maintained.change_support(self.owner, maintained.having(numbers, GONE), 1)
            self.transaction.views.extend_delta(PROVED + name, maintained.rows(numbers))
            self.report.rederived += len(numbers)


def _any(numbers: Found) -> bool:
    return any(len(found) for found in numbers.values())
