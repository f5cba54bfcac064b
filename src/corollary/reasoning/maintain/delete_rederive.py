"""Delete and rederive, for steps whose rules depend on themselves (DRed; papers 002 and 004, section 3.1).

Facts of a recursive step may support each other, so that counting alone does not tell when they have to go. Everything that might
depend on what was deleted is taken back for now, then what still has a derivation is found again, and what follows from it and
from new facts is added.

DRed^c (paper 002) does it with counters. The step counts the instances of its own rules that derive a fact, and others tell how
often they do. Every lost instance is subtracted once, so that after the deletion a counter above zero is a derivation from facts
that were never overdeleted: rederiving is a look at the counter, and no rule runs for it.
"""

from __future__ import annotations

from collections.abc import Mapping

from corollary.engines.base import Heads, Rows, StepFacts
from corollary.reasoning.maintain.recursive_step import RecursiveStep, StepChange


def delete_and_rederive(
    change: StepChange, facts: StepFacts[Rows, Heads], *, counts: bool = False, stops_at_support: bool = True
) -> None:
    """Follow a change; with `counts` the facts are those of a step that counts.

    Classical DRed goes on from facts that others support, too (`stops_at_support=False`). Raise `OverBudget` where the engine
    finds that taking facts back is not worth it: every fact is still there then.
    """
    step = _DeleteAndRederive(change, facts)
    with facts.trying():
        overdeleted = step.overdelete(stops_at_support=stops_at_support)
    step.insert(step.recount(overdeleted) if counts else step.rederive(overdeleted))
    facts.finish()


class _DeleteAndRederive(RecursiveStep[Rows, Heads]):
    def overdelete(self, *, stops_at_support: bool) -> Mapping[str, Rows]:
        """Take back everything that may depend on what is gone, and return it."""
        facts = self.facts
        lost = self.lost_from_outside()
        current = facts.deletable(lost, facts.given_up(), stops_at_support=stops_at_support)
        facts.begin_rounds()
        while current:
            self.next_round()
            current = facts.deletable(self.lost_inside(current), {}, stops_at_support=stops_at_support)
        overdeleted = facts.reached()
        self.report.overdeleted += facts.size(overdeleted)
        return overdeleted

    def rederive(self, overdeleted: Mapping[str, Rows]) -> Mapping[str, Rows]:
        """Return the facts that are visible all the same, and those that are derivable in one step."""
        facts = self.facts
        facts.withdraw(overdeleted)
        hidden, found = facts.hidden(overdeleted)
        if hidden:
            facts.ask_about(hidden)
            derived = facts.derive(self.triggered(self.rules.checking, hidden))
            following = [module.functions.rederive(facts, hidden) for module in self.modules]
            found = facts.disjoint_union([found, facts.restore(derived)])
            for heads in following:  # rules may have found some of these, too
                found = facts.union(found, facts.restore(heads))
        self.report.rederived += facts.size(found)
        return found

    def recount(self, overdeleted: Mapping[str, Rows]) -> Mapping[str, Rows]:
        found = self.facts.restore_counted(overdeleted)
        self.report.rederived += self.facts.size(found)
        return found
