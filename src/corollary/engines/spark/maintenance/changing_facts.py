"""The facts of the Spark engine while a transaction changes them: the contract of `engines.base` over rows in tables.

Independent steps run at once: one job computes what their rules gain and lose, and another what that means for visible
facts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeAlias

from corollary.analysis import RuleGraph
from corollary.engines.base import EXPLICIT, Signed
from corollary.engines.spark.maintenance.change_rows import ChangeRows
from corollary.engines.spark.maintenance.delta_rules import DeltaRules
from corollary.engines.spark.maintenance.explicit_changes import ExplicitFacts, change_explicit
from corollary.engines.spark.maintenance.joined_rules import runs_in_driver
from corollary.engines.spark.maintenance.lookup import IN_DRIVER
from corollary.engines.spark.maintenance.maintained_store import MaintainedStore
from corollary.engines.spark.maintenance.step_facts import SparkStepFacts
from corollary.engines.spark.maintenance.step_jobs import RunJobs, derive_in_place
from corollary.engines.spark.maintenance.steps import SparkStep, steps_of_node
from corollary.engines.spark.maintenance.support_lookup import present_among
from corollary.engines.spark.maintenance.transaction import SparkTransaction, Visible
from corollary.engines.spark.maintenance.versions import SparkVersions
from corollary.engines.spark.strategies.jobs import NodeJob
from corollary.planning import NormalRule
from corollary.planning.deltas import AFTER, whole_rule
from corollary.planning.steps import is_auxiliary
from corollary.reasoning.maintain.chooser import Strategy
from corollary.reasoning.maintain.report import Outcome
from corollary.reasoning.maintain.rule_change import ChangedSteps
from corollary.reasoning.maintain.transaction import Task
from corollary.reasoning.run import Run

if TYPE_CHECKING:
    from corollary.engines.spark.context import Context

Changes: TypeAlias = tuple[ExplicitFacts, ExplicitFacts]
"""Explicit facts to delete, and to insert."""


class SparkChangingFacts:
    """Implements `engines.base.ChangingFacts`. The store was materialised by the same steps, with counts.

    `run_jobs` derives the facts of jobs, `know_constants` registers the constants of their rules.
    """

    runs_together = True
    instances = 0

    def __init__(
        self,
        context: Context,
        store: MaintainedStore,
        run_jobs: RunJobs,
        know_constants: Callable[[Sequence[NodeJob]], None],
        *,
        discards_errors: bool = True,
    ) -> None:
        self.context = context
        self.run_jobs = run_jobs
        self._store = store
        self._know_constants = know_constants
        self._discards_errors = discards_errors
        self._begin()

    def _begin(self) -> None:
        self.state = SparkTransaction(self.context, self._store)
        self.versions = SparkVersions(self.state)
        self._change = ChangedSteps()
        self._left_rules: dict[str, NormalRule] = {}  # rules of auxiliary predicates that removed rules read
        self._open: dict[str, SparkStep] = {}  # steps that have not finished yet
        self._delta_rules = self._rules(())

    # -- a transaction -----------------------------------------------------------------------------------------------

    def steps(self, graph: RuleGraph, strategy: Strategy, known: Sequence[SparkStep]) -> list[SparkStep]:
        kept = {step.identity: step for step in known}
        nodes = (steps_of_node(graph, node, discards_errors=self._discards_errors) for node in graph.hyper_nodes)
        return [kept.get(step.identity, step) for steps in nodes for step in steps]

    @contextmanager
    def transaction(self, run: Run, steps: Sequence[SparkStep], strategy: Strategy) -> Iterator[None]:
        """Return the context of one transaction. Nothing reaches the store before the commit, so rolling back means to
        forget it."""
        self._begin()
        with self.context.counting(self._count_facts):
            yield

    def _count_facts(self) -> int:
        """Return a lower bound for the number of facts after the transaction: facts that pending steps may still delete
        do not count."""
        open_heads = {name: arity for step in self._open.values() for name, arity in step.heads.items()}
        total = self._store.facts
        for name, visible in self.state.changed().items():
            if not is_auxiliary(name) and name not in open_heads:
                total += visible.inserted.rows - visible.deleted.rows
        for name, arity in open_heads.items():
            if not is_auxiliary(name):
                total -= self.state.supported(name, arity).visible.size
        return max(0, total)

    def leave(self, before: Sequence[SparkStep], after: Sequence[SparkStep]) -> None:
        stays = {step.identity for step in after}
        for step in before:
            self._left_rules |= step.exists if step.identity not in stays else {}

    def change_explicit(self, change: Changes) -> tuple[int, int]:
        return change_explicit(*change, self.state)

    def begin_steps(self, steps: Sequence[SparkStep], change: ChangedSteps) -> None:
        self._change = change
        self._open = {step.owner: step for step in steps}

    def finished(self, step: SparkStep) -> None:
        del self._open[step.owner]

    def settle(self) -> None:
        self.state.settle()
        self.versions.forget()
        self.check()

    def check(self) -> None:
        self.context.check()

    def tell(self, outcome: Outcome) -> None:
        for predicate, visible in self.state.changed().items():
            if not is_auxiliary(predicate):
                if visible.deleted.rows:
                    outcome.deleted[predicate] = visible.deleted
                if visible.inserted.rows:
                    outcome.inserted[predicate] = visible.inserted

    def commit(self) -> None:
        self.state.commit()
        self._begin()

    # -- support -----------------------------------------------------------------------------------------------------

    def starts_over(self, step: SparkStep) -> bool:
        return False

    def hand_over(self, predicate: str, arity: int, owners: Sequence[str], heir: str, *, counts: bool) -> None:
        """Transfer support to an heir. The owners' counters are dropped: the heir fills new ones when needed."""
        for owner in owners:
            self.state.counters.forget(owner)
        self.state.hand_over(predicate, arity, owners, heir)

    def withdraw(self, predicate: str, arity: int, owner: str) -> None:
        self.state.counters.forget(owner)
        self.state.withdraw(predicate, arity, owner)

    def change_support(self, predicate: str, owner: str, change: ChangeRows, *, counted: bool) -> None:
        self.state.change_support(predicate, owner, change, counted=counted)

    def explicit_change(self, predicate: str, arity: int) -> ChangeRows:
        return self.state.support_change(predicate, EXPLICIT, arity)

    def explicit_facts(self, predicate: str, arity: int) -> ChangeRows:
        return self.state.support_now_by(predicate, EXPLICIT, arity)

    def derivable(self, steps: Sequence[SparkStep], predicate: str, facts: ChangeRows) -> dict[str, ChangeRows]:
        """Return the facts that steps derive, as their counters tell; without counters, their rules run."""
        if not facts.rows:
            return {}
        counters = self.state.counters
        found: dict[str, ChangeRows] = {}
        for step in steps:
            if counters.has(step.owner):
                relations = {predicate: counters.now(step.owner, predicate)}
                if rows := present_among({predicate: facts}, relations).get(predicate):
                    found[step.owner] = rows
        others = [step for step in steps if not counters.has(step.owner)]
        if others:
            found |= self._derived_by_rules(others, predicate, facts)
        return {owner: rows.once() for owner, rows in found.items() if rows.rows}

    def _derived_by_rules(self, steps: Sequence[SparkStep], predicate: str, facts: ChangeRows) -> dict[str, ChangeRows]:
        changing = self.versions.changing
        before = changing.get(predicate)
        self.ask_about(predicate, facts)
        wanted = [
            Signed((step.owner, predicate), delta.rule)
            for step in steps
            for delta in step.rules.checking
            if delta.rule.head.predicate == predicate
        ]
        found = self._rules(steps).derive(wanted)
        if before is None:
            del changing[predicate]
        else:
            changing[predicate] = before
        self.versions.forget()
        return {owner: derived for (owner, _), derived in found.items()}

    def support_once(self, predicate: str, owner: str, facts: ChangeRows) -> None:
        self.state.change_support(predicate, owner, facts, counted=False)

    def owned_only_by(self, predicate: str, arity: int, owner: str, other: str) -> ChangeRows:
        return self.state.owned_only_by(predicate, arity, owner, other)

    # -- changes so far --------------------------------------------------------------------------------------------

    def has_changed(self, predicate: str) -> bool:
        return self.state.has_changed(predicate)

    def has_lost(self, predicate: str, arity: int) -> bool:
        return self.state.visible(predicate, arity).lost.rows > 0

    def gone(self, predicate: str, arity: int) -> ChangeRows | None:
        deleted = self.state.visible(predicate, arity).deleted
        return deleted if deleted.rows else None

    def point(self, step: SparkStep) -> dict[str, Visible]:
        return {name: self.state.visible(name, arity) for name, arity in step.heads.items()}

    def changes_since(self, step: SparkStep, point: Mapping[str, Visible]) -> tuple[int, int]:
        deleted = inserted = 0
        for name, arity in step.heads.items():
            now, own = self.state.visible(name, arity), self.state.support_change(name, step.owner, arity)
            deleted += min(own.rows, max(0, now.deleted.rows - point[name].deleted.rows))
            inserted += min(own.rows, max(0, now.inserted.rows - point[name].inserted.rows))
        return deleted, inserted

    # -- following changes -----------------------------------------------------------------------------------------------

    def begin(self, tasks: Sequence[Task]) -> None:
        self.versions.clear()
        steps = [task.step for task in tasks]
        self._delta_rules = self._rules(steps)
        self._know_constants([step.job for step in steps])

    def _rules(self, steps: Sequence[SparkStep], *, discards_errors: bool = True) -> DeltaRules:
        exists = dict(self._left_rules)
        exists.update((name, rule) for step in steps for name, rule in step.exists.items())
        return DeltaRules(self.state, self.versions, exists, discards_errors=discards_errors)

    def follows(self, task: Task) -> bool:
        return False

    def derive(self, wanted: Sequence[Signed]) -> dict[tuple[str, str], ChangeRows]:
        return self._delta_rules.derive(wanted)

    def ask_about(self, predicate: str, facts: ChangeRows) -> None:
        self.versions.changing[predicate] = facts.once()
        self.versions.forget()

    def facts(self, task: Task, *, counts: bool = False, most: int | None = None) -> SparkStepFacts:
        if not counts:
            self.state.counters.forget(task.step.owner)
        return SparkStepFacts(task, self, counts=counts, most=most)

    def give_up(self, task: Task) -> None:
        self.versions.clear()

    # -- deriving steps again ----------------------------------------------------------------------------------------

    def beside(self, step: SparkStep) -> None:
        """Return None: a job compares what it derives with the existing facts."""

    def derive_in_place(self, tasks: Sequence[Task]) -> None:
        for task in tasks:
            self.state.counters.forget(task.step.owner)
        rounds = derive_in_place([task.step for task in tasks], self.state, self.versions, self.run_jobs)
        for task in tasks:
            task.report.rounds += rounds[task.step.owner]

    def recount(self, step: SparkStep) -> None:
        raise AssertionError("recursive steps have counters beside their support, which is never a count")

    def check_values(self, tasks: Sequence[Task]) -> None:
        """Do nothing: delta rules read facts from before and after the change, so what they drop need not be an instance."""
        if self._discards_errors:
            return
        wanted = []
        for task in tasks:
            step, new = task.step, self._change.new.get(task.step.owner, frozenset())
            if task.report.strategy == "recompute" or step.groups is not None:
                continue
            for rule in step.following_rules:
                if not rule.body.computes and all(compare.is_simple for compare in rule.body.compares):
                    continue
                checks = (whole_rule(rule, AFTER),) if rule.name in new else step.rules.arriving[rule.name]
                wanted += [Signed((step.owner, rule.head.predicate), one) for one in checks]
        if wanted:
            self._rules([task.step for task in tasks], discards_errors=False).derive(wanted)

    def describe(self, task: Task) -> None:
        """Report what an heir continued from, and the large relations in which changed facts were looked up."""
        report, step = task.report, task.step
        if report.strategy == "recompute":
            return
        described = self._change.described(step.owner) if step.owner in self._change.heirs else ""
        parts = (described, report.reason, self._looked_through(step))
        report.reason = "; ".join(part for part in parts if part)

    def _looked_through(self, step: SparkStep) -> str:
        relations = {**step.job.reads, **step.heads}
        names = dict.fromkeys([*([] if step.only_copies else step.job.reads), *step.heads])
        sizes = {name: self.state.supported(name, relations[name]).visible.size for name in names}
        large = [f"{name} ({size:,})" for name, size in sizes.items() if size > IN_DRIVER and not is_auxiliary(name)]
        return f"looked through {', '.join(large)}" if large else ""

    # -- for the choice of a strategy -----------------------------------------------------------------------------------

    def form_of(self, step: SparkStep) -> str:
        return ""

    def known_to(self, step: SparkStep) -> int:
        """Return how many facts a step reads and derives."""
        relations = {**step.job.reads, **step.heads}
        return sum(self.versions.relation(AFTER + name, arity).size for name, arity in relations.items())

    def costs_no_job(self, step: SparkStep) -> bool:
        """Return whether the driver caches all that a step reads and derives, so that following a change costs no job."""
        if not all(runs_in_driver(rule) for rule in step.job.rules):
            return False
        names = {**step.job.reads, **step.heads}.items()
        relations = [self.versions.relation(AFTER + name, arity) for name, arity in names]
        return self.context.held.has([frame for relation in relations for frame in relation.bases])

    def is_small(self, step: SparkStep) -> bool:
        """Return whether a step is derived as fast as a job starts."""
        return not self.costs_no_job(step) and self.known_to(step) <= self.context.settings.task_change_facts

    def gains_by_a_job(self, steps: Sequence[SparkStep]) -> bool:
        """Return whether deriving small steps in one job is better than following; it is not if the driver only copies rows."""
        return not all(step.only_copies for step in steps)
