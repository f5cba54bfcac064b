"""Backward/Forward (paper 004, section 3.2; Motik et al. 2015): look for another proof of a fact before its deletion
spreads.

Each fact that may be deleted is checked. The search goes backward from it, to the facts of the step in the rule
instances that derive it, and forward from those that are proved: facts with external support, and facts that rules
derive from proved ones. A check ends when every fact in question is proved, or when the search has seen every fact that
could help; facts that it has seen and not proved are deleted. A proved fact stays proved while the step is maintained,
so nothing is rederived.
"""

from __future__ import annotations

from collections.abc import Mapping

from corollary.engines.base import Heads, Mark, Rows, StepFacts
from corollary.reasoning.maintain.recursive_step import RecursiveStep, StepChange


def maintain_by_checking(change: StepChange, facts: StepFacts[Rows, Heads]) -> None:
    """Follow a change. Raise `OverBudget` if the engine finds that checking costs too much; the support of the step is
    then inconsistent."""
    step = _BackwardForward(change, facts)
    with facts.trying():
        step.delete()
    step.insert({})
    facts.finish()


class _BackwardForward(RecursiveStep[Rows, Heads]):
    uses_modules = False  # a proof goes backward from a fact, and modules have no function for that

    def delete(self) -> None:
        facts = self.facts
        facts.begin_proofs()
        doubtful = self._doubtful(self.lost_from_outside(), facts.given_up())
        facts.begin_rounds()
        while doubtful:
            unprovable = self._unprovable(doubtful)
            if not unprovable:
                return
            self.next_round()
            facts.withdraw(unprovable)
            bridged, more = self._bridged(unprovable)
            lost = self.lost_inside(bridged, joins=False) if bridged else {}
            lost = facts.union(lost, self.lost_inside(facts.difference(unprovable, bridged)))
            doubtful = self._doubtful(facts.union(lost, more), {})

    def _bridged(self, unprovable: Mapping[str, Rows]) -> tuple[Mapping[str, Rows], Mapping[str, Rows]]:
        """Return the external facts of closures whose ends are still connected, and other facts found to be unprovable.

        A chain through such an external fact may take another path between its ends, whose facts are proved and stay.
        So what such chains derive need not be checked.
        """
        facts, nothing = self.facts, dict[str, Rows]()
        if not (ends_of := self.triggered(self.rules.ends, unprovable)):
            return nothing, nothing
        facts.ask_about(unprovable)
        ends = facts.rows(facts.derive(ends_of))
        doubtful = self._doubtful(ends, {})
        more = self._unprovable(doubtful) if doubtful else nothing
        connected = facts.having(ends, Mark.KNOWN)
        facts.ask_about(connected)
        found = facts.rows(facts.derive(self.triggered(self.rules.externals, connected)))
        return facts.difference(unprovable, facts.difference(unprovable, found)), more

    def _doubtful(self, lost: Mapping[str, Rows], given_up: Mapping[str, Rows]) -> dict[str, Rows]:
        """Return the facts that are visible, neither proved nor deleted, and without support by other owners."""
        return self.facts.deletable(self.facts.without(lost, Mark.KNOWN), given_up)

    def _unprovable(self, doubtful: Mapping[str, Rows]) -> Mapping[str, Rows]:
        """Return facts that have no proof; at least those among the doubtful ones."""
        facts = self.facts
        parts: list[Mapping[str, Rows]] = []
        frontier: Mapping[str, Rows] = doubtful
        while frontier:
            facts.check()
            facts.mark(frontier, Mark.CHECKED)
            parts.append(frontier)
            self._prove(frontier)
            if not facts.without(doubtful, Mark.KNOWN):
                unknown = facts.without(facts.disjoint_union(parts), Mark.KNOWN)
                facts.unmark(unknown, Mark.CHECKED)  # the search ended before these were decided
                return {}
            frontier = self._bodies(facts.without(frontier, Mark.KNOWN))
        return facts.without(facts.disjoint_union(parts), Mark.KNOWN)

    def _bodies(self, heads: Mapping[str, Rows]) -> Mapping[str, Rows]:
        """Return the visible facts of the step, not seen before, in the bodies of rule instances that derive the heads."""
        facts = self.facts
        facts.ask_about(heads)
        found = facts.rows(facts.derive(self.triggered(self.rules.backward, heads)))
        return facts.visible(facts.without(found, Mark.CHECKED, Mark.KNOWN))

    def _prove(self, frontier: Mapping[str, Rows]) -> None:
        """Prove the checked facts that follow from other owners' support, from other steps and from proved facts."""
        facts, report = self.facts, self.report
        others = facts.unsupported(frontier)
        proved = facts.difference(frontier, others)
        facts.ask_about(others)
        checked = facts.rows(facts.derive(self.triggered(self.rules.checking_proved, others)))
        proved = facts.disjoint_union([proved, checked])
        while proved:
            facts.prove(proved)
            report.rederived += facts.size(proved)
            facts.ask_about(proved)
            found = facts.rows(facts.derive(self.triggered(self.rules.proving, proved)))
            proved = facts.without(facts.having(found, Mark.CHECKED), Mark.KNOWN)
