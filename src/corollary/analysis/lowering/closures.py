"""Closures among other rules of a hyper-node: the modules tc(R) and stc(R) of paper 002, as plain rules.

`r(X, Z) :- r(X, Y), r(Y, Z)` tries every way to cut a path in two. But every fact of r is a chain of *external* facts, those that
other rules derive or that are explicit (the set X_R of the paper), so it is enough to put one of them before a fact of r. Other
rules derive external facts from then on, and these rules take care of r:

    r(X, Y) :- external(X, Y).
    r(X, Z) :- external(X, Y), r(Y, Z).
    external(Y, X) :- external(X, Y).      where r is symmetric, too

What follows changes of these rules is Add, Del and Red of the modules (Algorithms 4 to 6); Diff is empty, for all that they read
is inside the hyper-node. A closure that has a hyper-node for itself is left as it is: engines have algorithms for that. So is one
with the guard `X != Z`, which compares by value: a chain may be cut where it meets another constant of the same value.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from corollary.analysis.lowering.universe import external_predicate
from corollary.analysis.modules import Module, ModuleKind, modules_of
from corollary.analysis.rule_graph import RuleGraph
from corollary.program import Atom, Rule, Variable

_X, _Y, _Z = Variable("X"), Variable("Y"), Variable("Z")


def with_external_facts(graph: RuleGraph) -> RuleGraph:
    """The rules with closures over external facts; the same graph where no closure shares its hyper-node with other rules."""
    closures = {module.predicate: module for module in _shared_closures(graph) if module.predicate is not None}
    if not closures:
        return graph
    replaced = {name: module for module in closures.values() for name in module.rules}
    rules: list[Rule] = []
    for rule in graph.rules.values():
        module = replaced.get(rule.name)
        if module is None:
            rules.append(_towards_external(rule, closures))
        elif rule.name == _name_of(module):
            rules += _rules_of(module)
    return RuleGraph.of(rules)


def _shared_closures(graph: RuleGraph) -> Iterator[Module]:
    for node in graph.hyper_nodes:
        if graph.is_recursive(node) and not graph.is_undecided(node):
            modules = modules_of(graph, node)
            kinds = (ModuleKind.TRANSITIVE, ModuleKind.SYMMETRIC_TRANSITIVE)
            yield from (one for one in modules if len(modules) > 1 and one.kind in kinds and not one.guarded)


def _towards_external(rule: Rule, closures: Mapping[str, Module]) -> Rule:
    if rule.head.predicate not in closures:
        return rule
    return replace(rule, head=replace(rule.head, predicate=external_predicate(rule.head.predicate)))


def _name_of(module: Module) -> str:
    """Return the name of one of the closure rules, whatever their order: a rule that goes and comes back changes no owner."""
    return min(module.rules)


def _rules_of(module: Module) -> Iterator[Rule]:
    """The rules of one module; the first one has the name of the closure rule that it stands for."""
    assert module.predicate is not None
    name, closed, external = _name_of(module), module.predicate, external_predicate(module.predicate)
    yield Rule(name, Atom(closed, (_X, _Z)), (Atom(external, (_X, _Y)), Atom(closed, (_Y, _Z))))
    yield Rule(f"{name} external", Atom(closed, (_X, _Y)), (Atom(external, (_X, _Y)),))
    if module.kind is ModuleKind.SYMMETRIC_TRANSITIVE:
        yield Rule(f"{name} symmetric", Atom(external, (_Y, _X)), (Atom(external, (_X, _Y)),))
