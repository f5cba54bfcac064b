"""DRed^c (paper 002): delete and rederive with counters.

The step counts the instances of its own rules that derive a fact. Every lost instance is subtracted once and every gained one
added once, so that after the deletion a counter above zero is a derivation from facts that were never in doubt: rederiving is a
look at the counters of the facts in question, and no rule runs for it.
"""

from __future__ import annotations

from collections.abc import Mapping

from corollary.engines.spark.maintenance.change_rows import ChangeRows
from corollary.engines.spark.maintenance.counters import Counters
from corollary.engines.spark.maintenance.recompute import RunJobs
from corollary.engines.spark.maintenance.recount import recount
from corollary.engines.spark.maintenance.recursive_step import RecursiveStep, RecursiveTask, Rows
from corollary.engines.spark.maintenance.support_lookup import present_among


def maintain_with_counters(task: RecursiveTask, run: RunJobs) -> None:
    """The same as `delete_and_rederive`; `run` fills counters where there are none."""
    _CountingStep(task, run).run()


class _CountingStep(RecursiveStep):
    def __init__(self, task: RecursiveTask, run: RunJobs) -> None:
        super().__init__(task)
        self._run_jobs = run
        self._counters: Counters = task.transaction.counters
        self._counted: dict[str, list[ChangeRows]] = {name: [] for name in task.step.heads}

    def note(self, instances: Mapping[str, ChangeRows], sign: int) -> None:
        for name, rows in instances.items():
            self._counted[name].append(rows.times(sign))

    def derivable(self, overdeleted: Rows) -> Rows:
        owner = self.step.owner
        if not self._counters.has(owner):
            self._fill()
        relations = {name: self._counters.now(owner, name, self._counted[name]) for name in overdeleted}
        return present_among(overdeleted, relations)

    def _fill(self) -> None:
        """Nobody needs counters before the first deletion."""
        relations = recount(self.step, self.task.new_rules, self.transaction, self.versions, self._run_jobs)
        self._counters.fill(self.step.owner, relations)
        facts = sum(relation.size for relation in relations.values())
        self.task.report.reason = f"counted the derivations of {facts:,} facts"

    def commit(self) -> None:
        if self._counters.has(self.step.owner):
            for name, changes in self._counted.items():
                for change in changes:
                    self._counters.change(self.step.owner, name, change)
        super().commit()
