"""Aggregates, group by group: only groups that got or lost a binding are looked at again."""

from __future__ import annotations

from corollary.engines.spark.maintenance.change_rows import ChangeRows, summed
from corollary.engines.spark.maintenance.delta_rules import DeltaRules, Wanted
from corollary.engines.spark.maintenance.steps import SparkStep
from corollary.engines.spark.maintenance.versions import Versions
from corollary.planning import AggregateSource, NormalBody, NormalRule
from corollary.planning.deltas import AFTER, BEFORE, CHANGING, whole_rule
from corollary.program import Atom, Variable


def maintain_groups(step: SparkStep, versions: Versions, rules: DeltaRules) -> ChangeRows | None:
    """How the rows of groups and results change; None where they do not."""
    key = (step.owner, step.owner)
    touched = rules.derive([Wanted(key, delta.rule) for delta in (*step.rules.losing, *step.rules.gaining)])
    if key not in touched:
        return None
    versions.changing[step.owner] = summed([touched[key]]).once()
    versions.forget()
    wanted = [Wanted(key, _results_now(step), 1), Wanted(key, _results_before(step), -1)]
    return rules.derive(wanted).get(key)


def _results_now(step: SparkStep) -> NormalRule:
    """The aggregation over the bindings of the touched groups, as they are now."""
    assert step.source is not None
    rule = NormalRule(step.owner, Atom("", ()), step.source.body)
    body = whole_rule(rule, AFTER).body
    groups = _groups(step, step.source)
    inner = NormalBody((groups, *body.sources), body.negated, body.computes, body.compares)
    source = AggregateSource(inner, step.source.group_by, step.source.operations)
    return NormalRule(step.owner, step.job.rules[0].head, NormalBody((source,), (), (), ()))


def _results_before(step: SparkStep) -> NormalRule:
    assert step.source is not None
    head = step.job.rules[0].head
    known = Atom(BEFORE + head.predicate, head.arguments)
    return NormalRule(step.owner, head, NormalBody((_groups(step, step.source), known), (), (), ()))


def _groups(step: SparkStep, source: AggregateSource) -> Atom:
    return Atom(CHANGING + step.owner, tuple(Variable(name) for name in source.group_by))
