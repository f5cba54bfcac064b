"""The part of a program that a query needs, where deriving the rest might never end."""

from __future__ import annotations

from collections.abc import Iterable

from corollary.analysis import RuleGraph
from corollary.planning import normalise
from corollary.program import Atom, Comparison, Query, Rule, atoms_of
from corollary.reasoning.demand.demanded import Demanded

_BOUNDS = ("<", "<=", ">", ">=")
_ANSWER = "?answer"  # no program text has such a predicate


def growing_rules(graph: RuleGraph) -> frozenset[str]:
    """Return the rules that compute values and depend on themselves: what they derive may have no end.

    A rule that compares by order has a bound, most of the time.
    """
    found: list[str] = []
    for node in graph.hyper_nodes:
        if graph.is_recursive(node) and any(_grows(graph.rules[name]) for name in node.rules):
            found += node.rules
    return frozenset(found)


def _grows(rule: Rule) -> bool:
    if not normalise(rule).body.computes:
        return False
    return not any(isinstance(one, Comparison) and one.operator in _BOUNDS for one in rule.body)


def needed_rules(graph: RuleGraph, predicates: Iterable[str]) -> set[str]:
    """Return the names of the rules that derive these predicates, and of those that they depend on."""
    by_head: dict[str, list[Rule]] = {}
    for rule in graph.rules.values():
        by_head.setdefault(rule.head.predicate, []).append(rule)
    found: set[str] = set()
    waiting, seen = list(predicates), set(predicates)
    while waiting:
        for rule in by_head.get(waiting.pop(), ()):
            found.add(rule.name)
            new = {atom.predicate for atom, _ in atoms_of(rule.body)} - seen
            seen |= new
            waiting += new
    return found


def part_for(graph: RuleGraph, query: Query) -> Demanded:
    """Return the rules that a query depends on, and one whose heads are its answers."""
    asked = {atom.predicate for atom, _ in atoms_of(query.body)}
    names = needed_rules(graph, asked)
    rules = [rule for rule in graph.rules.values() if rule.name in names]
    used = asked.union(*({atom.predicate for atom, _ in atoms_of(rule.body)} for rule in rules))
    answer = Rule(_ANSWER, Atom(_ANSWER, query.variables), query.body)
    return Demanded(RuleGraph.of([*rules, answer]), _ANSWER, (), frozenset(used))
