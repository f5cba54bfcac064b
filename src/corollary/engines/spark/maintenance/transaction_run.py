"""One transaction from beginning to end: support of facts and rules changes, then step by step what follows from it.

Steps that need nothing of each other are a wave: what their rules gain and lose comes out of one job, and what that means for
visible facts out of another. A step whose inputs did not change is not touched.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from corollary.engines.embedded.maintenance.outcome import by_node
from corollary.engines.embedded.maintenance.transaction import StepReport
from corollary.engines.spark.maintenance.adoption import adopt
from corollary.engines.spark.maintenance.change_rows import ChangeRows
from corollary.engines.spark.maintenance.delta_rules import DeltaRules, Wanted
from corollary.engines.spark.maintenance.explicit_changes import Stated, change_explicit
from corollary.engines.spark.maintenance.groups import maintain_groups
from corollary.engines.spark.maintenance.joined_rules import runs_in_driver
from corollary.engines.spark.maintenance.lookup import IN_DRIVER
from corollary.engines.spark.maintenance.maintained_store import MaintainedStore
from corollary.engines.spark.maintenance.outcome import Outcome
from corollary.engines.spark.maintenance.pending_support import Visible
from corollary.engines.spark.maintenance.recompute import RunJobs, recompute
from corollary.engines.spark.maintenance.recursive_counting import maintain_with_counters
from corollary.engines.spark.maintenance.recursive_step import OverBudget, RecursiveTask, delete_and_rederive
from corollary.engines.spark.maintenance.rule_changes import RuleChange, change_steps
from corollary.engines.spark.maintenance.stated import change_stated
from corollary.engines.spark.maintenance.steps import SparkStep
from corollary.engines.spark.maintenance.transaction import Transaction
from corollary.engines.spark.maintenance.versions import Versions
from corollary.engines.spark.maintenance.waves import next_wave, small_group
from corollary.engines.spark.strategies.jobs import NodeJob
from corollary.planning.deltas import AFTER
from corollary.planning.steps import is_auxiliary

if TYPE_CHECKING:
    from corollary.engines.spark.context import Context

COUNTING = "dred-counting"
_ALWAYS_FOLLOWED = 2_000  # facts that a deletion may reach in any case


@dataclass(frozen=True)
class Engine:
    """What a transaction works with; `run` derives the facts of jobs, `know_constants` makes those of their rules known."""

    context: Context
    store: MaintainedStore
    run: RunJobs
    know_constants: Callable[[Sequence[NodeJob]], None]
    strategy: str
    discards_errors: bool


class TransactionRun:
    """One transaction; `known` are the steps before it, `steps` those after it."""

    def __init__(
        self, engine: Engine, known: Sequence[SparkStep], steps: Sequence[SparkStep], check: Callable[[int], None]
    ) -> None:
        self._engine = engine
        self._context = engine.context
        self._check = check
        self._facts = engine.store.facts
        self._known, self._steps = known, steps
        self.transaction = Transaction(self._context, engine.store)
        self._versions = Versions(self.transaction)
        self._rule_change = RuleChange()
        self._finished: list[SparkStep] = []  # recursive ones
        self._reports: list[tuple[str, StepReport]] = []

    def run(self, deletes: Stated, inserts: Stated) -> Outcome:
        outcome = Outcome()
        outcome.explicit_deleted, outcome.explicit_inserted = change_explicit(deletes, inserts, self.transaction)
        change_stated(self._known, self._steps, self.transaction)
        self._rule_change = change_steps(self._known, self._steps, self.transaction)
        self._settle()
        remaining = self._steps
        while remaining:
            self._context.check()
            group, rest = small_group(remaining, self._finished, self._is_affected, self._is_small)
            if group:
                remaining = rest
                self._derive_together(group)
                continue
            wave, remaining, untouched = next_wave(remaining, self._is_affected)
            for step in untouched:
                self._finish(step)
            if wave:
                self._maintain(wave)
        outcome.steps = by_node(self._reports)
        for predicate, visible in self.transaction.changed().items():
            if not is_auxiliary(predicate):
                if visible.deleted.rows:
                    outcome.deleted[predicate] = visible.deleted
                if visible.inserted.rows:
                    outcome.inserted[predicate] = visible.inserted
        return outcome

    def _settle(self) -> None:
        self.transaction.settle()
        self._versions.forget()
        changed = self.transaction.changed()
        self._check(
            self._facts
            + sum(
                visible.inserted.rows - visible.deleted.rows
                for name, visible in changed.items()
                if not is_auxiliary(name)
            )
        )

    # -- what runs next ----------------------------------------------------------------------------------------------

    def _is_small(self, step: SparkStep) -> bool:
        if self._engine.strategy != "auto" or self._is_held(step):
            return False
        return self._facts_of(step) <= self._context.settings.task_change_facts

    def _is_held(self, step: SparkStep) -> bool:
        """Whether the driver keeps all that a step reads and derives: then following a change costs no job."""
        if not all(runs_in_driver(rule) for rule in step.job.rules):
            return False
        names = {**step.job.reads, **step.heads}.items()
        relations = [self._versions.relation(AFTER + name, arity) for name, arity in names]
        return self._context.held.has([frame for relation in relations for frame in relation.bases])

    def _derive_together(self, group: Sequence[SparkStep]) -> None:
        started = time.perf_counter()
        before = {name: self.transaction.visible(name, arity) for step in group for name, arity in step.heads.items()}
        reports = {step.owner: StepReport(step.owner, "") for step in group}
        self._recompute([(step, "it has few facts") for step in group], reports)
        self._settle()
        self._ask_earlier(before)
        taken = time.perf_counter() - started
        touched = [step for step in group if self._is_affected(step)]
        for step in touched:
            report = reports[step.owner]
            report.seconds = taken / len(touched)
            self._tell_changes(step, report, before)
            self._reports.append((str(step.node), report))
        for step in group:
            self._finish(step)

    def _is_affected(self, step: SparkStep) -> bool:
        if step.owner in self._rule_change.new or any(self.transaction.has_changed(name) for name in step.inputs):
            return True
        return step.recursive and any(
            self.transaction.visible(name, arity).lost.rows for name, arity in step.heads.items()
        )

    def _finish(self, step: SparkStep) -> None:
        if step.recursive:
            self._finished.append(step)

    def _maintain(self, wave: Sequence[SparkStep]) -> None:
        started = time.perf_counter()
        before = {name: self.transaction.visible(name, arity) for step in wave for name, arity in step.heads.items()}
        reports = {step.owner: StepReport(step.owner, "") for step in wave}
        rules = self._rules(wave)
        self._engine.know_constants([step.job for step in wave])
        self._recompute([(step, why) for step in wave if (why := self._why_anew(step))], reports)
        for step in wave:
            report = reports[step.owner]
            if report.strategy:
                continue
            if step.recursive:
                self._follow(step, report, rules)
            elif step.source is not None:
                report.strategy = "aggregates by group"
                change = maintain_groups(step, self._versions, rules)
                if change is not None:
                    self.transaction.change_support(step.owner, step.owner, change, counted=False)
        counted = [step for step in wave if not reports[step.owner].strategy]
        self._count(counted, rules, reports)
        self._versions.clear()
        self._settle()
        self._ask_earlier(before)
        taken = time.perf_counter() - started
        for step in wave:
            report = reports[step.owner]
            report.seconds = taken / len(wave)
            if report.strategy != "recompute":
                report.reason = "; ".join(told for told in (report.reason, self._looked_through(step)) if told)
            self._tell_changes(step, report, before)
            self._reports.append((str(step.node), report))
            self._finish(step)

    def _looked_through(self, step: SparkStep) -> str:
        """The large relations in which changed facts were looked up."""
        names = dict.fromkeys([*([] if step.only_copies else step.job.reads), *step.heads])
        relations = {**step.job.reads, **step.heads}
        sizes = {name: self.transaction.supported(name, relations[name]).visible.size for name in names}
        large = [f"{name} ({size:,})" for name, size in sizes.items() if size > IN_DRIVER and not is_auxiliary(name)]
        return f"looked through {', '.join(large)}" if large else ""

    def _rules(self, steps: Sequence[SparkStep]) -> DeltaRules:
        exists = dict(self._rule_change.exists)
        exists.update((name, rule) for step in steps for name, rule in step.exists.items())
        return DeltaRules(self.transaction, self._versions, exists, discards_errors=self._engine.discards_errors)

    def _count(self, steps: Sequence[SparkStep], rules: DeltaRules, reports: dict[str, StepReport]) -> None:
        """What all rules of some steps gain and lose, instance by instance."""
        wanted = []
        for step in steps:
            reports[step.owner].strategy = "counting"
            for delta, sign in step.rules.counted:
                wanted.append(Wanted((step.owner, delta.rule.head.predicate), delta.rule, sign))
        for (owner, predicate), change in rules.derive(wanted).items():
            self.transaction.change_support(predicate, owner, change, counted=True)

    def _why_anew(self, step: SparkStep) -> str:
        """Why a step is derived anew; nothing where it follows the change."""
        if step.owner in self._rule_change.new and step.owner not in self._rule_change.heirs:
            return "its rules are new"
        if step.job.alternates:
            return "its rules run by turns"
        strategy = self._engine.strategy
        if strategy == "recompute":
            return "it was asked for"
        if strategy == "auto" and step.recursive and not self._is_held(step):
            facts = self._facts_of(step)
            if facts <= self._context.settings.recompute_facts:
                return f"{facts:,} facts are derived in no time"
        return ""

    def _facts_of(self, step: SparkStep) -> int:
        relations = {**step.job.reads, **step.heads}
        return sum(self._versions.relation(AFTER + name, arity).size for name, arity in relations.items())

    def _follow(self, step: SparkStep, report: StepReport, rules: DeltaRules) -> None:
        """Takes back what depends on a deletion, if that is little, and adds what follows from new facts."""

        def ask(name: str, facts: ChangeRows) -> bool:
            earlier = [other for other in self._finished if name in other.heads]
            adopted = adopt(earlier, name, facts, self.transaction, self._versions, self._rules(earlier))
            if adopted:
                self._settle()
            return adopted

        facts, change = self._facts_of(step), self._rule_change
        task = RecursiveTask(step, self.transaction, self._versions, rules, report, ask)
        if self._engine.strategy == "auto":
            task.most = max(_ALWAYS_FOLLOWED, facts // 20)
        if step.owner in change.heirs:
            task.new_rules, task.removed_rules = change.new[step.owner], change.removed[step.owner]
            task.most_new = max(_ALWAYS_FOLLOWED, facts) if self._engine.strategy == "auto" else None
        try:
            if self._engine.strategy == COUNTING:
                report.strategy = COUNTING
                maintain_with_counters(task, self._engine.run)
            else:
                report.strategy = "dred"
                self.transaction.counters.forget(step.owner)
                delete_and_rederive(task)
        except OverBudget as why:
            self._recompute([(step, f"{why}, and it knows {facts:,}")], {step.owner: report})
            return
        told = [change.told(step.owner)] if step.owner in change.heirs else []
        report.reason = "; ".join([*told, *([report.reason] if report.reason else [])])

    def _recompute(self, steps: Sequence[tuple[SparkStep, str]], reports: dict[str, StepReport]) -> None:
        if not steps:
            return
        for step, why in steps:
            reports[step.owner].strategy, reports[step.owner].reason = "recompute", why
            self.transaction.counters.forget(step.owner)
            for name, arity in step.heads.items() if step.recursive else ():
                earlier = [other for other in self._finished if name in other.heads]
                if earlier:
                    self._adopt_own(step, name, arity, earlier)
        run = self._engine.run
        for owner, rounds in recompute([step for step, _ in steps], self.transaction, self._versions, run).items():
            reports[owner].rounds += rounds

    def _adopt_own(self, step: SparkStep, name: str, arity: int, earlier: Sequence[SparkStep]) -> None:
        """Earlier steps may derive what this one owns: they are asked before it is derived without them."""
        for other in earlier:
            own = self.transaction.owned_only_by(name, arity, step.owner, other.owner)
            adopt([other], name, own, self.transaction, self._versions, self._rules([other]))

    def _ask_earlier(self, before: dict[str, Visible]) -> None:
        for name, known in before.items():
            earlier = [step for step in self._finished if name in step.heads]
            if not earlier:
                continue
            gone = self.transaction.visible(name, known.deleted.arity).deleted
            if adopt(earlier, name, gone, self.transaction, self._versions, self._rules(earlier)):
                self._settle()

    def _tell_changes(self, step: SparkStep, report: StepReport, before: dict[str, Visible]) -> None:
        for name, arity in step.heads.items():
            now, own = self.transaction.visible(name, arity), self.transaction.support_change(name, step.owner, arity)
            report.deleted += min(own.rows, max(0, now.deleted.rows - before[name].deleted.rows))
            report.inserted += min(own.rows, max(0, now.inserted.rows - before[name].inserted.rows))
