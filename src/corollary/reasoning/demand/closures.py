"""Closure rules in the direction of the demand.

`path(X, Z) :- edge(X, Y), path(Y, Z)` with the query `path(1, Z)` demands path from every node that 1 reaches. The
left-linear form, `path(X, Z) :- path(X, Y), edge(Y, Z)`, demands only path from 1. Both define the same closure, so
each demand uses the form that suits it. *External* facts are those that the closure rules do not derive themselves:
facts of other rules, and explicit ones.
"""

from __future__ import annotations

from dataclasses import dataclass

from corollary.analysis import Module, ModuleKind, RuleGraph, modules_of
from corollary.program import Atom, Rule, Variable
from corollary.reasoning.demand.patterns import FREE, RewrittenNames

_X, _Y, _Z = Variable("X"), Variable("Y"), Variable("Z")


@dataclass(frozen=True)
class ClosureRules:
    """A predicate closed by a single module, and its other rules."""

    module: Module
    others: tuple[Rule, ...]

    @property
    def predicate(self) -> str:
        assert self.module.predicate is not None
        return self.module.predicate


def closures_of(graph: RuleGraph) -> dict[str, ClosureRules]:
    """Return the closures whose other rules do not depend on them. Guarded closures are left out: their guards compare
    by value."""
    found: dict[str, ClosureRules] = {}
    for node in graph.hyper_nodes:
        modules = modules_of(graph, node) if graph.is_recursive(node) else ()
        if len(modules) == 1 and modules[0].predicate is not None and not modules[0].guarded:
            predicate = modules[0].predicate
            rules = [rule for rule in graph.rules.values() if rule.head.predicate == predicate]
            others = tuple(rule for rule in rules if rule.name not in modules[0].rules)
            if predicate not in found:
                found[predicate] = ClosureRules(modules[0], others)
    return found


def pattern_of(pattern: str) -> str:
    """Return the pattern for a demand on a closure, which can use only one known end, since it finds the other from it."""
    return pattern if FREE in pattern else pattern[0] + FREE


def directed(closure: ClosureRules, pattern: str, names: RewrittenNames) -> list[Rule]:
    """Return rules for the closed predicate, and for auxiliary predicates, that follow the demand from its known end."""
    predicate, module = closure.predicate, closure.module
    external = _External(closure, names)
    match module.kind:
        case ModuleKind.TRANSITIVE:
            return [*external.rules, *_closed(predicate, external.name, pattern)]
        case ModuleKind.SYMMETRIC_TRANSITIVE:
            both = names(f"{predicate}_both_ways")
            there = _rule(f"{both}_1", Atom(both, (_X, _Y)), Atom(external.name, (_X, _Y)))
            back = _rule(f"{both}_2", Atom(both, (_X, _Y)), Atom(external.name, (_Y, _X)))
            return [*external.rules, there, back, *_closed(predicate, both, pattern)]
        case _:
            return _linear(closure, external, pattern, names)


def suits(closure: ClosureRules, pattern: str) -> bool:
    """Return whether the rules already follow the demand as they stand."""
    kind = closure.module.kind
    return kind is (ModuleKind.RIGHT_LINEAR if pattern[0] == FREE else ModuleKind.LEFT_LINEAR)


class _External:
    """The predicate of external facts: the existing one if a single rule copies its facts, otherwise a new one."""

    def __init__(self, closure: ClosureRules, names: RewrittenNames) -> None:
        copied = [_copied(rule) for rule in closure.others]
        self.only = copied[0] if len(copied) == 1 else None
        self.name = self.only or names(f"{closure.predicate}_external")
        self.rules: list[Rule] = []
        if self.only is None:
            self.rules = [
                Rule(names(f"{rule.name}_external"), Atom(self.name, rule.head.arguments), rule.body)
                for rule in closure.others
            ]


def _copied(rule: Rule) -> str | None:
    """Return the predicate whose facts a rule copies unchanged, None if it does more."""
    match rule.body:
        case (Atom() as atom,) if atom.arguments == rule.head.arguments and len(set(atom.arguments)) == 2:
            return atom.predicate if all(isinstance(one, Variable) for one in atom.arguments) else None
        case _:
            return None


def _linear(closure: ClosureRules, external: _External, pattern: str, names: RewrittenNames) -> list[Rule]:
    predicate, step = closure.predicate, closure.module.step
    assert step is not None
    if external.only == step:
        return _closed(predicate, step, pattern)
    steps = names(f"{predicate}_steps")
    first = _rule(names(f"{predicate}_first"), Atom(predicate, (_X, _Z)), Atom(external.name, (_X, _Z)))
    ends = (steps, external.name) if closure.module.kind is ModuleKind.RIGHT_LINEAR else (external.name, steps)
    body = (Atom(ends[0], (_X, _Y)), Atom(ends[1], (_Y, _Z)))
    whole = _rule(names(f"{predicate}_whole"), Atom(predicate, (_X, _Z)), *body)
    return [*external.rules, *_closed(steps, step, pattern), first, whole]


def _closed(predicate: str, step: str, pattern: str) -> list[Rule]:
    """Return left-linear or right-linear rules for the closure of `step`."""
    ends = (step, predicate) if pattern[0] == FREE else (predicate, step)
    first = _rule(f"{predicate}_closed_1", Atom(predicate, (_X, _Y)), Atom(step, (_X, _Y)))
    body = (Atom(ends[0], (_X, _Y)), Atom(ends[1], (_Y, _Z)))
    return [first, _rule(f"{predicate}_closed_2", Atom(predicate, (_X, _Z)), *body)]


def _rule(name: str, head: Atom, *body: Atom) -> Rule:
    return Rule(name, head, body)
