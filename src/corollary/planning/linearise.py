"""Closure rules beside other rules of one hyper-node (paper 002, Algorithm 2: external facts arrive while the loop
runs).

`p(X, Z) :- p(X, Y), p(Y, Z)` would try every way to cut a path in two. Every fact of p is a chain of *external* facts,
which the other rules derive, so `external(X, Y), p(Y, Z)` finds the same facts. The other rules for p then derive
external facts.
"""

from __future__ import annotations

from collections.abc import Sequence

from corollary.analysis import Module, ModuleKind
from corollary.planning.normal_form import Compare, NormalBody, NormalRule
from corollary.program import Atom, Variable

_X, _Y, _Z = Variable("X"), Variable("Y"), Variable("Z")


def external_predicate(predicate: str) -> str:
    """Return the external predicate of a predicate; no program text can contain its name."""
    return f"\0external {predicate}"


def linearise(rules: Sequence[NormalRule], modules: Sequence[Module]) -> tuple[list[NormalRule], dict[str, str]]:
    """Return rules with the same consequences, and for each external predicate the predicate whose facts it starts from."""
    closures = {
        module.predicate: module
        for module in modules
        if module.kind in (ModuleKind.TRANSITIVE, ModuleKind.SYMMETRIC_TRANSITIVE) and module.predicate is not None
    }
    replaced = {name for module in closures.values() for name in module.rules}
    kept = [_towards_external(rule, closures) for rule in rules if rule.name not in replaced]
    added = [rule for predicate, module in closures.items() for rule in _closure_rules(predicate, module)]
    return [*kept, *added], {external_predicate(predicate): predicate for predicate in closures}


def _towards_external(rule: NormalRule, closures: dict[str, Module]) -> NormalRule:
    if rule.head.predicate not in closures:
        return rule
    return NormalRule(rule.name, Atom(external_predicate(rule.head.predicate), rule.head.arguments), rule.body)


def _closure_rules(predicate: str, module: Module) -> list[NormalRule]:
    external = external_predicate(predicate)
    guard = (Compare("!=", _X, _Z),) if module.guarded else ()
    name = module.rules[0]
    rules = [
        _rule(f"{name} external", Atom(predicate, (_X, _Y)), [Atom(external, (_X, _Y))]),
        _rule(name, Atom(predicate, (_X, _Z)), [Atom(external, (_X, _Y)), Atom(predicate, (_Y, _Z))], guard),
    ]
    if module.kind is ModuleKind.SYMMETRIC_TRANSITIVE:
        rules.append(_rule(f"{name} symmetric", Atom(external, (_Y, _X)), [Atom(external, (_X, _Y))]))
    return rules


def _rule(name: str, head: Atom, atoms: list[Atom], compares: tuple[Compare, ...] = ()) -> NormalRule:
    return NormalRule(name, head, NormalBody(tuple(atoms), (), (), compares))
