"""Steps when rules change: which stay, which are new, and who goes on with what another one supported."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from corollary.analysis import HyperNode, RuleGraph, modules_of
from corollary.engines.embedded.maintenance.transaction import Transaction
from corollary.planning import NormalRule, normalise
from corollary.planning.steps import RuleStep, Step, predicates_of, steps_of_rule
from corollary.program import Aggregation, Comparison, Negation, Rule


@dataclass
class RuleChange:
    """By the owner of a step: the rules that are new in it, for each step that is new, and those that it has lost."""

    new: dict[str, list[NormalRule]] = field(default_factory=dict)
    removed: dict[str, list[NormalRule]] = field(default_factory=dict)

    @property
    def read_before(self) -> set[str]:
        """The predicates that removed rules looked at."""
        return predicates_of(rule for rules in self.removed.values() for rule in rules)


def change_steps(
    known: Iterable[Step], wanted: Sequence[Step], transaction: Transaction, *, counts: bool
) -> RuleChange:
    """Hands the support of steps that are no more over to those that go on with their rules, or withdraws it.

    `counts` tells that recursive steps count their instances, as all others do.
    """
    heir_of_rule = {rule.name: step for step in wanted if isinstance(step, RuleStep) for rule in step.rules}
    known, kept = set(known), set()
    change = RuleChange()
    for step in known - set(wanted):
        heir = _heir(step, heir_of_rule)
        _hand_over(step, heir, transaction, counts=counts)
        if heir is not None and isinstance(step, RuleStep):
            kept |= {rule.name for rule in step.rules if rule.name in heir_of_rule}
            removed = [rule for rule in step.rules if rule.name not in heir_of_rule]
            change.removed.setdefault(heir.owner, []).extend(removed)
    for step in wanted:
        if step not in known:
            rules = step.rules if isinstance(step, RuleStep) else ()
            change.new[step.owner] = [rule for rule in rules if rule.name not in kept]
    return change


def _hand_over(step: Step, heir: RuleStep | None, transaction: Transaction, *, counts: bool) -> None:
    """What a step supports its heir does from now on, as far as it has rules for it."""
    for name, arity in step.heads.items():
        maintained = transaction.supported(name, arity)
        if heir is not None and name in heir.heads:
            maintained.transfer(step.owner, heir.owner, counts=counts)
        else:
            maintained.withdraw(step.owner)


def _heir(step: Step, heir_of_rule: dict[str, RuleStep]) -> RuleStep | None:
    """The recursive step that goes on with all rules that are left of a step; None where there is no such step."""
    if not isinstance(step, RuleStep):
        return None
    heirs = {heir_of_rule[rule.name].owner: heir_of_rule[rule.name] for rule in step.rules if rule.name in heir_of_rule}
    if len(heirs) != 1:
        return None
    (heir,) = heirs.values()
    by_name = {rule.name: rule for rule in heir.rules}
    is_same = all(by_name.get(rule.name, rule) == rule for rule in step.rules)
    return heir if heir.recursive and is_same else None


def steps_in_order(graph: RuleGraph) -> dict[Step, str]:
    """The steps of all hyper-nodes, auxiliary ones before the rules that use them, each with the name of its hyper-node."""
    return {step: str(node) for node in graph.hyper_nodes for step in steps_of_node(graph, node)}


def steps_of_node(graph: RuleGraph, node: HyperNode) -> Iterable[Step]:
    rules: list[NormalRule] = []
    for name in node.rules:
        auxiliary, rule = steps_of_rule(normalise(graph.rules[name]))
        yield from auxiliary
        rules.append(rule)
    yield RuleStep(str(node), tuple(rules), graph.is_recursive(node), modules_of(graph, node))


def orders_texts(graph: RuleGraph) -> bool:
    """Whether some rule compares by order, so that texts need ranks."""
    return any("<" in text or ">" in text for rule in graph.rules.values() for text in _operators(rule))


def _operators(rule: Rule) -> list[str]:
    found: list[str] = []
    todo = list(rule.body)
    while todo:
        element = todo.pop()
        if isinstance(element, Negation):
            todo.append(element.element)
        elif isinstance(element, Aggregation):
            todo.extend(element.body)
        elif isinstance(element, Comparison):
            found.append(element.operator)
    return found
