"""Deriving the facts of a step anew from its inputs: where most of them change, that is cheaper than following each.

The rules run as in a first materialisation, beside the maintained relations; the difference is what the step passes on.
"""

from __future__ import annotations

import numpy as np

from corollary.engines.embedded.aggregation import aggregate_rows
from corollary.engines.embedded.evaluation import Evaluation, Store
from corollary.engines.embedded.maintenance.aggregates import AggregateRules
from corollary.engines.embedded.maintenance.maintained_relation import GONE
from corollary.engines.embedded.maintenance.recursive_step import Found, Task, adopt
from corollary.engines.embedded.maintenance.step_rules import StepRules, atoms_of_rule
from corollary.engines.embedded.maintenance.transaction import Transaction, facts_of
from corollary.engines.embedded.relation import Codes, Relation

_COUNT = "count"


def recompute(task: Task) -> Found:
    """Replaces what a step supports by what its rules derive now; gives the rows that nobody supports any more."""
    if not task.rules.step.recursive:
        return recount(task.rules, task.transaction)
    for name, earlier in task.earlier.items():
        for rules in earlier if name in task.rules.heads else ():
            maintained = task.transaction.relation(name, rules.heads[name])
            own = np.flatnonzero(maintained.relation.support_of(task.rules.step.owner)[: maintained.relation.size])
            adopt(rules, name, own, task.transaction)
    return _run_to_fixpoint(task)


def recount(rules: StepRules, transaction: Transaction) -> Found:
    """Counts the instances of a step's rules over the facts that are visible now, and sets its support to that."""
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


def _run_to_fixpoint(task: Task) -> Found:
    step, transaction = task.rules.step, task.transaction
    store = Store()
    store.universe = transaction.store.universe
    arities = {atom.predicate: atom.arity for rule in step.rules for atom in atoms_of_rule(rule)}
    for name, arity in arities.items():
        if name not in task.rules.heads:
            store.relations[name] = _visible(transaction, name, arity)
    for name, arity in task.rules.heads.items():
        maintained = transaction.relation(name, arity)
        store.relations[name] = _relation_of(maintained.rows(maintained.supported_by_others(step.owner, GONE)))
    evaluation = Evaluation(store, transaction.work, orders_texts=transaction.orders_texts)
    report = evaluation.evaluate(step.rules, step.modules, recursive=True, owner=step.owner)
    task.report.rounds += report.rounds
    gone = {}
    for name, arity in task.rules.heads.items():
        maintained = transaction.relation(name, arity)
        numbers = maintained.place(facts_of(store.relations[name]))
        own = numbers[maintained.external_support(step.owner, numbers) == 0]
        gone[name] = maintained.set_support(step.owner, own, 1)
    return gone


def recompute_groups(rules: AggregateRules, transaction: Transaction) -> Found:
    """Aggregates all groups anew; gives the rows of results that are no more."""
    step, universe = rules.step, transaction.store.universe
    bindings = facts_of(_visible(transaction, step.bindings, len(step.names)))
    columns = {name: place for place, name in enumerate(step.names)}
    found = facts_of(aggregate_rows(bindings, columns, step.group_by, step.operations, universe))
    maintained = transaction.relation(step.result, found.shape[1])
    numbers = maintained.place(np.ascontiguousarray(found))
    return {step.result: maintained.set_support(step.owner, numbers, 1)}


def _visible(transaction: Transaction, predicate: str, arity: int) -> Relation:
    """A relation with the facts that are visible now; the maintained one itself where it hides nothing."""
    maintained = transaction.maintained.get(predicate)
    if maintained is None or not maintained.hidden:
        return transaction.store.relation(predicate, arity)
    rows = maintained.without(np.arange(maintained.relation.size), GONE)
    return _relation_of(maintained.rows(rows))


def _relation_of(facts: Codes) -> Relation:
    relation = Relation(facts.shape[1])
    if relation.arity:
        relation.append_distinct(facts)
    else:
        relation.size = min(1, len(facts))
    return relation
