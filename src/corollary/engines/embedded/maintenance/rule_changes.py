"""Steps when rules change: which stay, which are new, and who goes on with what another one supported."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from corollary.analysis import HyperNode, RuleGraph, modules_of
from corollary.engines.embedded.maintenance.transaction import Transaction
from corollary.planning import NormalRule, normalise
from corollary.planning.alternation import alternates
from corollary.planning.steps import RuleStep, Step, predicates_of, steps_of_rule
from corollary.program import Aggregation, Comparison, Negation, Rule

_MANY = 1_000  # facts: fewer are withdrawn one by one


@dataclass
class RuleChange:
    """By the owner of a step: the rules that are new in it, for each step that is new, and those that it has lost."""

    new: dict[str, list[NormalRule]] = field(default_factory=dict)
    removed: dict[str, list[NormalRule]] = field(default_factory=dict)
    closed: dict[str, frozenset[NormalRule]] = field(default_factory=dict)  # by predicate: what closed it before

    @property
    def read_before(self) -> set[str]:
        """The predicates that removed rules looked at."""
        return predicates_of(rule for rules in self.removed.values() for rule in rules)


def change_steps(
    known: Iterable[Step], wanted: Sequence[Step], transaction: Transaction, *, counts: bool, replaces: bool
) -> RuleChange:
    """Hands the support of steps that are no more over to those that go on with their rules, or withdraws it.

    `counts` tells that recursive steps count their instances, as all others do; `replaces` that a step which goes may leave a
    relation of its own with what others support. A step that closed a predicate has no support to hand over: whoever goes on
    with its rules starts with them.
    """
    heir_of_rule = {rule.name: step for step in wanted if isinstance(step, RuleStep) for rule in step.rules}
    known, kept = set(known), set()
    change = RuleChange()
    for step in known - set(wanted):
        if step.heads.keys() & transaction.opened.keys() and isinstance(step, RuleStep) and step.recursive:
            change.closed |= dict.fromkeys(step.heads, frozenset(step.rules))
            continue
        heir = _heir(step, heir_of_rule, counts=counts)
        _hand_over(step, heir, transaction, counts=counts, replaces=replaces)
        if heir is not None and isinstance(step, RuleStep):
            kept |= {rule.name for rule in step.rules if rule.name in heir_of_rule}
            removed = [rule for rule in step.rules if rule.name not in heir_of_rule]
            change.removed.setdefault(heir.owner, []).extend(removed)
    for step in wanted:
        if step not in known:
            rules = step.rules if isinstance(step, RuleStep) else ()
            change.new[step.owner] = [rule for rule in rules if rule.name not in kept]
    return change


def _hand_over(step: Step, heir: RuleStep | None, transaction: Transaction, *, counts: bool, replaces: bool) -> None:
    """What a step supports its heir does from now on, as far as it has rules for it."""
    for name, arity in step.heads.items():
        if heir is not None and name in heir.heads:
            transaction.supported(name, arity).transfer(step.owner, heir.owner, counts=counts)
        elif replaces and arity and name not in transaction.closed and _owns_most(step, name, transaction):
            transaction.anew(
                name, transaction.others(name, arity, step.owner), may_insert=_may_insert(name, transaction)
            )
        else:
            transaction.supported(name, arity).withdraw(step.owner)


def _owns_most(step: Step, name: str, transaction: Transaction) -> bool:
    """Whether most facts of a predicate go with the step, or have gone with another one already."""
    if name in transaction.replaced:
        return True
    relation = transaction.relation(name, step.heads[name]).relation
    if step.owner not in relation.owners:
        return False
    own = int(np.count_nonzero(relation.support_of(step.owner)[: relation.size]))
    return 2 * own > max(relation.size, _MANY)


def _may_insert(name: str, transaction: Transaction) -> bool:
    replaced, maintained = transaction.replaced.get(name), transaction.maintained.get(name)
    if replaced is not None:
        return replaced.may_insert
    return maintained is None or len(maintained.difference()[1]) > 0


def _heir(step: Step, heir_of_rule: dict[str, RuleStep], *, counts: bool) -> RuleStep | None:
    """The recursive step that goes on with all rules that are left of a step; None where there is no such step.

    A step whose rules run by turns has never counted: whoever `counts` starts with them.
    """
    if not isinstance(step, RuleStep) or (step.alternates and counts):
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
        auxiliary, rule = _split(graph.rules[name])
        yield from auxiliary
        rules.append(rule)
    modules = () if graph.is_recursive(node) and alternates(rules) else modules_of(graph, node)
    yield RuleStep(str(node), tuple(rules), graph.is_recursive(node), modules)


_SPLIT: dict[int, tuple[Rule, tuple[tuple[Step, ...], NormalRule]]] = {}
_MOST_SPLIT = 10_000


def _split(rule: Rule) -> tuple[tuple[Step, ...], NormalRule]:
    """The steps of a rule; most rules of a program stay when some change, so they are kept."""
    known = _SPLIT.get(id(rule))
    if known is None:
        if len(_SPLIT) >= _MOST_SPLIT:
            _SPLIT.clear()
        known = _SPLIT[id(rule)] = rule, steps_of_rule(normalise(rule))  # the rule lives on with its identity
    return known[1]


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
