"""One transaction from beginning to end: support of facts and rules changes, then step by step what follows from it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from corollary.analysis import HyperNode, RuleGraph
from corollary.engines.embedded.evaluation import Store
from corollary.engines.embedded.maintenance.aggregates import AggregateRules, maintain_groups
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


@dataclass
class FactChange:
    """Explicit facts to delete and to insert, as distinct rows by predicate; what is in both is inserted."""

    delete: dict[str, Codes] = field(default_factory=dict)
    insert: dict[str, Codes] = field(default_factory=dict)


@dataclass
class Outcome:
    """The visible facts that a transaction took and brought, and what it cost."""

    deleted: dict[str, Codes] = field(default_factory=dict)
    inserted: dict[str, Codes] = field(default_factory=dict)
    steps: list[StepReport] = field(default_factory=list)
    explicit_deleted: int = 0
    explicit_inserted: int = 0
    seconds: float = 0.0


class Maintainer:
    """Keeps the relations of a store exact. The store was materialised by the same steps, with counts."""

    def __init__(self, store: Store, graph: RuleGraph, *, orders_texts: bool, discards_errors: bool) -> None:
        self._work = Work(discards_errors=discards_errors)
        self._transaction = Transaction(store, self._work, Ordering(store.universe, texts=orders_texts))
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
        try:
            outcome = self._changed(facts, graph)
        except BaseException:
            self._graph, self._order = before
            self._transaction.roll_back()
            raise
        self._transaction.commit()
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
        for name, maintained in self._transaction.maintained.items():
            if not is_auxiliary(name):
                deleted, inserted = maintained.difference()
                if len(deleted):
                    outcome.deleted[name] = deleted
                if len(inserted):
                    outcome.inserted[name] = inserted
        return outcome

    def _change_explicit(self, facts: FactChange, outcome: Outcome) -> None:
        """Insertions come last and win: a fact that is deleted and inserted is there."""
        for predicate, rows in facts.delete.items():
            maintained = self._transaction.relation(predicate, rows.shape[1])
            numbers = np.unique(maintained.locate(rows))
            numbers = numbers[maintained.support(EXPLICIT, numbers) > 0]
            maintained.change_support(EXPLICIT, numbers, -1)
            outcome.explicit_deleted += len(numbers)
        for predicate, rows in facts.insert.items():
            maintained = self._transaction.relation(predicate, rows.shape[1])
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
            maintained = self._transaction.relation(name, arity)
            if heir is not None and name in heir.heads:
                maintained.transfer(step.owner, heir.owner)
            else:
                maintained.withdraw(step.owner)

    # -- steps -------------------------------------------------------------------------------------------------------

    def _is_affected(self, rules: RulesOfStep) -> bool:
        changed = self._transaction.has_changed
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
        if isinstance(rules, AggregateRules):
            report.strategy = "aggregate"
            gone = maintain_groups(rules, self._transaction)
        elif not rules.step.recursive:
            run = derive_with_counts if new_rules else maintain_by_counting
            gone = run(rules, self._transaction)
        else:
            report.strategy, gone = "delete and rederive", {}
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
            for rules in recursive.get(name, ()) if len(numbers) else ():
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
    yield RuleStep(str(node), tuple(rules), graph.is_recursive(node))
