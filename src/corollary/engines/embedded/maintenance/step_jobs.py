"""Runs the rules of a step over the facts after the transaction: beside what is there, in place, or to count their instances."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from corollary.engines.embedded.evaluation import Evaluation, RelationStore
from corollary.engines.embedded.maintenance.maintained_relation import GONE, Numbers
from corollary.engines.embedded.maintenance.transaction import EmbeddedTransaction
from corollary.engines.embedded.relations.relation import Relation, facts_of, relation_of
from corollary.engines.embedded.values.aggregation import aggregate_rows
from corollary.planning.steps import AggregateStep, is_auxiliary
from corollary.reasoning.maintain.recompute import Direction
from corollary.reasoning.maintain.step_rules import StepForms, StepRules, atoms_of_rule
from corollary.reasoning.maintain.transaction import Task

Found = dict[str, Numbers]
"""Numbers of rows by predicate."""
_COUNT = "count"
_NOBODY = np.empty(0, np.int64)


def derive_beside(task: Task, transaction: EmbeddedTransaction, direction: Direction) -> None:
    step = task.rules.step
    store = _inputs(task, transaction)
    store.counted = not step.recursive
    others = {name: transaction.others(name, arity, step.owner) for name, arity in task.rules.heads.items()}
    for name, relation in others.items():
        store.relations[name] = relation_of(relation.facts) if step.recursive else relation
    evaluation = Evaluation(store, transaction.work)
    with transaction.work.counting(_facts_with(task, transaction, store)):
        report = evaluation.evaluate(step.rules, step.modules, recursive=step.recursive, owner=step.owner)
    task.report.rounds += report.rounds if step.recursive else 0
    for name, relation in others.items():
        found = store.relations[name]
        after = _with_support(found, relation, step.owner) if step.recursive else found
        transaction.set_recomputed(name, after, direction)


def can_go_on(step: StepForms, transaction: EmbeddedTransaction) -> bool:
    """Whether the rounds of a step can begin with facts that are there, and end before a fixpoint."""
    return Evaluation(RelationStore(), transaction.work).can_go_on(step.rules.step.rules, step.rules.step.modules)


def go_on_beside(task: Task, transaction: EmbeddedTransaction, last: Found, direction: Direction) -> None:
    """Copy what is there; the rounds are those of a first materialisation."""
    step = task.rules.step
    store = _inputs(task, transaction)
    evaluation = Evaluation(store, transaction.work)
    starts, known = {}, {}
    for name, arity in task.rules.heads.items():
        maintained = transaction.relation(name, arity)
        is_old = (maintained.flags[: maintained.relation.size] & GONE) == 0
        new = last.get(name, _NOBODY)  # the last round may have brought facts of other heads only
        is_old[new] = False
        known[name] = np.concatenate((np.flatnonzero(is_old), new))
        store.relations[name] = relation_of(maintained.rows(known[name]))
        starts[name] = len(known[name]) - len(new)
    with transaction.work.counting(_facts_with(task, transaction, store)):
        task.report.rounds += evaluation.go_on(step.rules, starts).rounds
    for name, arity in task.rules.heads.items():
        before, after = transaction.relation(name, arity).relation, store.relations[name]
        after.number_rows()
        for owner in before.owners:
            after.support_of(owner)[: len(known[name])] = before.support_of(owner)[known[name]]
        after.mark(step.owner, len(known[name]))
        transaction.set_recomputed(name, after, direction)


def _with_support(found: Relation, others: Relation, owner: str) -> Relation:
    """Return the facts that a recursive step derives, with its own support; `others` are the facts of other owners."""
    known = others.size
    if not np.array_equal(found.facts[:known], others.facts):  # a closure has its own order
        rows = found.facts
        found = relation_of(np.concatenate([others.facts, rows[~others.contains(rows)]]))
    found.number_rows()
    for other in others.owners:
        found.support_of(other)[:known] = others.support_of(other)[:known]
    found.mark(owner, known)
    return found


def recount(rules: StepRules, transaction: EmbeddedTransaction) -> Found:
    """Set the support of a step to the instances of its rules over the facts that are visible now; return the rows that this
    left without support."""
    gone = {}
    for name, arity in rules.heads.items():
        found = Relation(arity, counted=True)
        for rule in rules.step.rules:
            if rule.head.predicate == name:
                transaction.views.run(rules.whole[rule.name], found, _COUNT)
        maintained = transaction.supported(name, arity)
        numbers = maintained.place(facts_of(found))
        gone[name] = maintained.set_support(rules.step.owner, numbers, found.support_of(_COUNT)[: len(numbers)])
    return gone


def derive_in_place(task: Task, transaction: EmbeddedTransaction) -> None:
    step = task.rules.step
    store = _inputs(task, transaction)
    for name, arity in task.rules.heads.items():
        maintained = transaction.relation(name, arity)
        store.relations[name] = relation_of(maintained.rows(maintained.supported_by_others(step.owner, GONE)))
    evaluation = Evaluation(store, transaction.work)
    with transaction.work.counting(_facts_with(task, transaction, store)):
        report = evaluation.evaluate(step.rules, step.modules, recursive=True, owner=step.owner)
    task.report.rounds += report.rounds
    for name, arity in task.rules.heads.items():
        maintained = transaction.relation(name, arity)
        numbers = maintained.place(facts_of(store.relations[name]))
        own = numbers[maintained.external_support(step.owner, numbers) == 0]
        maintained.set_support(step.owner, own, 1)


def _facts_with(task: Task, transaction: EmbeddedTransaction, store: RelationStore) -> Callable[[], int]:
    """The number of facts where those of the step's heads are the ones in a store; a later step may take what others have."""
    heads = {name: arity for name, arity in task.rules.heads.items() if not is_auxiliary(name)}
    if not transaction.work.run.counts_facts:
        return lambda: 0
    others = transaction.work.facts()
    for name, arity in heads.items():
        _, inserted, left = transaction.change_of(name, arity)
        others += transaction.unsettled.get(name, 0) - left - inserted - store.relations[name].size
    return lambda: others + sum(store.relations[name].size for name in heads)


def _inputs(task: Task, transaction: EmbeddedTransaction) -> RelationStore:
    """The current facts that other steps derive."""
    store = RelationStore()
    store.universe = transaction.store.universe
    arities = {atom.predicate: atom.arity for rule in task.rules.step.rules for atom in atoms_of_rule(rule)}
    for name, arity in arities.items():
        if name not in task.rules.heads:
            store.relations[name] = transaction.current(name, arity)
    return store


def derive_groups(step: StepForms, transaction: EmbeddedTransaction) -> None:
    """All groups of an aggregation."""
    aggregation, universe = step.step, transaction.store.universe
    assert isinstance(aggregation, AggregateStep)
    bindings = facts_of(transaction.current(aggregation.bindings, len(aggregation.names)))
    columns = {name: place for place, name in enumerate(aggregation.names)}
    found = facts_of(aggregate_rows(bindings, columns, aggregation.group_by, aggregation.operations, universe))
    after = Relation(found.shape[1], universe.code_bits, counted=True)
    after.append_distinct(np.ascontiguousarray(found), step.owner)
    transaction.set_recomputed(aggregation.result, after)
