"""The first materialisation of a hyper-node that will be maintained: step by step, with counts."""

from __future__ import annotations

import numpy as np

from corollary.analysis import HyperNode, Module, RuleGraph
from corollary.analysis.lowering import stated_predicates
from corollary.engines.embedded.evaluation import Evaluation, RelationStore, Report
from corollary.engines.embedded.maintenance.changing_facts import explicit_rows
from corollary.engines.embedded.maintenance.closed_predicate import ClosedPredicate, DoesNotFit, closure_module
from corollary.engines.embedded.maintenance.maintained_relation import MaintainedRelation
from corollary.engines.embedded.relations.relation import facts_of
from corollary.engines.embedded.values.aggregation import aggregate_rows
from corollary.planning.steps import AggregateStep, RuleStep, Step
from corollary.reasoning.maintain.chooser import Strategy
from corollary.reasoning.maintain.steps import steps_of_node


def evaluate_node(
    evaluation: Evaluation,
    graph: RuleGraph,
    node: HyperNode,
    closed: dict[str, ClosedPredicate] | None,
    strategy: Strategy,
) -> Report:
    """Adds everything that a hyper-node derives, with the facts of its auxiliary predicates, to the evaluation's store.

    A predicate that the hyper-node closes goes to `closed`; None forbids that.
    """
    total = Report("")
    for step in steps_of_node(graph, node):
        if isinstance(step, AggregateStep):
            _aggregate(evaluation, step)
            continue
        module = closure_module(step.modules) if closed is not None else None
        if closed is not None and module is not None and _close(evaluation.store, module, step.owner, closed):
            total.strategy = module.name
            continue
        report = evaluation.evaluate(step.rules, step.modules, recursive=step.recursive, owner=step.owner)
        strategy.note_cost(step.owner, report.instances)
        if step.recursive and strategy.counts_instances(step):
            _count(evaluation, step)
        total.strategy, total.rounds = report.strategy or total.strategy, max(total.rounds, report.rounds)
        total.instances += report.instances
        total.plans |= report.plans
    return total


def add_explicit_predicates(store: RelationStore, graph: RuleGraph) -> None:
    """Adds the explicit facts that rules read under their own names."""
    for name, atom in stated_predicates(graph).items():
        known = store.relations.get(atom.predicate)
        if known is not None:
            owner = name if store.counted else None
            store.relation(name, atom.arity).append_distinct(explicit_rows(known), owner)


def evaluate_auxiliary(evaluation: Evaluation, step: Step) -> None:
    """The facts of one auxiliary predicate, from those of all others."""
    if isinstance(step, AggregateStep):
        _aggregate(evaluation, step)
    else:
        evaluation.evaluate(step.rules, step.modules, recursive=False, owner=step.owner)


def _count(evaluation: Evaluation, step: RuleStep) -> None:
    """Counts the instances of a recursive step once its fixpoint is reached: rounds may try one more than once."""
    for name, arity in step.heads.items():
        evaluation.store.relation(name, arity).support_of(step.owner)[:] = 0
    evaluation.evaluate(step.rules, (), recursive=False, owner=step.owner)


def _close(store: RelationStore, module: Module, owner: str, closed: dict[str, ClosedPredicate]) -> bool:
    """Closes a predicate; False where the closure does not fit its facts."""
    assert module.predicate is not None
    external = store.relation(module.predicate, 2)
    step = store.relation(module.step, 2).facts if module.step is not None else None
    try:
        found = ClosedPredicate(module, owner, MaintainedRelation(external, owner), step, store.universe)
    except DoesNotFit:
        return False
    closed[module.predicate] = found
    store.relations[module.predicate] = found.relation()
    return True


def _aggregate(evaluation: Evaluation, step: AggregateStep) -> None:
    store = evaluation.store
    bindings = facts_of(store.relation(step.bindings, len(step.names)))
    columns = {name: place for place, name in enumerate(step.names)}
    found = facts_of(aggregate_rows(bindings, columns, step.group_by, step.operations, store.universe))
    arity = step.heads[step.result]
    store.relation(step.result, arity).append_distinct(np.ascontiguousarray(found), step.owner)
