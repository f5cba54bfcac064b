"""One transaction from beginning to end: support of facts and rules changes, then step by step what follows from it."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Sequence

from corollary.analysis import RuleGraph
from corollary.engines.embedded.evaluation import Store
from corollary.engines.embedded.maintenance.aggregates import AggregateRules
from corollary.engines.embedded.maintenance.closed_predicate import (
    ClosedPredicate,
    DoesNotFit,
    closure_module,
    disclosed,
    enclosed,
)
from corollary.engines.embedded.maintenance.maintained_relation import MaintainedRelation, distinct
from corollary.engines.embedded.maintenance.outcome import FactChange, OneSide, Outcome, Written, by_node
from corollary.engines.embedded.maintenance.recompute import recount
from corollary.engines.embedded.maintenance.recursive_step import Found, Task, adopt
from corollary.engines.embedded.maintenance.rule_changes import (
    RuleChange,
    change_steps,
    orders_texts,
    steps_in_order,
)
from corollary.engines.embedded.maintenance.step_rules import StepRules
from corollary.engines.embedded.maintenance.strategies import Strategy
from corollary.engines.embedded.maintenance.transaction import EXPLICIT, StepReport, Transaction
from corollary.engines.embedded.runner import Work
from corollary.planning.steps import AggregateStep, Step, is_auxiliary
from corollary.program import Query, atoms_of

RulesOfStep = StepRules | AggregateRules


class Maintainer:
    """Keeps the relations of a store exact. The store was materialised by the same steps, with counts."""

    def __init__(
        self,
        store: Store,
        graph: RuleGraph,
        closed: dict[str, ClosedPredicate] | None,
        strategy: Strategy,
        *,
        orders_texts: bool,
        discards_errors: bool,
    ) -> None:
        self._work = Work(discards_errors=discards_errors)
        self._closes = closed is not None
        self._strategy = strategy
        self._transaction = Transaction(
            store, self._work, closed if closed is not None else {}, orders_texts=orders_texts
        )
        self._set_steps(steps_in_order(graph))

    def _set_steps(self, steps: dict[Step, str], known: Sequence[RulesOfStep] = ()) -> None:
        rules_of = {rules.step: rules for rules in known}
        self._order: Sequence[RulesOfStep] = [rules_of.get(step) or _rules_of(step) for step in steps]
        self._node_of = {step.owner: node for step, node in steps.items()}
        self._readers: dict[str, int] = {}
        for rules in self._order:
            for predicate in rules.inputs:
                self._readers[predicate] = self._readers.get(predicate, 0) + 1

    @property
    def transaction(self) -> Transaction:
        return self._transaction

    def relation(self, predicate: str) -> MaintainedRelation | None:
        """The relation of a predicate that has changed since it was derived."""
        return self._transaction.maintained.get(predicate)

    @property
    def hidden_count(self) -> int:
        """How many rows of all relations are no facts."""
        return sum(maintained.hidden for maintained in self._transaction.maintained.values())

    def has_hidden_rows(self, query: Query) -> bool:
        return bool(self._hidden(query))

    def compact(self, query: Query) -> None:
        """Removes the hidden rows of the predicates of a query: what goes over whole relations may as well."""
        for maintained in self._hidden(query):
            maintained.compact()

    def _hidden(self, query: Query) -> list[MaintainedRelation]:
        found = (self.relation(atom.predicate) for atom, _ in atoms_of(query.body))
        return [maintained for maintained in found if maintained is not None and maintained.hidden]

    def strategy(self, node: str) -> str:
        """How the rules of a hyper-node follow changes as a rule."""
        (rules,) = (rules for rules in self._order if rules.step.owner == node)
        closed = self._closed_by(rules)
        if closed is not None:
            return closed.module.name
        is_recursive = isinstance(rules, StepRules) and rules.step.recursive
        return self._strategy.recursive_name if is_recursive else self._strategy.nonrecursive_name

    # -- transactions ------------------------------------------------------------------------------------------------

    def apply(
        self, facts: FactChange, graph: RuleGraph | None = None, check: Callable[[], None] = lambda: None
    ) -> Outcome:
        """Changes facts and rules together, or raises and leaves everything as it was."""
        started = time.perf_counter()
        self._work.check = check
        before = self._order, self._node_of, self._readers
        steps = steps_in_order(graph) if graph is not None else None
        if graph is not None and steps is not None:
            if orders_texts(graph):
                self._transaction.order_texts()
            self._disclose_but(steps)
        try:
            outcome = self._changed(facts, steps)
        except BaseException as error:
            self._order, self._node_of, self._readers = before
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

    def _changed(self, facts: FactChange, steps: dict[Step, str] | None) -> Outcome:
        outcome = Outcome()
        self._change_explicit(facts, outcome)
        change = RuleChange()
        if steps is not None:
            known = [rules.step for rules in self._order]
            counts = self._strategy.counts_recursion
            change = change_steps(known, list(steps), self._transaction, counts=counts)
            self._set_steps(steps, self._order)
        reports = []
        recursive: dict[str, list[StepRules]] = {}
        for rules in self._order:
            if rules.step.owner in change.new or self._is_affected(rules):
                self._transaction.views.forget_deltas()
                reports.append((self._node_of[rules.step.owner], self._maintain(rules, change, recursive)))
                self._work.check()
            if isinstance(rules, StepRules) and rules.step.recursive and not self._strategy.counts_recursion:
                for name in rules.heads:
                    recursive.setdefault(name, []).append(rules)
        outcome.steps = by_node(reports)
        self._collect(outcome)
        return outcome

    def _collect(self, outcome: Outcome) -> None:
        for name, closed in self._transaction.closed.items():
            if closed.change is not None:
                change = closed.change
                outcome.add(name, OneSide(change, change.deleted), OneSide(change, change.inserted))
        for name, maintained in self._transaction.maintained.items():
            if maintained.is_touched and not is_auxiliary(name) and name not in self._transaction.closed:
                outcome.add(name, *map(Written, maintained.difference()))

    def _change_explicit(self, facts: FactChange, outcome: Outcome) -> None:
        """Insertions come last and win: a fact that is deleted and inserted is there."""
        for predicate, rows in facts.delete.items():
            maintained = self._transaction.supported(predicate, rows.shape[1])
            numbers = distinct(maintained.locate(rows))
            numbers = numbers[maintained.support(EXPLICIT, numbers) > 0]
            maintained.change_support(EXPLICIT, numbers, -1)
            outcome.explicit_deleted += len(numbers)
        for predicate, rows in facts.insert.items():
            maintained = self._transaction.supported(predicate, rows.shape[1])
            numbers = distinct(maintained.place(rows))
            numbers = numbers[maintained.support(EXPLICIT, numbers) == 0]
            maintained.change_support(EXPLICIT, numbers, 1)
            outcome.explicit_inserted += len(numbers)

    # -- closures ----------------------------------------------------------------------------------------------------

    def _disclose_but(self, wanted: dict[Step, str]) -> None:
        """Rules are about to change: what closes a predicate may go on only if it stays as it is."""
        for rules in self._order:
            closed = self._closed_by(rules)
            if closed is not None and rules.step not in wanted:
                self._disclose(closed.predicate)

    def _disclose(self, predicate: str) -> None:
        (rules,) = (rules for rules in self._order if self._closes_predicate(rules, predicate))
        self._transaction.disclose(predicate, disclosed(self._transaction.closed[predicate], rules.step.owner))
        if self._strategy.counts_recursion and isinstance(rules, StepRules):
            recount(rules, self._transaction)
            self._transaction.relation(predicate, 2).commit()

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
        if not isinstance(rules, StepRules) or not rules.step.recursive or not self._transaction.closed:
            return None
        (first, *_) = rules.heads
        return self._transaction.closed.get(first)

    def _follow_closure(self, rules: StepRules, closed: ClosedPredicate, change: RuleChange) -> None:
        transaction, predicate, step = self._transaction, closed.predicate, closed.module.step
        own = predicate in rules.inputs
        is_read = self._readers.get(predicate, 0) > own or predicate in change.read_before
        maintained = transaction.maintained.get(predicate)
        if maintained is None and is_read:
            maintained = transaction.relation(predicate, 2)
        found = closed.update(transaction.difference(step, 2) if step is not None else None)
        if maintained is None:
            transaction.store.relations[predicate] = closed.relation()
        else:
            owner = maintained.relation.owners[0]
            maintained.change_support(owner, maintained.locate(found.deleted.rows()), -1)
            maintained.change_support(owner, maintained.place(found.inserted.rows()), 1)

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
        return any(name in maintained and maintained[name].has_lost for name in rules.heads)

    def _maintain(self, rules: RulesOfStep, change: RuleChange, recursive: dict[str, list[StepRules]]) -> StepReport:
        started, instances = time.perf_counter(), self._work.instances
        transaction, strategy, owner = self._transaction, self._strategy, rules.step.owner
        report = StepReport(owner, "")
        closed = self._closed_by(rules)
        points = self._points(rules)
        if closed is not None and isinstance(rules, StepRules):
            report.strategy = closed.module.name
            self._follow_closure(rules, closed, change)
            if closed.change is not None:
                report.deleted, report.inserted = closed.change.deleted.count, closed.change.inserted.count
        elif isinstance(rules, AggregateRules):
            report.strategy, _ = strategy.groups(rules, transaction)
        else:
            new, removed = change.new.get(owner, []), change.removed.get(owner, [])
            task = Task(rules, transaction, report, new, removed, recursive)
            if rules.step.recursive:
                strategy.recursive(task)
            else:
                self._ask_earlier(strategy.nonrecursive(task), recursive)
        for maintained, point in points:
            deleted, inserted = maintained.changed_since(point)
            report.deleted += deleted
            report.inserted += inserted
        report.instances = self._work.instances - instances
        report.seconds = time.perf_counter() - started
        return report

    def _points(self, rules: RulesOfStep) -> list[tuple[MaintainedRelation, int]]:
        """Where the heads of a step stand before it; a closed predicate tells its changes itself."""
        transaction = self._transaction
        found = [
            transaction.relation(name, arity) for name, arity in rules.heads.items() if name not in transaction.closed
        ]
        return [(maintained, maintained.flips()) for maintained in found]

    def _ask_earlier(self, gone: Found, recursive: dict[str, list[StepRules]]) -> None:
        """A recursive step that came earlier may derive what has just lost its last support: it never said so."""
        for name, numbers in gone.items():
            for rules in recursive.get(name, ()) if len(numbers) and name not in self._transaction.closed else ():
                adopt(rules, name, numbers, self._transaction)


def _rules_of(step: Step) -> RulesOfStep:
    return AggregateRules(step) if isinstance(step, AggregateStep) else StepRules(step)
