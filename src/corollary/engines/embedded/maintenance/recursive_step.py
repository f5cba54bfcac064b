"""A recursive step in one transaction: what all strategies for it share, and how it grows.

An insertion is semi-naive and tells every new instance once. The facts that it has reached in its last round are marked: rules
see them as changes at one place, as facts at the later places, and not at all at the earlier ones.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np

from corollary.engines.embedded.maintenance.maintained_relation import (
    GONE,
    REACHED,
    UNBORN,
    MaintainedRelation,
    Numbers,
)
from corollary.engines.embedded.maintenance.step_rules import Delta, StepRules, whole_before
from corollary.engines.embedded.maintenance.transaction import StepReport, Transaction, facts_of
from corollary.engines.embedded.relation import Relation
from corollary.planning import NormalRule
from corollary.planning.deltas import CHANGING

Found = dict[str, Numbers]  # numbers of rows by predicate
_COUNT = "count"
_NOBODY = np.empty(0, np.int64)


@dataclass
class Task:
    """One step to maintain in one transaction.

    `new_rules` and `removed_rules` are those that the step has got or lost in it; `closing_rules` are those of steps that are
    no more and that closed a predicate of it. `earlier` are recursive steps that came before and share a predicate with it:
    where they do not count, they may derive more of it than they support.
    """

    rules: StepRules
    transaction: Transaction
    report: StepReport
    new_rules: list[NormalRule] = field(default_factory=list)
    removed_rules: list[NormalRule] = field(default_factory=list)
    earlier: Mapping[str, list[StepRules]] = field(default_factory=dict)
    closing_rules: frozenset[NormalRule] = frozenset()

    @property
    def is_new(self) -> bool:
        """Whether no rule of the step supports anything yet."""
        return len(self.new_rules) == len(self.rules.step.rules)


class RecursiveStep:
    """`counts` tells whether the step counts the instances that derive a fact, or only supports what nobody else did."""

    counts = False

    def __init__(self, task: Task) -> None:
        self.task = task
        self.rules = task.rules
        self.owner = task.rules.step.owner
        self.heads = task.rules.heads
        self.transaction = task.transaction
        self.report = task.report
        self.relations: dict[str, MaintainedRelation] = {
            name: task.transaction.relation(name, arity) for name, arity in self.heads.items()
        }

    # -- rules -------------------------------------------------------------------------------------------------------

    def derive(self, deltas: Iterable[Delta]) -> dict[str, Relation]:
        """The heads of the rules whose trigger has facts, by predicate; each with its number of instances."""
        return self.transaction.derive(deltas, self.heads, _COUNT if self.counts else None)

    def derive_by_old(self, deltas: Iterable[Delta]) -> dict[str, Relation]:
        """The same without new rules, which had no instance before and get all they have now at once."""
        if self.task.new_rules:
            new = {rule.name for rule in self.task.new_rules}
            deltas = [delta for delta in deltas if delta.rule.name not in new]
        return self.derive(deltas)

    def set_changing(self, numbers: Mapping[str, Numbers]) -> bool:
        """What the rules inside the step see as just changed; False when that is nothing."""
        is_any = False
        for name, maintained in self.relations.items():
            found = numbers.get(name, _NOBODY)
            is_any |= self.transaction.views.set_delta(CHANGING + name, maintained.rows(found))
        return is_any

    def instances(self, name: str, found: Relation) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
        """How many instances have derived each of the facts, in a step that counts."""
        return found.support_of(_COUNT)[: max(1, found.size)].astype(np.int64)

    # -- what is lost ------------------------------------------------------------------------------------------------

    def lost_from_outside(self) -> dict[str, Relation]:
        """The heads of the instances that other steps and removed rules take away."""
        found = self.derive_by_old(self.rules.losing)
        for rule in self.task.removed_rules:
            name = rule.head.predicate
            if name in self.heads:
                into = found.setdefault(name, Relation(self.heads[name], counted=True))
                self.transaction.views.once(whole_before(rule), into, _COUNT if self.counts else None)
        return found

    def deletable(self, name: str, numbers: Numbers, *, stops_at_support: bool = True) -> Numbers:
        """Those of the rows that were visible, that no deletion has reached yet, and that nobody else supports."""
        numbers = self.relations[name].without(numbers, UNBORN | REACHED)
        if not stops_at_support:
            return numbers
        found = self.unsupported(name, numbers)
        if not self.counts and len(found) < len(numbers):
            self._disown(name, np.setdiff1d(numbers, found, assume_unique=True))
        return found

    def _disown(self, name: str, numbers: Numbers) -> None:
        """The step may have lost its last derivation of these facts: it stops to support them, and is asked when others do."""
        maintained = self.relations[name]
        numbers = numbers[maintained.support(self.owner, numbers) > 0]
        maintained.change_support(self.owner, numbers, -maintained.support(self.owner, numbers))

    def unsupported(self, name: str, numbers: Numbers) -> Numbers:
        """Those of the rows that nobody else supports, nor turns out to derive."""
        maintained = self.relations[name]
        numbers = numbers[maintained.external_support(self.owner, numbers) == 0]
        for rules in self.task.earlier.get(name, ()):
            if len(numbers):
                numbers = np.setdiff1d(numbers, adopt(rules, name, numbers, self.transaction), assume_unique=True)
        return numbers

    def without_support(self, name: str) -> Numbers:
        """The facts whose support by others has gone: the step's own may go round in circles."""
        return self.deletable(name, self.relations[name].lost_rows())

    # -- what is gained ----------------------------------------------------------------------------------------------

    def insert(self, start: Mapping[str, Numbers]) -> None:
        """Adds what follows from these facts of the step, which are marked, from new facts of others and from new rules."""
        delta = {}
        for name, maintained in self.relations.items():
            born = maintained.born()
            maintained.mark(born, REACHED)
            delta[name] = np.concatenate((start.get(name, _NOBODY), born))
        found = self.derive_by_old(self.rules.gaining)
        for rule in self.task.new_rules:
            name = rule.head.predicate
            into = found.setdefault(name, Relation(self.heads[name], counted=True))
            self.transaction.views.run(self.rules.whole[rule.name], into, _COUNT if self.counts else None)
        for name, numbers in self._add(found).items():
            delta[name] = np.concatenate((delta[name], numbers))
        while self.set_changing(delta):
            self.report.rounds += 1
            found = self.derive(self.rules.growing)
            for name, numbers in delta.items():
                self.relations[name].unmark(numbers, REACHED)
            delta = self._add(found)

    def _add(self, found: dict[str, Relation]) -> Found:
        """Supports what was found; gives what was not visible before that, marked."""
        added = {}
        for name, relation in found.items():
            if relation.size:
                maintained = self.relations[name]
                numbers = maintained.place(facts_of(relation))
                hidden = maintained.having(numbers, GONE)
                if self.counts:
                    maintained.change_support(self.owner, numbers, self.instances(name, relation))
                else:
                    maintained.change_support(self.owner, hidden, 1)
                maintained.mark(hidden, REACHED)
                added[name] = hidden
        return added

    def clear_marks(self) -> None:
        for maintained in self.relations.values():
            maintained.clear_marks()


def adopt(rules: StepRules, name: str, numbers: Numbers, transaction: Transaction) -> Numbers:
    """Lets an earlier step, which is up to date, support those of the rows that it derives; gives them.

    Its rules do not use such a fact, or it would have come later: one look is enough.
    """
    maintained = transaction.relation(name, rules.heads[name])
    transaction.views.set_delta(CHANGING + name, maintained.rows(numbers))
    checks = [delta for delta in rules.checking if delta.rule.head.predicate == name]
    derived = transaction.derive(checks, {name: rules.heads[name]})
    if name not in derived:
        return _NOBODY
    found: Numbers = maintained.locate(facts_of(derived[name]))
    found = found[maintained.support(rules.step.owner, found) == 0]
    maintained.change_support(rules.step.owner, found, 1)
    return found
