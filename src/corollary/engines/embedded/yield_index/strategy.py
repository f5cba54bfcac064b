"""The Yield index as a maintenance strategy, wrapped around another one.

Rules that use the index pass it the changed facts of their predicates, and get the instances that these complete or
break; support is counted as usual. In a recursive hyper-node, yielded heads go into the index again until nothing
yields. Everything else is left to the other strategy, and the index is told of it.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from corollary.analysis import RuleGraph
from corollary.analysis.lowering import rule_of_case
from corollary.engines.base import MaintainedStep, OverBudget
from corollary.engines.embedded.maintenance.maintained_relation import GONE, MaintainedRelation, distinct
from corollary.engines.embedded.maintenance.transaction import EmbeddedTransaction
from corollary.engines.embedded.relations.relation import Relation
from corollary.engines.embedded.yield_index.index import Numbers, TooManyInstances, YieldIndex
from corollary.engines.embedded.yield_index.shape import fits
from corollary.planning import NormalRule
from corollary.planning.steps import Step
from corollary.program import Atom
from corollary.reasoning.maintain.chooser import Strategy, Way
from corollary.reasoning.maintain.counting import counted_rules
from corollary.reasoning.maintain.modules import FollowedModule
from corollary.reasoning.maintain.step_rules import ATOMS_TO_INDEX, StepForms
from corollary.reasoning.maintain.transaction import Task

# -- choice ------------------------------------------------------------------------------------------------------------

# Which rules use the Yield index: those that a user names, and others as a stream of changes suggests.
#
# The index pays if most changes of a rule's facts complete nothing, and the ordinary way spends time to find that out,
# by visiting partial partners again and again. So a rule is watched: how many instances change for each changed fact,
# and how long that takes. What was tried without gain is not tried again soon.

HASH, YIELD, AUTO = "hash", "yield", "auto"

_WINDOW = 8_192  # changed facts after which a decision is possible
_FEW_MATCHES = 0.2  # instances for each changed fact
_MANY_MATCHES = 0.5
_WORTH_IT = 1.5e-6  # seconds for each changed fact; below that, there is nothing to gain
_FACTS_PER_CHANGE = 16  # an index for more facts than this many times the changes seen would not pay yet


@dataclass
class Watch:
    """The cost of following the changes of one rule since the last decision."""

    window: int = _WINDOW
    rows: int = 0
    instances: int = 0
    seconds: float = 0.0
    seen: int = 0
    hash_cost: float = 0.0  # seconds for each changed fact, while the rule did not use the index

    def note(self, rows: int, instances: int, seconds: float) -> None:
        self.rows += rows
        self.seen += rows
        self.instances += instances
        self.seconds += seconds

    @property
    def is_full(self) -> bool:
        return self.rows >= self.window

    @property
    def match_rate(self) -> float:
        return self.instances / max(1, self.rows)

    @property
    def cost(self) -> float:
        return self.seconds / max(1, self.rows)

    def begin(self) -> None:
        self.rows = self.instances = 0
        self.seconds = 0.0


class IndexChoice:
    """The choice of rules; `wanted` is one word for all rules, or a word for some of them by name; for others the
    choice is automatic."""

    def __init__(self, wanted: str | Mapping[str, str]) -> None:
        self._default = wanted if isinstance(wanted, str) else AUTO
        self._by_rule = {} if isinstance(wanted, str) else dict(wanted)
        self._watches: dict[str, Watch] = {}
        self._chosen: set[str] = set()
        self.is_used = bool(self._by_rule) or self._default == YIELD
        """Whether a rule uses the index, or may be chosen to."""

    def of(self, rule: str) -> str:
        return self._by_rule.get(rule_of_case(rule), self._default)

    def uses_index(self, rule: str) -> bool:
        word = self.of(rule)
        return word == YIELD or (word == AUTO and rule in self._chosen)

    def note(self, rule: str, rows: int, instances: int, seconds: float, facts: int) -> bool:
        """Note a change that was followed; return True if the rule should switch."""
        watch = self._watches.setdefault(rule, Watch())
        watch.note(rows, instances, seconds)
        if self.of(rule) != AUTO or not watch.is_full:
            return False
        changes = self._leaves(watch) if rule in self._chosen else self._enters(watch, facts)
        if rule not in self._chosen:
            watch.hash_cost = watch.cost
        if changes:
            self._chosen ^= {rule}
            self.is_used = bool(self._chosen or self._by_rule) or self._default == YIELD
        watch.begin()
        return changes

    def _enters(self, watch: Watch, facts: int) -> bool:
        is_paid_for = facts <= _FACTS_PER_CHANGE * watch.seen
        return is_paid_for and watch.match_rate < _FEW_MATCHES and watch.cost > _WORTH_IT

    def _leaves(self, watch: Watch) -> bool:
        if watch.match_rate <= _MANY_MATCHES and watch.cost < watch.hash_cost:
            return False
        watch.window *= 8
        return True


# -- strategy ----------------------------------------------------------------------------------------------------------

_NAME = "yield index"


class YieldStrategy(Strategy):
    """Maintenance with the index; `others` is the strategy for everything that the index does not follow."""

    def __init__(self, others: Strategy, wanted: str | Mapping[str, str], *, discards_errors: bool) -> None:
        super().__init__()
        self._others = others
        self.name, self.recursive_name, self.nonrecursive_name = (
            others.name,
            others.recursive_name,
            others.nonrecursive_name,
        )
        self.counts_recursion = others.counts_recursion
        self.follows_closures = others.follows_closures
        self.replaces = others.replaces
        self._choice = IndexChoice(wanted)
        self._discards_errors = discards_errors
        self._index: YieldIndex | None = None
        self._relations: dict[str, Relation] = {}
        self._compactions: dict[str, int] = {}
        self._indexed: dict[str, NormalRule] = {}
        self._watched_since: float | None = None  # when the current step began, if it is watched
        self._changed: int | None = None  # the number of changed facts that the index has got for it

    def note_cost(self, owner: str, instances: int) -> None:
        self._others.note_cost(owner, instances)

    def modules_of(self, step: MaintainedStep | Step) -> Sequence[FollowedModule]:
        return self._others.modules_of(step)

    def counts_instances(self, step: MaintainedStep | Step) -> bool:
        return self._others.counts_instances(step)

    def steps(self, graph: RuleGraph) -> dict[Step, str]:
        return self._others.steps(graph)

    def may_use_index(self, step: StepForms) -> bool:
        """Return whether a rule of a step uses the index, or may turn out to gain from it."""
        words = (YIELD, AUTO) if _may_watch(step) else (YIELD,)
        return any(self._choice.of(rule.name) in words and self._takes(rule) for rule in step.own_rules)

    def uses_index(self, rule: str) -> bool:
        """Return whether a rule uses the index at present."""
        return self._choice.uses_index(rule)

    # -- the index ---------------------------------------------------------------------------------------------------

    def prepare(self, steps: Sequence[StepForms], transaction: EmbeddedTransaction) -> None:
        """Make sure, before a transaction, that the index exists for the rules that want it, and knows the visible facts."""
        self._others.prepare(steps, transaction)
        wanted = {}
        if self._choice.is_used:
            wanted = {
                rule.name: rule
                for step in steps
                for rule in step.own_rules
                if self._choice.uses_index(rule.name) and self._takes(rule) and self._may_follow(step, transaction)
            }
        if self._index is not None and (wanted != self._indexed or not self._is_current(transaction)):
            self.forget()
        if wanted and self._index is None:
            self._build(wanted, transaction)

    def forget(self) -> None:
        """Drop the index, which is out of date."""
        self._others.forget()
        self._index = None
        self._indexed = {}

    def _may_follow(self, step: StepForms, transaction: EmbeddedTransaction) -> bool:
        """Return whether the index can follow a step: a closed predicate has no facts to list, and alternating rules do
        not only grow."""
        negated = {atom.predicate for rule in step.own_rules for atom in rule.body.negated}
        return not (step.inputs | step.heads.keys()) & transaction.closed.keys() and not negated & step.heads.keys()

    def _takes(self, rule: NormalRule) -> bool:
        return fits(rule) and (self._discards_errors or not rule.body.compares)

    def _build(self, wanted: dict[str, NormalRule], transaction: EmbeddedTransaction) -> None:
        universe, views = transaction.store.universe, transaction.views
        orders = any(compare.orders for rule in wanted.values() for compare in rule.body.compares)
        names = {atom.predicate: atom.arity for rule in wanted.values() for atom in _atoms(rule)}
        self._relations = {name: transaction.store.relation(name, arity) for name, arity in names.items()}
        index = YieldIndex(
            list(wanted.values()),
            lambda constant: universe.encode(constant.value),
            lambda: views.order(texts=orders),
            {name: relation.size for name, relation in self._relations.items()},
            work=transaction.work,
        )
        for name, relation in sorted(self._relations.items(), key=lambda item: item[1].size):
            maintained = transaction.maintained.get(name)
            numbers = np.arange(relation.size)
            if maintained is not None:
                numbers = maintained.without(numbers, GONE)
            index.load(name, relation.rows[numbers], numbers)
        self._compactions = {name: _compactions(transaction, name) for name in names}
        self._index, self._indexed = index, wanted

    def _is_current(self, transaction: EmbeddedTransaction) -> bool:
        """Return whether the index knows the visible facts; their rows may have been renumbered in the same order."""
        assert self._index is not None
        for name, known in self._relations.items():
            maintained = transaction.maintained.get(name)
            if transaction.store.relations.get(name) is not known:
                return False
            compactions = _compactions(transaction, name)
            if compactions != self._compactions[name]:
                self._index.renumber(name)
                self._compactions[name] = compactions
            visible = maintained.visible_count if maintained is not None else known.size
            if self._index.count(name) != visible:
                return False
        return True

    def _sync(self, predicates: Iterable[str], transaction: EmbeddedTransaction) -> int | None:
        """Pass changes to the index; return the number of facts, None if it cannot follow because too much has changed."""
        assert self._index is not None
        changed = 0
        for name in sorted(predicates):
            if name not in self._relations or not transaction.has_changed(name):
                continue
            maintained = transaction.maintained.get(name)
            if name in transaction.replaced or maintained is None or maintained.relation is not self._relations[name]:
                return None
            numbers = maintained.touched()
            is_visible = (maintained.flags[numbers] & GONE) == 0
            is_known = self._index.knows(name, numbers)
            gone, new = numbers[is_known & ~is_visible], numbers[~is_known & is_visible]
            try:
                self._index.delete(name, gone)
                self._index.insert(name, maintained.rows(new), new)
            except TooManyInstances:
                return None
            changed += len(gone) + len(new)
        return changed

    # -- changes -----------------------------------------------------------------------------------------------------

    def choose(self, task: Task) -> Way:
        """Choose the index for steps whose rules are in it, if it can follow; otherwise the other strategy, whose time
        is measured."""
        self._watched_since, self._changed = None, None
        if task.step.groups is not None:
            return self._others.choose(task)
        indexed = self._indexed_of(task)
        if indexed is None:
            if self._is_watched(task):
                self._watched_since = time.perf_counter()
            return self._others.choose(task)
        if task.step.recursive and not self._only_grows(task, indexed):
            return self._others.choose(task)
        started = time.perf_counter()
        predicates = task.step.inputs | task.step.heads.keys() if task.step.recursive else task.step.inputs
        self._changed = self._sync(predicates, task.facts.state)
        if self._changed is None:
            self.forget()
            return self._others.choose(task)
        self._watched_since = started
        task.report.strategy = _NAME
        return Way.FOLLOW

    def follow(self, task: Task) -> None:
        if task.report.strategy != _NAME:
            self._others.follow(task)
            return
        indexed = self._indexed_of(task)
        assert indexed is not None
        if not task.step.recursive:
            self._count(task, indexed)
        elif not self._grow(task, indexed):
            self.forget()
            if self._others.choose(task) is not Way.FOLLOW:
                raise OverBudget(task.report.reason)
            self._others.follow(task)

    def finished(self, task: Task) -> None:
        self._others.finished(task)
        if task.report.strategy == _NAME:
            return
        if task.step.groups is None and task.step.recursive:
            self._catch_up(task)
        elif self._watched_since is not None:
            self._note_others(task)

    def _count(self, task: Task, indexed: dict[str, NormalRule]) -> None:
        """Count the instances that the index yields together with those of the other rules."""
        index, facts, owner = self._index, task.facts, task.step.owner
        assert index is not None
        assert self._changed is not None
        assert self._watched_since is not None
        changes = facts.derive(list(counted_rules(task, without=indexed.keys())))
        instances = 0
        for name, rule in indexed.items():
            gained, lost = index.take(name)
            facts.add_instances(changes, (owner, rule.head.predicate), gained, lost)
            instances += len(gained) + len(lost)
        facts.work.instances += instances
        for (_, predicate), change in changes.items():
            facts.change_support(predicate, owner, change, counted=True)
        for name in indexed:
            seconds = time.perf_counter() - self._watched_since
            self._choice.note(name, self._changed, instances, seconds, index.size)

    def _only_grows(self, task: Task, indexed: dict[str, NormalRule]) -> bool:
        is_whole = len(indexed) == len(task.rules.step.rules)
        return is_whole and not self.counts_recursion and not task.facts.may_lose(task)

    def _catch_up(self, task: Task) -> None:
        """Pass the changes by the other strategy to the index."""
        indexed = self._indexed_of(task)
        if indexed is None:
            return
        if self._sync(task.step.inputs | task.step.heads.keys(), task.facts.state) is None:
            self.forget()
            return
        for name in indexed:
            self._taken(name)  # the other strategy has followed them

    def _indexed_of(self, task: Task) -> dict[str, NormalRule] | None:
        """Return the rules of a step that are in the index; None if it cannot follow the change."""
        if self._index is None:
            return None
        found = {rule.name: rule for rule in task.rules.step.rules if rule.name in self._indexed}
        if task.new_rules or task.removed_rules:
            self.forget()
            return None
        return found or None

    def _is_watched(self, task: Task) -> bool:
        """Return whether a rule may gain from the index."""
        if task.is_new or not _may_watch(task.step):
            return False
        (rule,) = task.step.own_rules
        return self._choice.of(rule.name) == AUTO and self._takes(rule)

    def _note_others(self, task: Task) -> None:
        """Note the cost of following a rule without the index."""
        (rule,), transaction = task.rules.step.rules, task.facts.state
        arities = {atom.predicate: atom.arity for atom in _atoms(rule)}
        changes = [
            transaction.change_of(name, arity) for name, arity in arities.items() if transaction.has_changed(name)
        ]
        rows = sum(deleted + inserted for deleted, inserted, _ in changes)
        size = sum(transaction.store.relation(name, arity).size for name, arity in arities.items())
        self._choice.note(rule.name, rows, task.report.instances, task.report.seconds, size)

    # -- recursion ---------------------------------------------------------------------------------------------------

    def _taken(self, rule: str) -> np.ndarray[tuple[int, int], np.dtype[np.uint32]]:
        assert self._index is not None
        gained, _ = self._index.take(rule)
        return gained

    def _grow(self, task: Task, indexed: dict[str, NormalRule]) -> bool:
        """Insert the yielded facts, which may yield more, until there are none (sections 5.3 and 5.5).

        Return False, with nothing changed, if one of them yields too much for the index.
        """
        transaction, owner = task.facts.state, task.step.owner
        assert self._index is not None
        supported: list[tuple[MaintainedRelation, Numbers]] = []
        is_growing = True
        transaction.work.begin_rounds()
        while is_growing:
            is_growing = False
            task.report.rounds += 1
            transaction.work.next_round()
            for name, rule in indexed.items():
                heads = self._taken(name)
                transaction.work.instances += len(heads)
                if len(heads):
                    maintained = transaction.relation(rule.head.predicate, rule.head.arity)
                    numbers = maintained.having(distinct(maintained.place(heads)), GONE)
                    maintained.change_support(owner, numbers, 1)
                    supported.append((maintained, numbers))
                    is_growing |= len(numbers) > 0
                    if not self._follows(rule.head.predicate, maintained, numbers):
                        for relation, rows in supported:
                            relation.change_support(owner, rows, -1)
                        return False
            transaction.work.check()
        return True

    def _follows(self, predicate: str, maintained: MaintainedRelation, numbers: Numbers) -> bool:
        """Pass new facts to the index; return whether it could follow."""
        if self._index is not None and predicate in self._relations:
            try:
                self._index.insert(predicate, maintained.rows(numbers), numbers)
            except TooManyInstances:
                return False
        return True


def _atoms(rule: NormalRule) -> list[Atom]:
    return [atom for atom in (*rule.body.sources, *rule.body.negated) if isinstance(atom, Atom)]


def _compactions(transaction: EmbeddedTransaction, name: str) -> int:
    maintained = transaction.maintained.get(name)
    return maintained.compactions if maintained is not None else 0


def _may_watch(step: StepForms) -> bool:
    """Return whether a step has exactly one rule, so that its changes show what the index would gain."""
    return not step.recursive and len(step.own_rules) == 1 and step.most_atoms >= ATOMS_TO_INDEX
