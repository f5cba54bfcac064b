"""Following changes by the Yield index, as a way of maintenance around another one.

Rules that use the index tell it which facts of their predicates have come and gone, and get the instances that this completes or
breaks; support is counted as it is otherwise. In a recursive hyper-node, what is yielded is told to the index again until
nothing yields. Everything else is left to the other strategy, and the index hears of it.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from corollary.analysis import RuleGraph
from corollary.engines.embedded.maintenance.aggregates import AggregateRules
from corollary.engines.embedded.maintenance.counting import GAINED, LOST, apply_counts, count_changes
from corollary.engines.embedded.maintenance.maintained_relation import GONE, MaintainedRelation, distinct
from corollary.engines.embedded.maintenance.recursive_step import Found, Task
from corollary.engines.embedded.maintenance.step_rules import StepRules
from corollary.engines.embedded.maintenance.strategies import Strategy, loses
from corollary.engines.embedded.maintenance.transaction import Transaction
from corollary.engines.embedded.relation import Relation
from corollary.engines.embedded.yield_index.choice import AUTO, IndexChoice
from corollary.engines.embedded.yield_index.index import YieldIndex
from corollary.engines.embedded.yield_index.shape import fits
from corollary.planning import NormalRule
from corollary.planning.steps import Step
from corollary.program import Atom

_ATOMS = 3  # with fewer there is no partial partner to look at in vain


class YieldStrategy(Strategy):
    """`others` follows what the index does not."""

    def __init__(self, others: Strategy, choice: IndexChoice, *, discards_errors: bool) -> None:
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
        self._choice = choice
        self._discards_errors = discards_errors
        self._index: YieldIndex | None = None
        self._relations: dict[str, Relation] = {}
        self._compactions: dict[str, int] = {}
        self._indexed: dict[str, NormalRule] = {}

    def note_cost(self, owner: str, instances: int) -> None:
        self._others.note_cost(owner, instances)

    def steps(self, graph: RuleGraph) -> dict[Step, str]:
        return self._others.steps(graph)

    def groups(self, rules: AggregateRules, transaction: Transaction) -> tuple[str, Found]:
        return self._others.groups(rules, transaction)

    # -- the index ---------------------------------------------------------------------------------------------------

    def prepare(self, order: Sequence[StepRules | AggregateRules], transaction: Transaction) -> None:
        """Before a transaction: the index is there, for the rules that want it, and knows what is visible."""
        self._others.prepare(order, transaction)
        wanted = {
            rule.name: rule
            for rules in order
            if isinstance(rules, StepRules)
            for rule in rules.step.rules
            if self._choice.uses_index(rule.name) and self._takes(rule) and self._may_follow(rules, transaction)
        }
        if self._index is not None and (wanted != self._indexed or not self._is_current(transaction)):
            self.forget()
        if wanted and self._index is None:
            self._build(wanted, transaction)

    def forget(self) -> None:
        """What the index knows is not what is there any more."""
        self._others.forget()
        self._index = None
        self._indexed = {}

    def _may_follow(self, rules: StepRules, transaction: Transaction) -> bool:
        """A closed predicate has no facts that could be listed; what negates itself does not only grow."""
        negated = {atom.predicate for rule in rules.step.rules for atom in rule.body.negated}
        return not (rules.inputs | rules.heads.keys()) & transaction.closed.keys() and not negated & rules.heads.keys()

    def _takes(self, rule: NormalRule) -> bool:
        return fits(rule) and (self._discards_errors or not rule.body.compares)

    def _build(self, wanted: dict[str, NormalRule], transaction: Transaction) -> None:
        universe, views = transaction.store.universe, transaction.views
        names = {atom.predicate: atom.arity for rule in wanted.values() for atom in _atoms(rule)}
        self._relations = {name: transaction.store.relation(name, arity) for name, arity in names.items()}
        index = YieldIndex(
            list(wanted.values()),
            lambda constant: universe.encode(constant.value),
            lambda: views.ordering.arrays(),
            {name: relation.size for name, relation in self._relations.items()},
            check=lambda: transaction.work.check(),
        )
        for name, relation in sorted(self._relations.items(), key=lambda item: item[1].size):
            maintained = transaction.maintained.get(name)
            numbers = np.arange(relation.size)
            if maintained is not None:
                numbers = maintained.without(numbers, GONE)
            index.load(name, relation.rows[numbers], numbers)
        self._compactions = {name: _compactions(transaction, name) for name in names}
        self._index, self._indexed = index, wanted

    def _is_current(self, transaction: Transaction) -> bool:
        """Whether the index knows what is visible; rows may have got other numbers meanwhile, in the same order."""
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

    def _sync(self, predicates: Iterable[str], transaction: Transaction) -> int | None:
        """Tells the index what has changed; gives the number of facts, None where a predicate was derived anew."""
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
            self._index.delete(name, gone)
            self._index.insert(name, maintained.rows(new), new)
            changed += len(gone) + len(new)
        return changed

    # -- changes -----------------------------------------------------------------------------------------------------

    def nonrecursive(self, task: Task) -> Found:
        indexed = self._indexed_of(task)
        if indexed is None:
            return self._watched(task)
        started = time.perf_counter()
        changed = self._sync(task.rules.inputs, task.transaction)
        if changed is None:
            self.forget()
            return self._others.nonrecursive(task)
        index, transaction = self._index, task.transaction
        assert index is not None
        task.report.strategy = "yield index"
        changes = count_changes(task.rules, transaction, without=indexed.keys())
        instances = 0
        for name, rule in indexed.items():
            gained, lost = index.take(name)
            changes[rule.head.predicate].insert(gained, GAINED)
            changes[rule.head.predicate].insert(lost, LOST)
            instances += len(gained) + len(lost)
        transaction.work.instances += instances
        gone = {
            name: apply_counts(task.rules.step.owner, name, change, transaction) for name, change in changes.items()
        }
        for name in indexed:
            self._choice.note(name, changed, instances, time.perf_counter() - started, index.size)
        return gone

    def recursive(self, task: Task) -> Found:
        indexed = self._indexed_of(task)
        if indexed is None:
            return self._others.recursive(task)
        transaction, predicates = task.transaction, task.rules.inputs | task.rules.heads.keys()
        grows = len(indexed) == len(task.rules.step.rules) and not self.counts_recursion and not loses(task)
        if not grows:
            self._others.recursive(task)
        if self._sync(predicates, transaction) is None:
            self.forget()
            return self._others.recursive(task) if grows else {}
        if grows:
            task.report.strategy = "yield index"
            self._grow(task, indexed)
        else:
            for name in indexed:
                self._taken(name)  # the other strategy has followed them
        return {}

    def _indexed_of(self, task: Task) -> dict[str, NormalRule] | None:
        """The rules of a step that are in the index; None where it cannot follow the change."""
        if self._index is None:
            return None
        found = {rule.name: rule for rule in task.rules.step.rules if rule.name in self._indexed}
        if task.new_rules or task.removed_rules:
            self.forget()
            return None
        return found or None

    def _watched(self, task: Task) -> Found:
        """The ordinary way; for a rule that may be better off with the index, what it takes is noted."""
        rules = task.rules.step.rules
        rule = rules[0]
        is_watched = len(rules) == 1 and not task.is_new and len(_atoms(rule)) >= _ATOMS
        if not is_watched or self._choice.of(rule.name) != AUTO or not self._takes(rule):
            return self._others.nonrecursive(task)
        transaction = task.transaction
        arities = {atom.predicate: atom.arity for atom in _atoms(rule)}
        changes = [
            transaction.change_of(name, arity) for name, arity in arities.items() if transaction.has_changed(name)
        ]
        rows = sum(deleted + inserted for deleted, inserted, _ in changes)
        facts = sum(transaction.store.relation(name, arity).size for name, arity in arities.items())
        started, before = time.perf_counter(), transaction.work.instances
        gone = self._others.nonrecursive(task)
        instances = transaction.work.instances - before
        self._choice.note(rule.name, rows, instances, time.perf_counter() - started, facts)
        return gone

    # -- recursion ---------------------------------------------------------------------------------------------------

    def _taken(self, rule: str) -> np.ndarray[tuple[int, int], np.dtype[np.uint32]]:
        assert self._index is not None
        gained, _ = self._index.take(rule)
        return gained

    def _grow(self, task: Task, indexed: dict[str, NormalRule]) -> None:
        """What is yielded comes in, and may yield more (sections 5.3 and 5.5)."""
        transaction, owner = task.transaction, task.rules.step.owner
        assert self._index is not None
        is_growing = True
        while is_growing:
            is_growing = False
            task.report.rounds += 1
            for name, rule in indexed.items():
                heads = self._taken(name)
                transaction.work.instances += len(heads)
                if len(heads):
                    is_growing |= self._support(
                        transaction.relation(rule.head.predicate, rule.head.arity), rule, heads, owner
                    )
            transaction.work.check()

    def _support(
        self,
        maintained: MaintainedRelation,
        rule: NormalRule,
        heads: np.ndarray[tuple[int, int], np.dtype[np.uint32]],
        owner: str,
    ) -> bool:
        """Supports those of the heads that nobody supports yet, and tells the index."""
        numbers = maintained.having(distinct(maintained.place(heads)), GONE)
        maintained.change_support(owner, numbers, 1)
        if self._index is not None and rule.head.predicate in self._relations:
            self._index.insert(rule.head.predicate, maintained.rows(numbers), numbers)
        return len(numbers) > 0


def _atoms(rule: NormalRule) -> list[Atom]:
    return [atom for atom in (*rule.body.sources, *rule.body.negated) if isinstance(atom, Atom)]


def _compactions(transaction: Transaction, name: str) -> int:
    maintained = transaction.maintained.get(name)
    return maintained.compactions if maintained is not None else 0


def with_index(others: Strategy, wanted: str | Mapping[str, str], *, discards_errors: bool) -> Strategy:
    """A strategy whose rules may use the index, or the other one itself where none may."""
    choice = IndexChoice(wanted)
    return YieldStrategy(others, choice, discards_errors=discards_errors) if choice.may_index else others
