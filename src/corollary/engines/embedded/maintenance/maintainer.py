"""One transaction from beginning to end: support of facts and rules changes, then step by step what follows from it."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from traceback import clear_frames

from corollary.analysis import RuleGraph
from corollary.analysis.lowering import stated_predicates
from corollary.engines.embedded.evaluation import Store
from corollary.engines.embedded.maintenance.aggregates import AggregateRules
from corollary.engines.embedded.maintenance.closed_predicate import (
    ClosedPredicate,
    DoesNotFit,
    closure_module,
    disclosed,
    enclosed,
)
from corollary.engines.embedded.maintenance.journal import (
    SupportChange,
    changes_by_enclosing,
    changes_of_closure,
    changes_of_relation,
)
from corollary.engines.embedded.maintenance.maintained_relation import MaintainedRelation, distinct
from corollary.engines.embedded.maintenance.outcome import FactChange, OneSide, Outcome, Written, by_node, sides_of
from corollary.engines.embedded.maintenance.recompute import direction, recompute, recount
from corollary.engines.embedded.maintenance.recursive_step import Found, Task, adopt
from corollary.engines.embedded.maintenance.replacement import Enclosed, ReplacedByClosure
from corollary.engines.embedded.maintenance.rule_changes import (
    RuleChange,
    change_steps,
    orders_texts,
)
from corollary.engines.embedded.maintenance.stated import StatedFacts
from corollary.engines.embedded.maintenance.step_rules import StepRules
from corollary.engines.embedded.maintenance.strategies import Strategy
from corollary.engines.embedded.maintenance.transaction import EXPLICIT, StepReport, Transaction
from corollary.engines.embedded.runner import Work
from corollary.planning import NormalRule
from corollary.planning.steps import AggregateStep, Step, is_auxiliary
from corollary.program import Query, atoms_of

RulesOfStep = StepRules | AggregateRules
_LARGE_PART = 6  # a closure of which more than this part changes is written out anew


@dataclass(frozen=True)
class _Point:
    """Where a predicate stood within a transaction; `counts` are its changes so far where it had been derived anew."""

    flips: int
    counts: tuple[int, int] | None


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
        cores: int = 1,
    ) -> None:
        self._work = Work(discards_errors=discards_errors, cores=cores)
        self._closes = self._may_close = closed is not None
        self._strategy = strategy
        self.committing: Callable[[Outcome], None] | None = None
        """Called when a transaction is computed; when it raises, the transaction never was. See `support_changes`."""
        self.commits = 0
        """How many transactions have happened."""
        self._carried: list[SupportChange] = []
        self._transaction = Transaction(
            store, self._work, closed if closed is not None else {}, orders_texts=orders_texts
        )
        self._stated = StatedFacts(self._transaction, graph)
        self._set_steps(strategy.steps(graph))

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
    def fact_count(self) -> int:
        """How many facts there are now, also within a transaction."""
        transaction = self._transaction
        total = transaction.store.size - sum(maintained.hidden for maintained in transaction.maintained.values())
        replaced = transaction.replaced.values()
        return total + sum(one.after.size - one.before.visible_count for one in replaced)

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
        rules = next((rules for rules in self._order if rules.step.owner == node), None)
        if rules is None:  # it is part of a larger step
            return self._strategy.recursive_name
        closed = self._closed_by(rules)
        if closed is not None:
            return closed.module.name
        if isinstance(rules, StepRules) and rules.step.alternates:
            return "recompute"
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
        stated = self._stated.predicates
        steps = self._strategy.steps(graph) if graph is not None else None
        if graph is not None and orders_texts(graph):
            self._transaction.order_texts()
        try:
            self._strategy.prepare(self._order, self._transaction)
            outcome = self._changed(facts, graph, steps)
            if self.committing is not None:
                self.committing(outcome)
        except BaseException as error:
            self._order, self._node_of, self._readers = before
            self._stated.predicates = stated
            if isinstance(error, MemoryError):  # what is half done holds the memory that undoing needs
                clear_frames(error.__traceback__)
            self._transaction.roll_back()
            self._strategy.forget()
            if not isinstance(error, DoesNotFit):
                raise
            self._disclose(error.predicate)
            return self.apply(facts, graph, check)
        self._transaction.commit()
        self.commits += 1
        self._carried.clear()
        if graph is not None and self._closes:
            self.enclose()
        outcome.seconds = time.perf_counter() - started
        return outcome

    def follow_by(self, strategy: Strategy, graph: RuleGraph, check: Callable[[], None] = lambda: None) -> None:
        """From now on changes are followed in another way; no fact changes."""
        before = self._strategy, self._closes
        strategy.forget()  # what it knows may be from before the changes that another one has followed
        self._strategy, self._closes = strategy, strategy.follows_closures and self._may_close
        try:
            self.apply(FactChange(), graph, check)
        except BaseException:
            self._strategy, self._closes = before
            raise

    def _changed(self, facts: FactChange, graph: RuleGraph | None, steps: dict[Step, str] | None) -> Outcome:
        outcome = Outcome()
        if steps is not None:
            self._open_but(steps)
        self._change_explicit(facts, outcome)
        if graph is not None:
            self._stated.read(stated_predicates(graph))
        change = RuleChange()
        if steps is not None:
            known = [rules.step for rules in self._order]
            counts, replaces = self._strategy.counts_recursion, self._strategy.replaces
            change = change_steps(known, list(steps), self._transaction, counts=counts, replaces=replaces)
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
        if self.committing is not None:  # a journal is about single facts
            self._transaction.settle(self._transaction.replaced.keys() - self._transaction.closed.keys())
        self._collect(outcome)
        return outcome

    def forget_carried(self) -> None:
        """Somebody has written all support as it is now."""
        self._carried.clear()

    def support_changes(self) -> list[SupportChange]:
        """What the transaction that runs changes in the support of facts, with what was carried along to it."""
        closed = self._transaction.closed
        found = list(self._carried)
        for rules in self._order:
            closing = self._closed_by(rules)
            if closing is not None:
                found += changes_of_closure(closing, rules.step.owner)
        for name, maintained in self._transaction.maintained.items():
            if name not in closed:
                found += changes_of_relation(name, maintained)
        return found

    def _collect(self, outcome: Outcome) -> None:
        replaced = self._transaction.replaced
        for name, replacement in replaced.items():
            if not is_auxiliary(name) and name not in self._transaction.closed:
                outcome.add(name, *sides_of(replacement))
        for name, closed in self._transaction.closed.items():
            if closed.change is not None:
                change = closed.change
                outcome.add(name, OneSide(change, change.deleted), OneSide(change, change.inserted))
        for name, maintained in self._transaction.maintained.items():
            if not maintained.is_touched or is_auxiliary(name) or name in replaced:
                continue
            if name not in self._transaction.closed:
                outcome.add(name, *map(Written, maintained.difference()))

    def _change_explicit(self, facts: FactChange, outcome: Outcome) -> None:
        """Insertions come last and win: a fact that is deleted and inserted is there."""
        for predicate, rows in facts.delete.items():
            maintained = self._transaction.supported(predicate, rows.shape[1])
            numbers = distinct(maintained.locate(rows))
            numbers = numbers[maintained.support(EXPLICIT, numbers) > 0]
            maintained.change_support(EXPLICIT, numbers, -1)
            self._stated.change(predicate, maintained, numbers, -1)
            outcome.explicit_deleted += len(numbers)
        for predicate, rows in facts.insert.items():
            maintained = self._transaction.supported(predicate, rows.shape[1])
            numbers = distinct(maintained.place(rows))
            numbers = numbers[maintained.support(EXPLICIT, numbers) == 0]
            maintained.change_support(EXPLICIT, numbers, 1)
            self._stated.change(predicate, maintained, numbers, 1)
            outcome.explicit_inserted += len(numbers)

    # -- closures ----------------------------------------------------------------------------------------------------

    def _open_but(self, wanted: dict[Step, str]) -> None:
        """Rules are about to change: what closes a predicate may go on only if it stays as it is."""
        for rules in self._order:
            closed = self._closed_by(rules)
            if closed is not None and rules.step not in wanted:
                # Who keeps a journal wants to know what the step has supported pair by pair.
                before = disclosed(closed, rules.step.owner) if self.committing is not None else None
                self._transaction.open(closed.predicate, before)

    def _disclose(self, predicate: str) -> None:
        (rules,) = (rules for rules in self._order if self._closes_predicate(rules, predicate))
        self._transaction.disclose(predicate, disclosed(self._transaction.closed[predicate], rules.step.owner))
        if self._strategy.counts_recursion and isinstance(rules, StepRules):
            recount(rules, self._transaction)
            maintained = self._transaction.relation(predicate, 2)
            self._carried += changes_of_relation(predicate, maintained)
            maintained.commit()

    def _enclose_new(self, task: Task) -> bool:
        """Closes a predicate by a step with new rules, without running one of them; False where that is not possible."""
        module, owner = closure_module(task.rules.step.modules) if self._closes else None, task.rules.step.owner
        if module is None or module.predicate is None:
            return False
        transaction = self._transaction
        may_delete, may_insert = direction(task)
        external, universe = transaction.untouched_external(module.predicate), transaction.store.universe
        step = transaction.current(module.step, 2).facts if module.step is not None else None
        try:
            if external is not None:
                before = transaction.replaced[module.predicate].before
                closed = ClosedPredicate(module, external, step, universe)
            else:
                before = transaction.relation(module.predicate, 2)
                closed = enclosed(module, owner, before, step, universe)
        except DoesNotFit:
            return False
        started_from = external.relation if external is not None else None
        after = Enclosed(before, closed.relation(), owner, started_from, may_delete=may_delete, may_insert=may_insert)
        transaction.enclose_at_commit(module.predicate, closed, after)
        task.report.strategy, task.report.reason = module.name, "its rules are new"
        return True

    def enclose(self) -> None:
        """What hyper-nodes close is kept as closures from now on: after new rules, and after a store was opened."""
        for rules in self._order:
            module = closure_module(rules.step.modules) if isinstance(rules, StepRules) else None
            if module is not None and module.predicate is not None and module.predicate not in self._transaction.closed:
                maintained = self._transaction.relation(module.predicate, 2)
                step = self._transaction.visible(module.step) if module.step is not None else None
                with contextlib.suppress(DoesNotFit):
                    closed = enclosed(module, rules.step.owner, maintained, step, self._transaction.store.universe)
                    if self.committing is not None:
                        self._carried += changes_by_enclosing(module.predicate, rules.step.owner, maintained)
                    self._transaction.enclose(module.predicate, closed)

    def _closes_predicate(self, rules: RulesOfStep, predicate: str) -> bool:
        module = closure_module(rules.step.modules) if isinstance(rules, StepRules) else None
        return module is not None and module.predicate == predicate

    def closing_owner(self, predicate: str) -> str:
        """The owner of the step that closes a closed predicate."""
        (owner,) = (rules.step.owner for rules in self._order if self._closes_predicate(rules, predicate))
        return owner

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
            return
        replacement = ReplacedByClosure(maintained, closed.relation(), found)
        if self._strategy.replaces and found.count * _LARGE_PART > maintained.visible_count:
            transaction.replace(predicate, replacement)
        else:
            replacement.settle()

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
        return any(map(self._has_other_support, rules.heads))

    def _has_other_support(self, head: str) -> bool:
        """Whether facts have lost support, or have got some that a strategy with facts of its own does not know of."""
        if head in self._transaction.replaced:
            return self._transaction.replaced[head].may_delete
        maintained = self._transaction.maintained.get(head)
        if maintained is None:
            return False
        return maintained.has_lost or (self._strategy.keeps_facts and bool(maintained.counts_before))

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
            closing = frozenset[NormalRule]().union(*(change.closed.get(name, ()) for name in rules.heads))
            task = Task(rules, transaction, report, new, removed, recursive, closing)
            if not rules.step.recursive:
                self._ask_earlier(strategy.nonrecursive(task), recursive)
            elif rules.step.alternates:
                report.strategy, report.reason = "recompute", "its rules run by turns"
                recompute(task)
            elif owner not in change.new or not self._enclose_new(task):
                strategy.recursive(task)
        for name, point in points.items():
            deleted, inserted = self._changes_since(name, point)
            report.deleted += deleted
            report.inserted += inserted
        report.instances = self._work.instances - instances
        report.seconds = time.perf_counter() - started
        return report

    def _points(self, rules: RulesOfStep) -> dict[str, _Point]:
        """Where the heads of a step stand before it; a closed predicate tells its changes itself, and auxiliary ones need not."""
        maintained, replaced = self._transaction.maintained, self._transaction.replaced
        found = {}
        for name in rules.heads:
            if not is_auxiliary(name) and name not in self._transaction.closed:
                known = maintained.get(name)
                is_opened = name in self._transaction.opened  # all of it will count as what the step derives
                counts = (0, 0) if is_opened else replaced[name].counts if name in replaced else None
                found[name] = _Point(known.flips() if known is not None else 0, counts)
        return found

    def _changes_since(self, name: str, point: _Point) -> tuple[int, int]:
        """How many facts of a head have gone and come since a point."""
        transaction = self._transaction
        maintained, replaced = transaction.maintained.get(name), transaction.replaced.get(name)
        if replaced is None:
            return maintained.changed_since(point.flips) if maintained is not None else (0, 0)
        deleted, inserted = replaced.counts
        earlier = point.counts or tuple(map(len, replaced.before.difference()))
        return max(0, deleted - earlier[0]), max(0, inserted - earlier[1])

    def _ask_earlier(self, gone: Found, recursive: dict[str, list[StepRules]]) -> None:
        """A recursive step that came earlier may derive what has just lost its last support: it never said so."""
        for name, numbers in gone.items():
            for rules in recursive.get(name, ()) if len(numbers) and name not in self._transaction.closed else ():
                adopt(rules, name, numbers, self._transaction)


def _rules_of(step: Step) -> RulesOfStep:
    return AggregateRules(step) if isinstance(step, AggregateStep) else StepRules(step)
