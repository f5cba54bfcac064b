"""Delete and rederive, for recursive steps (DRed; papers 002 and 004, section 3.1).

Facts of a recursive step may support each other in cycles, so counting alone cannot tell when they must go. DRed first
overdeletes every fact that might depend on a deleted one, then rederives those that still have a derivation, and adds
what follows from them and from new facts.

DRed^c (paper 002) adds counters: each step counts its own rule instances for each fact, and other owners count theirs.
Every lost instance is subtracted once, so after overdeletion a counter above zero means a derivation from facts that
were never overdeleted. Rederiving is a look at the counter, without running a rule.
"""

from __future__ import annotations

from collections.abc import Mapping

from corollary.engines.base import Heads, Rows, StepFacts
from corollary.reasoning.maintain.recursive_step import RecursiveStep, StepChange


def delete_and_rederive(
    change: StepChange, facts: StepFacts[Rows, Heads], *, counts: bool = False, stops_at_support: bool = True
) -> None:
    """Follow a change; with `counts`, the facts are those of a step that counts (DRed^c).

    Classical DRed continues overdeleting through facts with other support, too (`stops_at_support=False`). Raise
    `OverBudget` if the engine finds that overdeletion costs too much; all facts are then still in place.
    """
    step = _DeleteAndRederive(change, facts)
    with facts.trying():
        overdeleted = step.overdelete(stops_at_support=stops_at_support)
    step.insert(step.recount(overdeleted) if counts else step.rederive(overdeleted))
    facts.finish()


class _DeleteAndRederive(RecursiveStep[Rows, Heads]):
    def overdelete(self, *, stops_at_support: bool) -> Mapping[str, Rows]:
        """Overdelete every fact that may depend on deleted ones, and return them."""
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
        """Return the overdeleted facts that are visible anyway or derivable in one step."""
        facts = self.facts
        facts.withdraw(overdeleted)
        hidden, found = facts.hidden(overdeleted)
        if hidden:
            facts.ask_about(hidden)
            derived = facts.derive(self.triggered(self.rules.checking, hidden))
            following = [module.functions.rederive(facts, hidden) for module in self.modules]
            found = facts.disjoint_union([found, facts.restore(derived)])
            for heads in following:  # rules may have found some of these already
                found = facts.union(found, facts.restore(heads))
        self.report.rederived += facts.size(found)
        return found

    def recount(self, overdeleted: Mapping[str, Rows]) -> Mapping[str, Rows]:
        found = self.facts.restore_counted(overdeleted)
        self.report.rederived += self.facts.size(found)
        return found
