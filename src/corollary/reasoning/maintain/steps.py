"""The steps of a program in order, made once for each hyper-node and each rule that stays."""

from __future__ import annotations

import operator
from collections.abc import Iterator, Set
from weakref import ref

from corollary.analysis import HyperNode, RuleGraph, modules_of
from corollary.planning import AggregateSource, NormalBody, NormalRule, normalise
from corollary.planning.normal_form import alternates
from corollary.planning.steps import AggregateStep, RuleStep, Step, steps_of_rule
from corollary.program import Atom, Rule, Variable
from corollary.reasoning.maintain.aggregates import GroupRules
from corollary.reasoning.maintain.step_rules import StepRules


class StepForms:
    """A step of the hyper-node `node`, with its rules in every form that following changes needs."""

    def __init__(self, step: Step, node: str) -> None:
        self.step, self.node = step, node
        self.owner, self.heads = step.owner, step.heads
        self.recursive, self.alternates = step.recursive, step.alternates
        self.own_rules, self.following_rules = step.own_rules, step.following_rules
        self.groups: GroupRules | None = None
        self.inputs: Set[str]
        if isinstance(step, AggregateStep):
            self.groups = _groups(step)
            self.rules = StepRules(RuleStep(step.owner, (self.groups.touching,)))
            self.inputs = frozenset([step.bindings])
        else:
            self.rules = StepRules(step)
            self.inputs = self.rules.inputs

    @property
    def identity(self) -> Step:
        """A key that is equal for equal steps, whatever graph they came from."""
        return self.step

    def made(self) -> Iterator[NormalRule]:
        """The forms of rules that have been made so far."""
        yield from self.rules.made()
        if self.groups is not None:
            yield from self.groups.made()


def _groups(step: AggregateStep) -> GroupRules:
    bindings = Atom(step.bindings, tuple(Variable(name) for name in step.names))
    source = AggregateSource(NormalBody((bindings,), (), (), ()), step.group_by, step.operations)
    return GroupRules(step.owner, source, Atom(step.result, tuple(Variable(name) for name in source.columns)))


def steps_in_order(graph: RuleGraph) -> dict[Step, str]:
    """The steps of all hyper-nodes, auxiliary ones before the rules that use them, each with the name of its hyper-node."""
    found: dict[Step, str] = {}
    for node in graph.hyper_nodes:
        steps = steps_of_node(graph, node)
        found.update(dict.fromkeys(steps, steps[-1].owner))
    return found


_STEPS: dict[int, tuple[ref[HyperNode], list[Rule], tuple[Step, ...]]] = {}


def steps_of_node(graph: RuleGraph, node: HyperNode) -> tuple[Step, ...]:
    """The steps of one hyper-node; most stay when rules change, so they are kept as long as the hyper-node is."""
    identity, rules = id(node), [graph.rules[name] for name in node.rules]
    known = _STEPS.get(identity)
    if known is None or known[0]() is not node or not all(map(operator.is_, known[1], rules)):  # rules may be others
        kept = ref(node, lambda gone: _STEPS.pop(identity, None))
        known = _STEPS[identity] = kept, rules, tuple(_steps_of_node(graph, node))
    return known[2]


def _steps_of_node(graph: RuleGraph, node: HyperNode) -> Iterator[Step]:
    rules: list[NormalRule] = []
    for name in node.rules:
        auxiliary, rule = _split(graph.rules[name])
        yield from auxiliary
        rules.append(rule)
    modules = () if graph.is_recursive(node) and alternates(rules) else modules_of(graph, node)
    yield RuleStep(str(node), tuple(rules), graph.is_recursive(node), modules)


_SPLIT: dict[int, tuple[ref[Rule], tuple[tuple[Step, ...], NormalRule]]] = {}


def _split(rule: Rule) -> tuple[tuple[Step, ...], NormalRule]:
    """The steps of one rule; most rules of a program stay when some change, so they are kept as long as the rule is."""
    identity = id(rule)
    known = _SPLIT.get(identity)
    if known is None or known[0]() is not rule:
        kept = ref(rule, lambda gone: _SPLIT.pop(identity, None))
        known = _SPLIT[identity] = kept, steps_of_rule(normalise(rule))
    return known[1]
