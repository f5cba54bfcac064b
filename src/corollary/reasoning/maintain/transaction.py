"""One transaction from beginning to end: the support of explicit facts and rules changes, then its consequences follow
step by step.

A step whose inputs did not change is not touched. Steps run in order; if an engine gains by it, independent steps form
a wave and run at once.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from corollary.analysis import RuleGraph
from corollary.engines.base import ChangingFacts, MaintainedStep, OverBudget, TryAgain
from corollary.planning import NormalRule
from corollary.program import Atom
from corollary.reasoning.maintain.chooser import Strategy, Way, recomputing
from corollary.reasoning.maintain.counting import count, maintain_groups
from corollary.reasoning.maintain.delete_rederive import delete_and_rederive
from corollary.reasoning.maintain.recompute import recompute
from corollary.reasoning.maintain.recursive_step import StepChange
from corollary.reasoning.maintain.report import Outcome, StepReport
from corollary.reasoning.maintain.rule_change import ChangedSteps, change_steps
from corollary.reasoning.run import Run

# -- adoption ----------------------------------------------------------------------------------------------------------

# When facts lose their last support, earlier recursive steps may derive them, too.
#
# A recursive step that does not count supports only the facts that it found first. Whether it also derives a fact that
# another owner gave is asked only when that owner's support goes.


class EarlierSteps:
    """Recursive steps that are up to date and do not count their instances."""

    def __init__(self, facts: ChangingFacts) -> None:
        self._facts = facts
        self._by_head: dict[str, list[MaintainedStep]] = {}

    def add(self, step: MaintainedStep) -> None:
        for name in step.heads:
            self._by_head.setdefault(name, []).append(step)

    def of(self, predicate: str) -> Sequence[MaintainedStep]:
        return self._by_head.get(predicate, ())

    def meet(self, predicates: Mapping[str, int]) -> bool:
        """Return whether one of the steps derives one of these predicates."""
        return not self._by_head.keys().isdisjoint(predicates)

    def adopt(self, predicate: str, facts: Any) -> Mapping[str, Any]:
        """Let each step support those of the facts that it derives, and return these by owner.

        None of the steps supports any of the facts yet. Their rules do not read these facts, or the steps would come
        later; so one look is enough.
        """
        steps = self.of(predicate)
        if not steps:
            return {}
        return self._adopted(steps, predicate, facts)

    def adopt_from(self, step: MaintainedStep) -> None:
        """Let the steps support what they derive of the facts of a step that is about to be derived again without them."""
        for name, arity in step.heads.items():
            for other in self.of(name):
                self._adopted([other], name, self._facts.owned_only_by(name, arity, step.owner, other.owner))

    def _adopted(self, steps: Sequence[MaintainedStep], predicate: str, facts: Any) -> Mapping[str, Any]:
        found = self._facts.derivable(steps, predicate, facts)
        for owner, rows in found.items():
            self._facts.support_once(predicate, owner, rows)
        if found:
            self._facts.settle()
        return found


# -- waves -------------------------------------------------------------------------------------------------------------

# Which steps run next, if an engine runs several at once: independent ones, or small ones in order.

Test = Callable[[MaintainedStep], bool]


def next_wave(
    remaining: Sequence[MaintainedStep], is_affected: Test
) -> tuple[list[MaintainedStep], list[MaintainedStep], list[MaintainedStep]]:
    """Return the steps that can run now, those left for later, and those that the change does not reach.

    A recursive step runs in a wave only if no other owner of its predicates does.
    """
    wave: list[MaintainedStep] = []
    later: list[MaintainedStep] = []
    untouched: list[MaintainedStep] = []
    unfinished: set[str] = set()
    of_recursive: set[str] = set()
    for step in remaining:
        heads = set(step.heads)
        waits = bool(step.inputs & unfinished) or bool(heads & (unfinished if step.recursive else of_recursive))
        if not waits and not is_affected(step):
            untouched.append(step)
            continue
        (later if waits else wave).append(step)
        unfinished |= heads
        of_recursive |= heads if step.recursive else set()
    return wave, later, untouched


def small_group(
    remaining: Sequence[MaintainedStep], finished: Sequence[MaintainedStep], is_affected: Test, is_small: Test
) -> tuple[list[MaintainedStep], list[MaintainedStep]]:
    """Return the small steps that a change may reach, directly or through each other, and all other steps.

    `finished` are recursive steps that have run. No recursive step outside the group shares a predicate with it: it
    would have to be asked about deleted facts before others in the group read them.
    """
    excluded: set[str] = set()

    def is_allowed(step: MaintainedStep) -> bool:
        return is_small(step) and not _meets(step.heads, excluded)

    while True:
        group, rest = _reached(remaining, is_affected, is_allowed)
        heads = {name for step in group for name in step.heads}
        shared = {name for step in (*rest, *finished) if step.recursive for name in step.heads} & heads
        if not shared:
            return group, rest
        excluded.update(shared)


def _reached(
    remaining: Sequence[MaintainedStep], is_affected: Test, is_allowed: Test
) -> tuple[list[MaintainedStep], list[MaintainedStep]]:
    group: list[MaintainedStep] = []
    rest: list[MaintainedStep] = []
    given: set[str] = set()
    uncertain: set[str] = set()
    for step in remaining:
        heads = set(step.heads)
        if not is_affected(step) and not _meets(step.inputs, given, uncertain):
            rest.append(step)
        elif not _waits(step, uncertain) and is_allowed(step):
            group.append(step)
            given |= heads
        else:
            rest.append(step)
            uncertain |= heads
    return group, rest


def _waits(step: MaintainedStep, uncertain: Collection[str]) -> bool:
    return _meets(step.inputs, uncertain) or (step.recursive and _meets(step.heads, uncertain))


def _meets(names: Collection[str], *others: Collection[str]) -> bool:
    return any(name in other for name in names for other in others)


# -- transaction -------------------------------------------------------------------------------------------------------

FactsT = TypeVar("FactsT", bound=ChangingFacts)


@dataclass(kw_only=True)
class Task(StepChange):
    """One step to maintain in one transaction; `is_new` if it supports nothing yet.

    `gone_rules` are those of removed steps without an heir that shared a predicate with it. `earlier` are the steps
    that may derive more facts of its predicates than they support. The other fields are what a strategy has found out.
    """

    step: Any
    """The `MaintainedStep`, as made by the engine."""
    facts: Any
    """The `ChangingFacts` of the engine, with the measurements that its strategies need."""
    earlier: EarlierSteps
    change: ChangedSteps
    is_new: bool
    may_lose: bool = True
    touched: Any = None
    """The changed groups of an aggregation, if they have been computed."""
    recomputed_by: int | None = None
    """How many rule instances recomputing the step took; None if it was not recomputed."""

    @property
    def gone_rules(self) -> frozenset[NormalRule]:
        gone = self.change.gone
        return frozenset[NormalRule]().union(*(gone[name] for name in self.step.heads if name in gone))


class Maintainer(Generic[FactsT]):
    """Keeps the derived facts of a program exact from one transaction to the next. They must have been derived by the
    same steps."""

    def __init__(self, facts: FactsT, graph: RuleGraph, strategy: Strategy) -> None:
        self.facts = facts
        self.strategy = strategy
        self.steps: Sequence[Any] = facts.steps(graph, strategy, ())
        self.commits = 0
        """How many transactions have happened."""
        self._explicit = _stated(self.steps)
        self._counted = strategy.counts_instances  # whether the support of a step currently is a number of instances

    def usual_way(self, node: str) -> str:
        """Return how the rules of a hyper-node usually follow changes."""
        step = next((step for step in self.steps if step.owner == node), None)
        if step is None:  # it is part of a larger step
            return self.strategy.recursive_name
        if form := self.facts.form_of(step):
            return form
        if step.alternates:
            return "recompute"
        return self.strategy.recursive_name if step.recursive else self.strategy.nonrecursive_name

    def apply(
        self,
        change: Any,
        graph: RuleGraph | None,
        run: Run,
        commit: Callable[[Outcome], None],
        strategy: Strategy | None = None,
    ) -> Outcome:
        """Change facts and rules together, or raise and leave everything unchanged; a given `strategy` is used from now
        on.

        `commit` is called when everything is computed and not yet visible; if it raises, the transaction is rolled
        back.
        """
        started = time.perf_counter()
        strategy = strategy or self.strategy
        while True:
            try:
                outcome = self._apply(change, graph, run, commit, strategy)
            except TryAgain:
                continue
            outcome.seconds = time.perf_counter() - started
            return outcome

    def _apply(
        self,
        change: Any,
        graph: RuleGraph | None,
        run: Run,
        commit: Callable[[Outcome], None],
        strategy: Strategy,
    ) -> Outcome:
        facts, steps, explicit = self.facts, self.steps, self._explicit
        if graph is not None:
            steps = facts.steps(graph, strategy, self.steps)
            explicit = _stated(steps)
        try:
            with facts.transaction(run, self.steps, strategy):
                course = _Course(facts, strategy, self._counted, self.steps, steps)
                outcome = course.run(change, self._explicit, explicit)
                facts.check()
                commit(outcome)
        except BaseException:
            strategy.forget()
            raise
        facts.commit()
        self.steps, self._explicit = steps, explicit
        self.strategy, self._counted = strategy, strategy.counts_instances
        self.commits += 1
        return outcome


def _stated(steps: Sequence[MaintainedStep]) -> dict[str, Atom]:
    """Return the predicates of explicit facts that steps read, each with an atom that selects its facts."""
    return {name: atom for step in steps for name, atom in step.stated.items()}


class _Course:
    """The course of one transaction."""

    def __init__(
        self,
        facts: ChangingFacts,
        strategy: Strategy,
        counted: Callable[[MaintainedStep], bool],
        before: Sequence[MaintainedStep],
        after: Sequence[MaintainedStep],
    ) -> None:
        self._facts, self._strategy, self._counted = facts, strategy, counted
        self._before, self._after = before, after
        self._change = ChangedSteps()
        self._earlier = EarlierSteps(facts)
        self._recursive: list[MaintainedStep] = []  # that have finished
        self._reports: list[tuple[str, StepReport]] = []

    def run(self, change: Any, explicit_before: Mapping[str, Atom], explicit_after: Mapping[str, Atom]) -> Outcome:
        facts, outcome = self._facts, Outcome()
        is_same = self._after is self._before
        if not is_same:
            facts.leave(self._before, self._after)
        outcome.explicit_deleted, outcome.explicit_inserted = facts.change_explicit(change)
        if explicit_before or explicit_after:
            self._change_explicit_predicates(explicit_before, explicit_after)
        if not is_same:
            counts = self._strategy.counts_instances
            self._change = change_steps(self._before, self._after, facts, counted=self._counted, counts=counts)
        facts.begin_steps(self._after, self._change)
        facts.settle()
        if facts.runs_together:
            self._run_together()
        else:
            for step in self._after:
                if self._is_affected(step):
                    self._maintain([step])
                self._finish(step)
        outcome.steps = _by_node(self._reports)
        facts.tell(outcome)
        return outcome

    def _change_explicit_predicates(self, before: Mapping[str, Atom], after: Mapping[str, Atom]) -> None:
        """Follow the changes of predicates that copy explicit facts of another one.

        Such a predicate is its own owner, as auxiliary predicates are; the explicit facts have the name that the
        program gave them.
        """
        facts = self._facts
        for name in before.keys() - after.keys():
            facts.withdraw(name, before[name].arity, name)
        for name, atom in after.items():
            changed = facts.explicit_change if name in before else facts.explicit_facts
            facts.change_support(name, name, changed(atom.predicate, atom.arity), counted=False)

    # -- the order of steps ----------------------------------------------------------------------------------------

    def _run_together(self) -> None:
        facts, remaining = self._facts, self._after
        while remaining:
            facts.check()
            if self._strategy.derives_small_steps:
                group, rest = small_group(remaining, self._recursive, self._is_affected, facts.is_small)
                if facts.gains_by_a_job(group):
                    self._maintain(group, "it has few facts")
                    self._finish_all(group)
                    remaining = rest
                    continue
            wave, remaining, untouched = next_wave(remaining, self._is_affected)
            self._finish_all(untouched)
            if wave:
                self._maintain(wave)
                self._finish_all(wave)

    def _finish_all(self, steps: Sequence[MaintainedStep]) -> None:
        for step in steps:
            self._finish(step)

    def _finish(self, step: MaintainedStep) -> None:
        """Note that a step has followed the change, or was not reached by it."""
        facts = self._facts
        if step.owner in self._change.uncounted and not facts.form_of(step):
            facts.recount(step)
        if step.recursive:
            self._recursive.append(step)
            if not self._strategy.counts_instances(step):
                self._earlier.add(step)
        facts.finished(step)

    def _is_affected(self, step: MaintainedStep) -> bool:
        facts = self._facts
        if step.owner in self._change.new:
            return True
        for predicate in step.inputs:
            if facts.has_changed(predicate):
                return True
        return step.recursive and any(facts.has_lost(name, arity) for name, arity in step.heads.items())

    # -- steps -------------------------------------------------------------------------------------------------------

    def _maintain(self, wave: Sequence[MaintainedStep], why: str = "") -> None:
        """Let some steps follow the change; recompute all of them if there is a reason `why`."""
        facts, strategy = self._facts, self._strategy
        started, instances = time.perf_counter(), facts.instances
        tasks = [self._task(step) for step in wave]
        points = [facts.point(step) for step in wave]
        facts.begin(tasks)
        by_way: dict[Way, list[Task]] = {}
        for task in tasks:
            way = recomputing(task, why) if why else self._way(task)
            if way is not None:
                by_way.setdefault(way, []).append(task)
        if Way.RECOMPUTE in by_way:
            self._recompute(by_way[Way.RECOMPUTE])
        for task in by_way.get(Way.FOLLOW, ()):
            self._follow(task)
        for task in by_way.get(Way.GROUPS, ()):
            maintain_groups(task, facts)
        if Way.COUNT in by_way:
            count(by_way[Way.COUNT], facts)
        facts.settle()
        facts.check_values(tasks)
        self._ask_earlier(wave)
        seconds, instances = time.perf_counter() - started, facts.instances - instances
        for task, point in zip(tasks, points, strict=True):
            if why and not self._is_affected(task.step):
                continue
            report = task.report
            report.deleted, report.inserted = facts.changes_since(task.step, point)
            report.seconds, report.instances = seconds / len(wave), instances
            facts.describe(task)
            strategy.finished(task)
            self._reports.append((task.step.node, report))
        facts.check()

    def _task(self, step: MaintainedStep) -> Task:
        change = self._change
        return Task(
            step.rules,
            StepReport(step.owner, ""),
            change.new_rules(step) if change.new else [],
            change.removed.get(step.owner, ()),
            step=step,
            facts=self._facts,
            earlier=self._earlier,
            change=change,
            is_new=step.owner in change.new and step.owner not in change.heirs,
        )

    def _way(self, task: Task) -> Way | None:
        """Return how a step follows the change; None if the engine has already done it."""
        step, change = task.step, self._change
        if self._facts.follows(task):
            change.uncounted.discard(step.owner)
            return None
        if step.alternates:
            return recomputing(task, "its rules run by turns")
        if step.owner in change.uncounted:
            task.report.strategy, task.report.reason = "dred", "its derivations have not been counted yet"
            return Way.FOLLOW
        return self._strategy.choose(task)

    def _follow(self, task: Task) -> None:
        if task.step.owner in self._change.uncounted:
            delete_and_rederive(task, self._facts.facts(task), stops_at_support=False)
            return
        try:
            self._strategy.follow(task)
        except OverBudget as why:
            self._facts.give_up(task)
            recomputing(task, str(why))
            self._recompute([task])

    def _recompute(self, tasks: Sequence[Task]) -> None:
        before = self._facts.instances
        recompute(tasks, self._facts)
        if len(tasks) == 1:
            tasks[0].recomputed_by = self._facts.instances - before

    def _ask_earlier(self, wave: Sequence[MaintainedStep]) -> None:
        """Let earlier recursive steps support what they derive of the facts that have just lost their last support."""
        for step in wave:
            if self._earlier.meet(step.heads):
                for name, arity in step.heads.items():
                    if self._earlier.of(name) and (gone := self._facts.gone(name, arity)) is not None:
                        self._earlier.adopt(name, gone)


def _by_node(steps: Iterable[tuple[str, StepReport]]) -> list[StepReport]:
    """Return one report for each hyper-node, which includes its auxiliary steps."""
    found: dict[str, StepReport] = {}
    for node, step in steps:
        total = found.setdefault(node, StepReport(node, ""))
        names = [name for name in total.strategy.split(" + ") if name]
        total.strategy = " + ".join(dict.fromkeys([*names, step.strategy]))
        total.reason = "; ".join(dict.fromkeys(reason for reason in (total.reason, step.reason) if reason))
        total.rounds += step.rounds
        total.instances += step.instances
        total.overdeleted += step.overdeleted
        total.rederived += step.rederived
        total.seconds += step.seconds
        if step.owner == node:
            total.deleted, total.inserted = step.deleted, step.inserted
    return list(found.values())
