"""DRed^c (papers 002 and its sources): delete and rederive with counters.

The step counts the instances of its own rules that derive a fact, and others tell how often they do. A deletion stops at facts
that others support. Every lost instance is subtracted once, so that after the deletion a counter above zero is a derivation
from facts that were never in doubt: rederiving is a look at the counter.
"""

from __future__ import annotations

from corollary.engines.embedded.maintenance.deletion import OverdeletingStep
from corollary.engines.embedded.maintenance.maintained_relation import GONE, Numbers
from corollary.engines.embedded.maintenance.recursive_step import Found, Task
from corollary.engines.embedded.relation import Relation


def maintain_with_recursive_counts(task: Task) -> None:
    step = _CountingStep(task)
    step.insert(step.rederived(step.overdelete(stops_at_support=True)))
    step.clear_marks()


class _CountingStep(OverdeletingStep):
    counts = True

    def note_lost(self, name: str, numbers: Numbers, lost: Relation) -> None:
        """Each lost instance had a head that was visible, so `numbers` are those of all rows."""
        self.relations[name].change_support(self.owner, numbers, -self.instances(name, lost))

    def rederived(self, overdeleted: Found) -> Found:
        found = {name: self.relations[name].without(numbers, GONE) for name, numbers in overdeleted.items()}
        self.report.rederived += sum(map(len, found.values()))
        return found
