"""Following updates fact by fact, as one of the maintenance strategies.

A region supports each of its derived facts once; its facts are kept in a table of their own beside the relations. Other
steps follow changes as usual.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence, Set

import numpy as np

from corollary.analysis import RuleGraph
from corollary.engines.embedded.maintenance.closed_predicate import closing_steps
from corollary.engines.embedded.maintenance.maintained_relation import MaintainedRelation, Numbers, distinct
from corollary.engines.embedded.maintenance.transaction import EmbeddedTransaction
from corollary.engines.embedded.marking.region import FactsByPredicate, Method, Region, Upcoming
from corollary.engines.embedded.marking.statistics import MarkingStatistics
from corollary.engines.embedded.marking.tables import fits
from corollary.engines.embedded.relations.relation import Codes
from corollary.planning.steps import RuleStep, Step, is_auxiliary, predicates_of
from corollary.reasoning.maintain.chooser import Strategy, Way, by_instances
from corollary.reasoning.maintain.step_rules import StepForms, StepRules, steps_in_order
from corollary.reasoning.maintain.transaction import Task

# -- regions -----------------------------------------------------------------------------------------------------------

# The rules that follow a stream together, fact by fact: regions of positive rules, and everything else around them.
#
# Algorithm 1 is for one program of positive rules. Here that is a region: the hyper-nodes without negation, aggregates
# and arithmetic between the same other hyper-nodes. A region runs as one step, to one fixpoint; the others keep their
# own steps, before and after it.

_PREFIX = "stream "


def is_region(step: Step) -> bool:
    return step.owner.startswith(_PREFIX)


def region_steps(graph: RuleGraph, closed: Set[str] = frozenset()) -> dict[Step, str]:
    """Return the steps in order, with those of positive rules merged into regions; each with its name for reports.

    Steps that close one of the predicates in `closed` stay outside.
    """
    names = steps_in_order(graph)
    order = list(names)
    members: set[Step] = {step for step in order if isinstance(step, RuleStep) and _may_join(step)}
    if closed:
        members -= {step for step, predicate in closing_steps(order) if predicate in closed}
    levels = _levels(order, members)
    while strangers := _sharing_a_predicate(order, members, levels):
        members -= strangers
        levels = _levels(order, members)
    found: dict[Step, str] = {}
    for level in range(max(levels.values(), default=0) + 1):
        of_level = [step for step in order if levels[step] == level]
        if rules := [
            rule for step in of_level if isinstance(step, RuleStep) and step in members for rule in step.rules
        ]:
            owner = _PREFIX + "{" + ", ".join(rule.name for rule in rules) + "}"
            found[RuleStep(owner, tuple(rules), recursive=True)] = owner
        found |= {step: names[step] for step in of_level if step not in members}
    return found


def _may_join(step: RuleStep) -> bool:
    """Return whether a step has only positive rules, none of which uses auxiliary facts of an aggregation."""
    if is_auxiliary(step.owner) or any(map(is_auxiliary, predicates_of(step.rules))):
        return False
    return all(fits(rule) for rule in step.rules)


def _levels(order: Iterable[Step], members: set[Step]) -> dict[Step, int]:
    """Return levels of steps, each with a region, then other steps. A member comes after the steps that it needs, and
    these after their region."""
    levels: dict[Step, int] = {}
    makers: dict[str, list[Step]] = {}
    for step in order:
        is_member = step in members
        level = int(is_member)
        for predicate in _inputs(step):
            for maker in makers.get(predicate, ()):
                level = max(level, levels[maker] + (is_member and maker not in members))
        levels[step] = level
        for predicate in step.heads:
            makers.setdefault(predicate, []).append(step)
    return levels


def _sharing_a_predicate(order: Iterable[Step], members: set[Step], levels: dict[Step, int]) -> set[Step]:
    """Return members that share a head predicate with other steps: except for explicit facts, the facts of a region are
    its own."""
    makers: dict[str, list[Step]] = {}
    for step in order:
        for predicate in step.heads:
            makers.setdefault(predicate, []).append(step)
    found: set[Step] = set()
    for steps in makers.values():
        if len({(step in members, levels[step] if step in members else 0) for step in steps}) > 1:
            found |= members.intersection(steps)
    return found


def _inputs(step: Step) -> set[str]:
    return predicates_of(step.rules) if isinstance(step, RuleStep) else {step.bindings}


# -- strategy ----------------------------------------------------------------------------------------------------------

_LARGE = 2_000  # facts; smaller changes are always followed fact by fact
_TRIAL = 64  # updates that are looked ahead at, to see whether a mark is ever passed on
_PAUSE = 1_024  # updates without looking ahead after a trial in which none was


class MarkingStrategy(Strategy):
    """Marking as a strategy; `look` is called for the next update while one is processed; `statistics` are those of the
    last transaction.

    If it adapts, large changes are left to the set-at-a-time strategies, and marks are made only while some are passed on
    by rules: others save no work. Given a set of predicates (`closed`), it keeps their closures, outside of regions.
    """

    replaces = True
    keeps_facts = True

    def __init__(self, method: Method, *, adapts: bool = False, closed: frozenset[str] | None = None) -> None:
        super().__init__()
        self.follows_closures = closed is not None
        self.closed = closed
        self.name = self.recursive_name = method.name
        self.method = method
        self.look: Callable[[], Upcoming | None] = lambda: None
        self.statistics = MarkingStatistics()
        self._adapts = adapts
        self._others = by_instances("auto")
        self._looked, self._passed_on = 0, 0  # updates of this trial, and the marks that rules have passed on in it
        self._pause = 0
        self._regions: dict[str, Region] = {}
        self._changes: tuple[FactsByPredicate, FactsByPredicate] = ({}, {})  # outside the current region

    # -- steps -------------------------------------------------------------------------------------------------------

    def steps(self, graph: RuleGraph) -> dict[Step, str]:
        return region_steps(graph, self.closed or frozenset())

    def prepare(self, steps: Sequence[StepForms], transaction: EmbeddedTransaction) -> None:
        """Make sure, before a transaction, that every region has its facts."""
        self._judge_marks()
        self.statistics = MarkingStatistics()
        wanted = {step.owner: step.rules for step in steps if is_region(step.step)}
        for owner in self._regions.keys() - wanted.keys():
            del self._regions[owner]
        for owner, rules in wanted.items():
            if owner not in self._regions:
                self._regions[owner] = self._new_region(rules, transaction)

    def _judge_marks(self) -> None:
        """Learn from the last update whether looking ahead is worth its time."""
        if not self._adapts:
            return
        if self._pause:
            self._pause -= 1
        elif self.statistics.explicit_marks:
            self._looked += 1
            self._passed_on += self.statistics.implicit_marks
            if self._looked == _TRIAL:
                self._pause = 0 if self._passed_on else _PAUSE
                self._looked = self._passed_on = 0

    def _look(self) -> Upcoming | None:
        return self.look() if not self._pause else None

    @property
    def facts(self) -> int:
        """The number of facts in regions."""
        return sum(region.size for region in self._regions.values())

    def forget(self) -> None:
        """Drop the regions after a transaction was given up, because they have seen its changes."""
        self._regions.clear()

    def _new_region(self, rules: StepRules, transaction: EmbeddedTransaction) -> Region:
        universe, views = transaction.store.universe, transaction.views
        orders = any(compare.orders for rule in rules.step.rules for compare in rule.body.compares)
        region = Region(
            rules.step.rules,
            self.method,
            lambda constant: universe.encode(constant.value),
            lambda: views.order(texts=orders),
            transaction.work,
        )
        for name, number in region.tables.predicates.items():
            arity = region.tables.arities[number]
            maintained = transaction.maintained.get(name)
            if name in rules.heads:
                maintained = transaction.relation(name, arity)
            if maintained is None:
                relation = transaction.store.relation(name, arity)
                rows = relation.facts if arity else np.empty((relation.size, 0), np.uint32)
                region.load(name, rows, np.ones(len(rows), np.bool_))
            else:
                numbers = np.flatnonzero(maintained.flags[: maintained.relation.size] == 0)
                is_explicit = np.ones(len(numbers), np.bool_)
                if name in rules.heads:
                    is_explicit = maintained.external_support(rules.step.owner, numbers) > 0
                region.load(name, maintained.rows(numbers), is_explicit)
        return region

    # -- changes -----------------------------------------------------------------------------------------------------

    def choose(self, task: Task) -> Way:
        owner = task.step.owner
        region = self._regions.get(owner)
        if region is None or task.new_rules or task.removed_rules:
            self._regions.pop(owner, None)
            return self._others.choose(task)
        self._changes = _changes(region, task)
        changed = sum(len(rows) for side in self._changes for rows in side.values())
        if self._adapts and changed > max(_LARGE, region.size // 4):
            del self._regions[owner]
            return self._others.choose(task)
        task.report.strategy = self.name
        return Way.FOLLOW

    def follow(self, task: Task) -> None:
        region = self._regions.get(task.step.owner)
        if region is None:
            self._others.follow(task)
        else:
            self._follow(region, task, *self._changes)

    def finished(self, task: Task) -> None:
        self._others.finished(task)

    def _follow(self, region: Region, task: Task, deleted: FactsByPredicate, inserted: FactsByPredicate) -> None:
        transaction, owner = task.facts.state, task.step.owner
        change = region.update(deleted, inserted, self._look)
        for name, rows in change.lost.items():
            maintained = transaction.relation(name, rows.shape[1])
            numbers = maintained.locate(rows)
            counts = maintained.support(owner, numbers)
            maintained.change_support(owner, numbers[counts > 0], -counts[counts > 0])
        for name, rows in change.gained.items():
            maintained = transaction.relation(name, rows.shape[1])
            numbers = maintained.place(rows)
            maintained.change_support(owner, numbers[maintained.support(owner, numbers) == 0], 1)
        transaction.work.instances += region.statistics.seen
        self.statistics.add(region.statistics)


def _changes(region: Region, task: Task) -> tuple[dict[str, Codes], dict[str, Codes]]:
    """Return the changes outside a region in this transaction: facts that lost their support from outside, and new ones."""
    transaction, owner = task.facts.state, task.step.owner
    deleted: dict[str, Codes] = {}
    inserted: dict[str, Codes] = {}
    for name, number in region.tables.predicates.items():
        if name in task.rules.heads:
            maintained = transaction.maintained.get(name)
            if maintained is not None and maintained.counts_before:
                numbers = _changed_by_others(maintained, owner)
                is_supported = maintained.external_support(owner, numbers) > 0
                deleted[name] = maintained.rows(numbers[~is_supported])
                inserted[name] = maintained.rows(numbers[is_supported])
        elif transaction.has_changed(name):
            deleted[name], inserted[name] = transaction.difference(name, region.tables.arities[number])
    return deleted, inserted


def _changed_by_others(maintained: MaintainedRelation, owner: str) -> Numbers:
    """Return the rows whose support by other owners has changed in this transaction."""
    parts = [numbers for other, numbers, _ in maintained.counts_before if other != owner]
    return distinct(np.concatenate(parts)) if parts else np.empty(0, np.int64)
