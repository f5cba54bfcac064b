"""One recursive step in one transaction: what all algorithms for it share, and insertion.

Insertion is semi-naive and finds every new rule instance once: a delta rule reads the facts of the last round at one
position; the later positions include those facts, the earlier ones do not.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Generic

from corollary.engines.base import Heads, OverBudget, Rows, StepFacts
from corollary.planning import NormalRule
from corollary.planning.deltas import CHANGING
from corollary.reasoning.maintain.modules import FollowedModule
from corollary.reasoning.maintain.report import StepReport
from corollary.reasoning.maintain.step_rules import Delta, StepRules, Triggered

_FEW = 2_000  # new facts; this many are always followed round by round
_PART = 10  # if more than one in this many facts is new, deriving beside a copy of the existing facts is faster


@dataclass
class StepChange:
    """One step to maintain in one transaction; `new_rules` and `removed_rules` are those that it gained or lost."""

    rules: StepRules
    report: StepReport
    new_rules: Sequence[NormalRule] = field(default_factory=list)
    removed_rules: Sequence[NormalRule] = field(default_factory=list)
    most_new: int | None = None
    """How many facts an insertion may add before the step is recomputed; None for no limit."""
    go_on: Callable[[Mapping[str, Any]], bool] | None = None
    """Derives the rest of a large insertion in another way; returns False if there is none."""
    modules: Sequence[FollowedModule] = ()
    """The registered modules that take rules of the step; unused in a transaction that changes its rules."""


class RecursiveStep(Generic[Rows, Heads]):
    """The phases that algorithms consist of; `insert` alone is enough for a step that cannot lose a fact."""

    uses_modules: ClassVar[bool] = True

    def __init__(self, change: StepChange, facts: StepFacts[Rows, Heads]) -> None:
        self.change = change
        self.rules = change.rules
        self.report = change.report
        self.facts = facts
        self._new = {rule.name for rule in change.new_rules}
        is_same = not change.new_rules and not change.removed_rules
        self.modules = change.modules if self.uses_modules and is_same else ()
        self._taken = frozenset(name for module in self.modules for name in module.takes)
        self._own: dict[str, Mapping[str, Rows]] = {}  # each module's last result, which is not passed back to it

    def _old(self, deltas: Iterable[Delta]) -> list[Delta]:
        """Return the deltas without those of new rules, which had no instances before and are evaluated in full."""
        return [delta for delta in self._followed(deltas) if delta.rule.name not in self._new]

    def _followed(self, deltas: Iterable[Delta]) -> list[Delta]:
        """Return the deltas without those of rules that modules have taken."""
        return [delta for delta in deltas if delta.rule.name not in self._taken]

    def triggered(self, deltas: Triggered, facts: Mapping[str, Rows]) -> list[Delta]:
        """Return the deltas that read one of the facts as CHANGING, so that a round costs only what changes in it."""
        return self._followed(deltas.by([CHANGING + name for name in facts]))

    def next_round(self) -> None:
        self.report.rounds += 1
        self.facts.next_round()

    def lost_from_outside(self) -> dict[str, Rows]:
        """Return the heads of the rule instances lost by changes of other steps and by removed rules."""
        lost = self._lost(self.rules.losing)
        for module in self.modules:
            lost = self.facts.union(lost, self.facts.rows(module.functions.diff(self.facts, lost=True)))
        self._own.clear()
        removed = [rule for rule in self.change.removed_rules if rule.head.predicate in self.rules.heads]
        return self.facts.union(lost, self.facts.remove(removed)) if removed else lost

    def lost_inside(self, reached: Mapping[str, Rows], *, joins: bool = True) -> dict[str, Rows]:
        """Return the heads of the rule instances lost with these facts of the step, and mark the facts as overdeleted.

        Without `joins`, only instances of rules with a single atom in the body.
        """
        self.facts.reach(reached)
        spreading = self.triggered(self.rules.spreading, reached)
        lost = self._lost(delta for delta in spreading if joins or len(delta.rule.body.sources) == 1)
        for module in self.modules:
            found = self.facts.rows(module.functions.overdelete(self.facts, self._given(module, reached)))
            lost, self._own[module.name] = self.facts.union(lost, found), found
        self.facts.spread(reached)
        return lost

    def _lost(self, deltas: Iterable[Delta]) -> dict[str, Rows]:
        heads = self.facts.derive(self._old(deltas))
        self.facts.note_lost(heads)
        return self.facts.rows(heads)

    def insert(self, start: Mapping[str, Rows]) -> None:
        """Add everything that follows from these facts of the step, from new facts of other steps and from new rules."""
        facts = self.facts
        delta = facts.disjoint_union([start, facts.born()])
        known = facts.size(delta)
        facts.set_changing(delta)
        new = [self.rules.whole[rule.name] for rule in self.change.new_rules]
        delta = facts.disjoint_union([delta, facts.add(facts.derive(self._old(self.rules.gaining), new))])
        self._own.clear()
        for module in self.modules:
            delta = facts.disjoint_union([delta, facts.add(module.functions.diff(facts, lost=False))])
        facts.begin_rounds(grows=True)
        left = self._worth_following(known)
        while delta:
            left -= facts.size(delta)
            if left < 0:
                if self._goes_on(delta):
                    return
                left = sys.maxsize
            self.next_round()
            facts.set_changing(delta)
            found = facts.derive(self.triggered(self.rules.growing, delta))
            following = [module.functions.add(facts, self._given(module, delta)) for module in self.modules]
            delta = facts.add(found)
            for module, heads in zip(self.modules, following, strict=True):
                self._own[module.name] = own = facts.add(heads)
                delta = facts.disjoint_union([delta, own])

    def _worth_following(self, known: int) -> int:
        """Return how many facts may arrive round by round before the step is recomputed; `known` are certain to arrive."""
        if self.change.most_new is not None:
            return self.change.most_new + known
        return max(_FEW, self.facts.visible_size // _PART) if self.change.go_on is not None else sys.maxsize

    def _goes_on(self, last: Mapping[str, Rows]) -> bool:
        if self.change.most_new is not None:
            raise OverBudget(f"more than {self.change.most_new:,} facts follow from new rules")
        return self.change.go_on is not None and self.change.go_on(last)

    def _given(self, module: FollowedModule, found: Mapping[str, Rows]) -> Mapping[str, Rows]:
        """Return the facts of a round that a module did not find itself: its functions already followed their own."""
        return self.facts.difference(found, self._own.get(module.name, {}))


def insert_only(change: StepChange, facts: StepFacts[Rows, Heads]) -> None:
    """Follow a change through which the step cannot lose a fact."""
    RecursiveStep(change, facts).insert({})
    facts.finish()
