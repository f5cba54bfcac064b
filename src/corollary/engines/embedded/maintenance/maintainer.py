"""One transaction from beginning to end: support of facts and rules changes, then step by step what follows from it."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from corollary.analysis import HyperNode, RuleGraph, modules_of
from corollary.engines.embedded.evaluation import Store
from corollary.engines.embedded.maintenance.aggregates import AggregateRules, maintain_groups
from corollary.engines.embedded.maintenance.closed_predicate import (
    ClosedPredicate,
    DoesNotFit,
    closure_module,
    disclosed,
    enclosed,
)
from corollary.engines.embedded.maintenance.counting import derive_with_counts, maintain_by_counting
from corollary.engines.embedded.maintenance.deletion import RecursiveStep
from corollary.engines.embedded.maintenance.maintained_relation import MaintainedRelation, Numbers
from corollary.engines.embedded.maintenance.step_rules import StepRules
from corollary.engines.embedded.maintenance.transaction import EXPLICIT, StepReport, Transaction
from corollary.engines.embedded.ordering import Ordering
from corollary.engines.embedded.relation import Codes
from corollary.engines.embedded.runner import Work
from corollary.planning import NormalRule, normalise
from corollary.planning.steps import AggregateStep, RuleStep, Step, is_auxiliary, steps_of_rule
from corollary.program import Query, atoms_of

RulesOfStep = StepRules | AggregateRules


class LazyRows(Protocol):
    """Facts that are counted, and written out when somebody wants to see them."""

    count: int

    def rows(self) -> Codes: ...


class Written:
    """Facts that are written out already."""

    def __init__(self, rows: Codes) -> None:
        self._rows = rows
        self.count = len(rows)

    def rows(self) -> Codes:
        return self._rows


@dataclass
class FactChange:
    """Explicit facts to delete and to insert, as distinct rows by predicate; what is in both is inserted."""

    delete: dict[str, Codes] = field(default_factory=dict)
    insert: dict[str, Codes] = field(default_factory=dict)


@dataclass
class Outcome:
    """The visible facts that a transaction took and brought, and what it cost."""

    deleted: dict[str, LazyRows] = field(default_factory=dict)
    inserted: dict[str, LazyRows] = field(default_factory=dict)
    steps: list[StepReport] = field(default_factory=list)
    explicit_deleted: int = 0
    explicit_inserted: int = 0
    seconds: float = 0.0

    def add(self, predicate: str, deleted: LazyRows, inserted: LazyRows) -> None:
        if deleted.count:
            self.deleted[predicate] = deleted
        if inserted.count:
            self.inserted[predicate] = inserted


class Maintainer:
    """Keeps the relations of a store exact. The store was materialised by the same steps, with counts."""

    def __init__(
        self,
        store: Store,
        graph: RuleGraph,
        closed: dict[str, ClosedPredicate] | None,
        *,
        orders_texts: bool,
        discards_errors: bool,
    ) -> None:
        self._work = Work(discards_errors=discards_errors)
        self._closes = closed is not None
        ordering = Ordering(store.universe, texts=orders_texts)
        self._transaction = Transaction(store, self._work, ordering, closed if closed is not None else {})
        self._graph = graph
        self._order: Sequence[RulesOfStep] = [_rules_of(step) for step in steps_in_order(graph)]

    @property
    def transaction(self) -> Transaction:
        return self._transaction

    def relation(self, predicate: str) -> MaintainedRelation | None:
        """The relation of a predicate that has changed since it was derived."""
        return self._transaction.maintained.get(predicate)

    def has_hidden_rows(self, query: Query) -> bool:
        return bool(self._hidden(query))

    def compact(self, query: Query) -> None:
        """Removes the hidden rows of the predicates of a query: what goes over whole relations may as well."""
        for maintained in self._hidden(query):
            maintained.compact()

    def _hidden(self, query: Query) -> list[MaintainedRelation]:
        found = (self.relation(atom.predicate) for atom, _ in atoms_of(query.body))
        return [maintained for maintained in found if maintained is not None and maintained.hidden]

    # -- transactions ------------------------------------------------------------------------------------------------

    def apply(self, facts: FactChange, graph: RuleGraph | None = None, check: Callable[[], None] = lambda: None) -> Outcome:
        """Changes facts and rules together, or raises and leaves everything as it was."""
        started = time.perf_counter()
        self._work.check = check
        before = self._graph, self._order
        if graph is not None:
            self._disclose_but(steps_in_order(graph))
        try:
            outcome = self._changed(facts, graph)
        except BaseException as error:
            self._graph, self._order = before
            self._transaction.roll_back()
            if not isinstance(error, DoesNotFit):
                raise
            self._disclose(error.predicate)
            return self.apply(facts, graph, check)
        self._transaction.commit()
        if graph is not None and self._closes:
            self._enclose()
        outcome.seconds = time.perf_counter() - started
        return outcome

    def _changed(self, facts: FactChange, graph: RuleGraph | None) -> Outcome:
        outcome = Outcome()
        self._change_explicit(facts, outcome)
        new, removed = self._change_rules(graph) if graph is not None else ({}, [])
        recursive: dict[str, list[StepRules]] = {}
        for rules in self._order:
            new_rules = new.get(rules.step.owner)
            if new_rules is not None or self._is_affected(rules):
                self._transaction.views.forget_deltas()
                outcome.steps.append(self._maintain(rules, new_rules or (), removed, recursive))
                self._work.check()
            if isinstance(rules, StepRules) and rules.step.recursive:
                for name in rules.step.heads:
                    recursive.setdefault(name, []).append(rules)
        self._collect(outcome)
        return outcome

    def _collect(self, outcome: Outcome) -> None:
        for name, closed in self._transaction.closed.items():
            if closed.change is not None:
                outcome.add(name, closed.change.deleted, closed.change.inserted)
        for name, maintained in self._transaction.maintained.items():
            if not is_auxiliary(name) and name not in self._transaction.closed:
                outcome.add(name, *map(Written, maintained.difference()))

    def _change_explicit(self, facts: FactChange, outcome: Outcome) -> None:
        """Insertions come last and win: a fact that is deleted and inserted is there."""
        for predicate, rows in facts.delete.items():
            maintained = self._transaction.supported(predicate, rows.shape[1])
            numbers = np.unique(maintained.locate(rows))
            numbers = numbers[maintained.support(EXPLICIT, numbers) > 0]
            maintained.change_support(EXPLICIT, numbers, -1)
            outcome.explicit_deleted += len(numbers)
        for predicate, rows in facts.insert.items():
            maintained = self._transaction.supported(predicate, rows.shape[1])
            numbers = np.unique(maintained.place(rows))
            numbers = numbers[maintained.support(EXPLICIT, numbers) == 0]
            maintained.change_support(EXPLICIT, numbers, 1)
            outcome.explicit_inserted += len(numbers)

    # -- rules -------------------------------------------------------------------------------------------------------

    def _change_rules(self, graph: RuleGraph) -> tuple[dict[str, list[NormalRule]], list[NormalRule]]:
        """The owners whose steps are new, with their new rules, and the rules that recursive steps have lost."""
        known = {rules.step: rules for rules in self._order}
        wanted = steps_in_order(graph)
        heir_of_rule = {rule.name: step for step in wanted if isinstance(step, RuleStep) for rule in step.rules}
        kept: dict[str, NormalRule] = {}
        removed: list[NormalRule] = []
        for step in known.keys() - set(wanted):
            heir = _heir(step, heir_of_rule)
            self._hand_over(step, heir)
            if heir is not None and isinstance(step, RuleStep):
                kept |= {rule.name: rule for rule in step.rules if rule.name in heir_of_rule}
                removed += [rule for rule in step.rules if rule.name not in heir_of_rule]
        new = {
            step.owner: [rule for rule in step.rules if rule.name not in kept] if isinstance(step, RuleStep) else []
            for step in wanted
            if step not in known
        }
        self._graph, self._order = graph, [known.get(step) or _rules_of(step) for step in wanted]
        return new, removed

    def _hand_over(self, step: Step, heir: RuleStep | None) -> None:
        """What a step supports its heir does from now on, as far as it has rules for it."""
        for name, arity in step.heads.items():
            maintained = self._transaction.supported(name, arity)
            if heir is not None and name in heir.heads:
                maintained.transfer(step.owner, heir.owner)
            else:
                maintained.withdraw(step.owner)

    # -- closures ----------------------------------------------------------------------------------------------------

    def _disclose_but(self, wanted: Sequence[Step]) -> None:
        """Rules are about to change: what closes a predicate may go on only if it stays as it is."""
        staying = set(wanted)
        for rules in self._order:
            closed = self._closed_by(rules)
            if closed is not None and rules.step not in staying:
                self._disclose(closed.predicate)

    def _disclose(self, predicate: str) -> None:
        (owner,) = (rules.step.owner for rules in self._order if self._closes_predicate(rules, predicate))
        self._transaction.disclose(predicate, disclosed(self._transaction.closed[predicate], owner))

    def _enclose(self) -> None:
        """Closures that have come with new rules are kept as such from now on."""
        for rules in self._order:
            module = closure_module(rules.step.modules) if isinstance(rules, StepRules) else None
            if module is not None and module.predicate is not None and module.predicate not in self._transaction.closed:
                maintained = self._transaction.relation(module.predicate, 2)
                step = self._transaction.visible(module.step) if module.step is not None else None
                with contextlib.suppress(DoesNotFit):
                    closed = enclosed(module, rules.step.owner, maintained, step, self._transaction.store.universe)
                    self._transaction.enclose(module.predicate, closed)

    def _closes_predicate(self, rules: RulesOfStep, predicate: str) -> bool:
        module = closure_module(rules.step.modules) if isinstance(rules, StepRules) else None
        return module is not None and module.predicate == predicate

    def _closed_by(self, rules: RulesOfStep) -> ClosedPredicate | None:
        """The closed predicate of a step."""
        if not isinstance(rules, StepRules) or not rules.step.recursive:
            return None
        (first, *_) = rules.step.heads
        return self._transaction.closed.get(first)

    def _follow_closure(self, rules: StepRules, closed: ClosedPredicate) -> None:
        transaction, predicate, step = self._transaction, closed.predicate, closed.module.step
        is_read = any(predicate in other.inputs for other in self._order if other is not rules)
        maintained = transaction.maintained.get(predicate)
        if maintained is None and is_read:
            maintained = transaction.relation(predicate, 2)
        change = closed.update(transaction.difference(step, 2) if step is not None else None)
        if maintained is None:
            transaction.store.relations[predicate] = closed.relation()
        else:
            owner = maintained.relation.owners[0]
            maintained.change_support(owner, maintained.locate(change.deleted.rows()), -1)
            maintained.change_support(owner, maintained.place(change.inserted.rows()), 1)

    # -- steps -------------------------------------------------------------------------------------------------------

    def _is_affected(self, rules: RulesOfStep) -> bool:
        changed = self._transaction.has_changed
        closed = self._closed_by(rules)
        if closed is not None:
            return closed.external.is_touched or (closed.module.step is not None and changed(closed.module.step))
        if any(changed(predicate) for predicate in rules.inputs):
            return True
        if isinstance(rules, AggregateRules) or not rules.step.recursive:
            return False
        maintained = self._transaction.maintained
        return any(len(maintained[name].lost_rows()) for name in rules.step.heads if name in maintained)

    def _maintain(
        self,
        rules: RulesOfStep,
        new_rules: Sequence[NormalRule],
        removed: list[NormalRule],
        recursive: dict[str, list[StepRules]],
    ) -> StepReport:
        started, instances = time.perf_counter(), self._work.instances
        report = StepReport(rules.step.owner, "counting")
        closed = self._closed_by(rules)
        gone: dict[str, Numbers] = {}
        if closed is not None and isinstance(rules, StepRules):
            report.strategy = closed.module.name
            self._follow_closure(rules, closed)
        elif isinstance(rules, AggregateRules):
            report.strategy = "aggregate"
            gone = maintain_groups(rules, self._transaction)
        elif not rules.step.recursive:
            run = derive_with_counts if new_rules else maintain_by_counting
            gone = run(rules, self._transaction)
        else:
            report.strategy = "delete and rederive"
            step = RecursiveStep(rules, self._transaction, report)
            start = step.delete(removed)
            step.insert(start, [rules.whole[rule.name] for rule in new_rules])
        self._ask_earlier(gone, recursive)
        report.instances = self._work.instances - instances
        report.seconds = time.perf_counter() - started
        return report

    def _ask_earlier(self, gone: dict[str, Numbers], recursive: dict[str, list[StepRules]]) -> None:
        """A recursive step that came earlier may derive what has just lost its last support: it never said so.

        Its rules do not use such a fact, or it would have come later: one look is enough.
        """
        for name, numbers in gone.items():
            for rules in recursive.get(name, ()) if len(numbers) and name not in self._transaction.closed else ():
                maintained = self._transaction.relation(name, rules.step.heads[name])
                step = RecursiveStep(rules, self._transaction, StepReport(rules.step.owner, "rederive"))
                step.rederive({name: maintained.rows(numbers)})


def _rules_of(step: Step) -> RulesOfStep:
    return AggregateRules(step) if isinstance(step, AggregateStep) else StepRules(step)


def _heir(step: Step, heir_of_rule: dict[str, RuleStep]) -> RuleStep | None:
    """The recursive step that goes on with all rules that are left of a step; None where there is no such step."""
    if not isinstance(step, RuleStep):
        return None
    heirs = {heir_of_rule[rule.name].owner: heir_of_rule[rule.name] for rule in step.rules if rule.name in heir_of_rule}
    if len(heirs) != 1:
        return None
    (heir,) = heirs.values()
    by_name = {rule.name: rule for rule in heir.rules}
    is_same = all(by_name.get(rule.name, rule) == rule for rule in step.rules)
    return heir if heir.recursive and is_same else None


def steps_in_order(graph: RuleGraph) -> tuple[Step, ...]:
    """The steps of all hyper-nodes, auxiliary ones before the rules that use them."""
    return tuple(step for node in graph.hyper_nodes for step in steps_of_node(graph, node))


def steps_of_node(graph: RuleGraph, node: HyperNode) -> Iterable[Step]:
    rules: list[NormalRule] = []
    for name in node.rules:
        auxiliary, rule = steps_of_rule(normalise(graph.rules[name]))
        yield from auxiliary
        rules.append(rule)
    yield RuleStep(str(node), tuple(rules), graph.is_recursive(node), modules_of(graph, node))
