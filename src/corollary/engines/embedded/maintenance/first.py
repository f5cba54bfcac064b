"""The first materialisation of a hyper-node that will be maintained: step by step, with counts."""

from __future__ import annotations

import numpy as np

from corollary.analysis import HyperNode, RuleGraph, modules_of
from corollary.engines.embedded.aggregation import aggregate_rows
from corollary.engines.embedded.evaluation import Evaluation, Report
from corollary.engines.embedded.maintenance.maintainer import steps_of_node
from corollary.engines.embedded.maintenance.transaction import facts_of
from corollary.planning.steps import AggregateStep


def evaluate_node(evaluation: Evaluation, graph: RuleGraph, node: HyperNode) -> Report:
    """Adds everything that a hyper-node derives, with the facts of its auxiliary predicates, to the evaluation's store."""
    total = Report("")
    for step in steps_of_node(graph, node):
        if isinstance(step, AggregateStep):
            _aggregate(evaluation, step)
            continue
        modules = modules_of(graph, node) if step.owner == str(node) else []
        report = evaluation.evaluate(step.rules, modules, recursive=step.recursive, owner=step.owner)
        total.strategy, total.rounds = report.strategy or total.strategy, max(total.rounds, report.rounds)
        total.instances += report.instances
        total.plans |= report.plans
    return total


def _aggregate(evaluation: Evaluation, step: AggregateStep) -> None:
    store = evaluation.store
    bindings = facts_of(store.relation(step.bindings, len(step.names)))
    columns = {name: place for place, name in enumerate(step.names)}
    found = facts_of(aggregate_rows(bindings, columns, step.group_by, step.operations, store.universe))
    arity = step.heads[step.result]
    store.relation(step.result, arity).append_distinct(np.ascontiguousarray(found), step.owner)
