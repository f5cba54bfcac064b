"""The steps of maintenance: the rules of a hyper-node, preceded by each aggregation that they use.

An aggregation gets an auxiliary predicate with a row of groups and results for each group. It is derived and stored
like any other predicate, so that a change finds the rows of the groups it touches. An existential negation
(`not q(X, _)`) needs none: which X have a fact is looked up among the facts before and after the transaction.
"""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2s
from itertools import count

from corollary.analysis import HyperNode, Module, ModuleKind, RuleGraph, modules_of
from corollary.analysis.modules import decomposition_of
from corollary.engines.spark.strategies.jobs import NodeJob
from corollary.planning import AggregateSource, NormalBody, NormalRule, normalise
from corollary.planning.normal_form import alternates
from corollary.planning.steps import RuleStep, steps_of_rule
from corollary.program import Atom, Variable, Wildcard
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
        splitter = _Splitter(normalise(graph.rules[name]), node, discards_errors)
        rules.append(splitter.rule())
        steps += splitter.steps
    recursive = graph.is_recursive(node)
    modules = () if recursive and alternates(rules) else modules_of(graph, node)
    job = NodeJob(
        node, tuple(rules), modules, recursive, decomposition_of(graph, node), discards_errors,
        counts=not recursive,
    )  # fmt: skip
    return [*steps, SparkStep(job)]


class _Splitter:
    """Takes the aggregations out of a rule."""

    def __init__(self, rule: NormalRule, node: HyperNode, discards_errors: bool) -> None:
        self._rule = rule
        self._node = node
        self._discards_errors = discards_errors
        self.steps: list[SparkStep] = []

    def rule(self) -> NormalRule:
        body = self._without_aggregations(self._rule.body)
        return NormalRule(self._rule.name, self._rule.head, without_wildcards(body))

    def _without_aggregations(self, body: NormalBody) -> NormalBody:
        sources = tuple(self._groups(one) if isinstance(one, AggregateSource) else one for one in body.sources)
        return NormalBody(sources, body.negated, body.computes, body.compares)

    def _groups(self, source: AggregateSource) -> Atom:
        inner = AggregateSource(self._without_aggregations(source.body), source.group_by, source.operations)
        name = f"\0{self._rule.name} groups {len(self.steps) + 1}\0{_digest(inner)}"
        head = Atom(name, tuple(Variable(column) for column in inner.columns))
        rule = NormalRule(name, head, NormalBody((inner,), (), (), ()))
        job = NodeJob(
            HyperNode((name,)), (rule,), (Module(ModuleKind.NONRECURSIVE, (name,)),), recursive=False,
            discards_errors=self._discards_errors, part_of=self._node,
        )  # fmt: skip
        self.steps.append(SparkStep(job, inner))
        return head


def without_wildcards(body: NormalBody) -> NormalBody:
    """Return the body with every `_` of an atom as a variable of its own, so that each matching fact is one instance."""
    numbers = count()
    sources = []
    for source in body.sources:
        if isinstance(source, Atom):
            arguments = (
                Variable(f" _{next(numbers)}") if isinstance(one, Wildcard) else one for one in source.arguments
            )
            source = Atom(source.predicate, tuple(arguments))
        sources.append(source)
    return NormalBody(tuple(sources), body.negated, body.computes, body.compares)


def _digest(source: AggregateSource) -> str:
    return blake2s(repr(source).encode(), digest_size=8).hexdigest()
