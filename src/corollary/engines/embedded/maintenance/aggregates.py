"""Aggregates, group by group: only groups that got or lost a binding are looked at again."""

from __future__ import annotations

import numpy as np

from corollary.engines.embedded.aggregation import aggregate_rows
from corollary.engines.embedded.maintenance.maintained_relation import Numbers
from corollary.engines.embedded.maintenance.transaction import Transaction, facts_of
from corollary.engines.embedded.relation import Codes, Relation
from corollary.planning import NormalBody, NormalRule
from corollary.planning.deltas import AFTER, BEFORE, CHANGING
from corollary.planning.steps import AggregateStep
from corollary.program import Atom, Variable


class AggregateRules:
    """The bindings and the results of given groups, as rules."""

    def __init__(self, step: AggregateStep) -> None:
        self.step = step
        self.heads = step.heads
        self.inputs = frozenset([step.bindings])
        columns = (*step.group_by, *(operation.result.name for operation in step.operations))
        self.bindings = _of_groups(step, AFTER + step.bindings, step.names)
        self.results = _of_groups(step, BEFORE + step.result, columns)

    @property
    def groups(self) -> str:
        return CHANGING + self.step.owner


def _of_groups(step: AggregateStep, predicate: str, names: tuple[str, ...]) -> NormalRule:
    variables = tuple(Variable(name) for name in names)
    groups = Atom(CHANGING + step.owner, tuple(Variable(name) for name in step.group_by))
    body = NormalBody((groups, Atom(predicate, variables)), (), (), ())
    return NormalRule(step.owner, Atom("", variables), body)


def touched_groups(rules: AggregateRules, transaction: Transaction) -> Codes:
    """The groups that got or lost a binding."""
    step = rules.step
    places = [step.names.index(name) for name in step.group_by]
    touched = Relation(len(places), counted=True)
    for facts in transaction.difference(step.bindings, len(step.names)):
        touched.insert(np.ascontiguousarray(facts[:, places]))
    return facts_of(touched)


def maintain_groups(rules: AggregateRules, transaction: Transaction, touched: Codes) -> dict[str, Numbers]:
    """Aggregates these groups; gives the rows of results that are no more."""
    step, views = rules.step, transaction.views
    if not views.set_delta(rules.groups, touched):
        return {}
    bindings = Relation(len(step.names), counted=True)
    views.run(rules.bindings, bindings)
    universe = views.universe
    columns = {name: place for place, name in enumerate(step.names)}
    now = facts_of(aggregate_rows(facts_of(bindings), columns, step.group_by, step.operations, universe))
    return {step.result: _replace(rules, now, transaction)}


def _replace(rules: AggregateRules, now: Codes, transaction: Transaction) -> Numbers:
    owner, arity = rules.step.owner, now.shape[1]
    known = Relation(arity, counted=True)
    transaction.views.run(rules.results, known)
    maintained = transaction.relation(rules.step.result, arity)
    before, after = maintained.place(facts_of(known)), maintained.place(now)
    gone = maintained.change_support(owner, np.setdiff1d(before, after), -1)
    maintained.change_support(owner, np.setdiff1d(after, before), 1)
    return gone
