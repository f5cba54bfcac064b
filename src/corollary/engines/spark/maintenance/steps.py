"""The steps of maintenance: the rules of a hyper-node, preceded by each aggregation that they use.

An aggregation gets an auxiliary predicate with a row of groups and results for each group. It is derived and stored
like any other predicate, so that a change finds the rows of the groups it touches. An existential negation
(`not q(X, _)`) needs none: which X have a fact is looked up among the facts before and after the transaction.
"""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass
from functools import cached_property

from corollary.analysis import HyperNode, Module, ModuleKind, RuleGraph, modules_of
from corollary.analysis.modules import decomposition_of
from corollary.engines.spark.strategies.jobs import NodeJob
from corollary.planning import AggregateSource, NormalRule, normalise
from corollary.planning.normal_form import alternates
from corollary.planning.steps import RuleStep, steps_of_groups, steps_of_rule
from corollary.program import Atom
from corollary.reasoning.maintain.step_rules import GroupRules, StepRules, stated_by


@dataclass(frozen=True)
class SparkStep:
    """One step; `job` runs its rules over whole relations, `source` is the aggregation of a step of groups."""

    job: NodeJob
    source: AggregateSource | None = None

    @property
    def owner(self) -> str:
        return owner_of(self.job)

    @property
    def identity(self) -> tuple[object, ...]:
        """A key that is equal for equal steps, even from different graphs."""
        return self.owner, self.job.rules, self.recursive

    @property
    def node(self) -> str:
        """The name of the step's hyper-node."""
        return str(self.job.hyper_node)

    @property
    def recursive(self) -> bool:
        return self.job.recursive

    @property
    def alternates(self) -> bool:
        return self.job.alternates

    @property
    def own_rules(self) -> tuple[NormalRule, ...]:
        return self.job.rules if self.source is None else ()

    @property
    def following_rules(self) -> tuple[NormalRule, ...]:
        """The rules in the form used to follow changes: they negate single facts."""
        return self._split[0] if self.source is None else ()

    @property
    def heads(self) -> dict[str, int]:
        return self.job.heads

    @property
    def inputs(self) -> Set[str]:
        return self.job.reads.keys()

    @cached_property
    def groups(self) -> GroupRules | None:
        if self.source is None:
            return None
        return GroupRules(self.owner, self.source, self.job.rules[0].head)

    @cached_property
    def stated(self) -> dict[str, Atom]:
        return stated_by(self.own_rules)

    @cached_property
    def _split(self) -> tuple[tuple[NormalRule, ...], dict[str, NormalRule]]:
        """The rules whose negations are about single facts, and the rules of the auxiliary predicates for that."""
        rules, exists = [], {}
        for rule in self.job.rules if self.groups is None else (self.groups.touching,):
            auxiliary, split = steps_of_rule(rule)
            rules.append(split)
            for step in auxiliary:
                assert isinstance(step, RuleStep)
                exists[step.owner] = step.rules[0]
        return tuple(rules), exists

    @cached_property
    def only_copies(self) -> bool:
        """Whether each rule only selects rows and columns of one relation, which the driver does for a few changes."""
        bodies = [rule.body for rule in self.job.rules]
        return self.source is None and not any(
            len(body.sources) != 1 or body.negated or body.computes or body.compares for body in bodies
        )

    @property
    def exists(self) -> dict[str, NormalRule]:
        return self._split[1]

    @cached_property
    def rules(self) -> StepRules:
        """The rules in every form that maintenance needs; those of an aggregation find the groups of changed bindings."""
        return StepRules(RuleStep(self.owner, self._split[0], self.recursive, self.job.modules))


def owner_of(job: NodeJob) -> str:
    """Return the owner of the facts that a job derives: a hyper-node, or an auxiliary predicate."""
    return str(job.node) if job.part_of is None else job.node.rules[0]


def steps_of_node(graph: RuleGraph, node: HyperNode, *, discards_errors: bool = True) -> list[SparkStep]:
    """Return the steps of a hyper-node in order, its own rules last."""
    steps: list[SparkStep] = []
    rules = []
    for name in node.rules:
        groups, rule = steps_of_groups(normalise(graph.rules[name]))
        steps += [SparkStep(_job_of_groups(groups_rule, node, discards_errors), one) for groups_rule, one in groups]
        rules.append(rule)
    recursive = graph.is_recursive(node)
    modules = () if recursive and alternates(rules) else modules_of(graph, node)
    job = NodeJob(
        node, tuple(rules), modules, recursive, decomposition_of(graph, node), discards_errors,
        counts=not recursive,
    )  # fmt: skip
    return [*steps, SparkStep(job)]


def _job_of_groups(rule: NormalRule, node: HyperNode, discards_errors: bool) -> NodeJob:
    own = HyperNode((rule.name,))
    module = Module(ModuleKind.NONRECURSIVE, (rule.name,))
    return NodeJob(own, (rule,), (module,), recursive=False, discards_errors=discards_errors, part_of=node)
