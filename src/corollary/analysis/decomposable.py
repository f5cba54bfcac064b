"""Recursion that splits into independent parts: some argument is handed on unchanged by every rule of a hyper-node.

In `path(X, Z) :- path(X, Y), edge(Y, Z)` every path keeps its start. So the facts may be dealt out by that argument, the
*pivot*, and each part reaches its own fixpoint without ever asking another one. A relation from outside is dealt out too where
its atoms carry the pivot; all others are needed whole by every part.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod

from corollary.analysis.rule_graph import HyperNode, RuleGraph
from corollary.program import Atom, Rule, Variable, atoms_of

_MOST_CHOICES = 10_000


@dataclass(frozen=True)
class Decomposition:
    """`pivots` has the position of the pivot in each predicate of the recursion, `partitioned` in predicates from outside."""

    pivots: Mapping[str, int]
    partitioned: Mapping[str, int]
    replicated: frozenset[str]


def decomposition_of(graph: RuleGraph, node: HyperNode) -> Decomposition | None:
    """How the recursion of a hyper-node splits; None where it does not.

    Where several arguments would do, the choice that leaves the fewest relations to be copied wins.
    """
    rules = [graph.rules[name] for name in node.rules]
    if not graph.is_recursive(node) or _looks_at_itself_strictly(rules):
        return None
    found = [_decomposition(rules, pivots) for pivots in _choices(rules)]
    return min(found, key=lambda one: len(one.replicated), default=None)


def _looks_at_itself_strictly(rules: Sequence[Rule]) -> bool:
    """`p(1, X) :- …, not p(2, X)` is stratified by its constants, but another part may hold the fact that it asks for."""
    derived = {rule.head.predicate for rule in rules}
    return any(
        atom.predicate in derived and kind != "positive"
        for rule in rules
        for atom, kind in atoms_of(rule.body, aggregated=rule.has_head_aggregate)
    )


def _choices(rules: Sequence[Rule]) -> Iterator[dict[str, int]]:
    """Every way to choose a position per predicate of the recursion that all rules preserve."""
    arities = {rule.head.predicate: rule.head.arity for rule in rules}
    if prod(arities.values()) > _MOST_CHOICES:
        return
    for positions in product(*(range(arity) for arity in arities.values())):
        pivots = dict(zip(arities, positions, strict=True))
        if all(_pivot_of(rule, pivots) is not None for rule in rules):
            yield pivots


def _pivot_of(rule: Rule, pivots: Mapping[str, int]) -> str | None:
    """The variable that stands at the pivot of the head and of every atom of the recursion."""
    head = rule.head.arguments[pivots[rule.head.predicate]]
    if not isinstance(head, Variable):
        return None
    for element in rule.body:
        if isinstance(element, Atom) and element.predicate in pivots:
            argument = element.arguments[pivots[element.predicate]]
            if not isinstance(argument, Variable) or argument.name != head.name:
                return None
    return head.name


def _decomposition(rules: Sequence[Rule], pivots: Mapping[str, int]) -> Decomposition:
    places: dict[str, set[int]] = {}
    for rule in rules:
        pivot = _pivot_of(rule, pivots)
        for atom, kind in atoms_of(rule.body, aggregated=rule.has_head_aggregate):
            if atom.predicate not in pivots:
                here = _positions(atom, pivot) if kind != "aggregate" else set()
                places[atom.predicate] = places.get(atom.predicate, here) & here
    partitioned = {predicate: min(positions) for predicate, positions in places.items() if positions}
    return Decomposition(pivots, partitioned, frozenset(places) - frozenset(partitioned))


def _positions(atom: Atom, variable: str | None) -> set[int]:
    return {
        position
        for position, argument in enumerate(atom.arguments)
        if isinstance(argument, Variable) and argument.name == variable
    }
