"""The evaluation module that fits the rules of a hyper-node (paper 002's modules, found by the shape of the rules).

Closures are over the facts that reach the hyper-node from outside (explicit facts and other owners' facts of the same
predicate). With the guard `X != Y` a rule derives no reflexive pair, but keeps those from outside.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import product
from math import prod

from corollary.analysis.rule_graph import HyperNode, RuleGraph
from corollary.program import Aggregation, Atom, Comparison, Rule, Variable, atoms_of


class ModuleKind(Enum):
    NONRECURSIVE = "nonrecursive"
    AGGREGATE = "aggregate"
    TRANSITIVE = "transitive"
    SYMMETRIC_TRANSITIVE = "symmetric-transitive"
    LEFT_LINEAR = "left-linear"
    RIGHT_LINEAR = "right-linear"
    RECURSIVE = "recursive"


@dataclass(frozen=True)
class Module:
    """Rules of one hyper-node that one algorithm evaluates.

    `predicate` is the closed relation of a closure, `step` the relation by which a linear closure grows, `guarded`
    whether its rules have the guard `X != Y`.
    """

    kind: ModuleKind
    rules: tuple[str, ...]
    predicate: str | None = None
    step: str | None = None
    guarded: bool = False

    @property
    def name(self) -> str:
        return self.kind.value + ("-guarded" if self.guarded else "")


def modules_of(graph: RuleGraph, node: HyperNode) -> tuple[Module, ...]:
    """Return the modules of a hyper-node: closures first, then the remaining rules as one general module."""
    rules = [graph.rules[name] for name in node.rules]
    if not graph.is_recursive(node):
        return (Module(_nonrecursive_kind(rules[0]), node.rules),)
    closures = list(_closures(rules))
    taken = {name for module in closures for name in module.rules}
    rest = tuple(name for name in node.rules if name not in taken)
    return (*closures, Module(ModuleKind.RECURSIVE, rest)) if rest else tuple(closures)


def module_name(graph: RuleGraph, node: HyperNode) -> str:
    """Return one name for a hyper-node: `transitive`, or `transitive+recursive` if several modules share it."""
    return "+".join(module.name for module in modules_of(graph, node))


def _nonrecursive_kind(rule: Rule) -> ModuleKind:
    aggregates = rule.has_head_aggregate or any(isinstance(element, Aggregation) for element in rule.body)
    return ModuleKind.AGGREGATE if aggregates else ModuleKind.NONRECURSIVE


@dataclass(frozen=True)
class _Step:
    """A rule `p(X, Z) :- left(X, Y), right(Y, Z)`, perhaps guarded by `X != Z`."""

    rule: str
    predicate: str
    left: str
    right: str
    guarded: bool


def _closures(rules: list[Rule]) -> Iterator[Module]:
    derived = {rule.head.predicate for rule in rules}
    steps = [step for rule in rules if (step := _as_step(rule))]
    symmetric: dict[str, list[str]] = {}
    for rule in rules:
        if is_symmetric(rule):
            symmetric.setdefault(rule.head.predicate, []).append(rule.name)
    for predicate in dict.fromkeys(step.predicate for step in steps):
        transitive = [step for step in steps if step.left == step.right == step.predicate == predicate]
        if transitive:
            yield _transitive(predicate, transitive, symmetric.get(predicate, []), rules)
        yield from _linear([step for step in steps if step.predicate == predicate and step not in transitive], derived)


def _transitive(predicate: str, steps: list[_Step], symmetric: list[str], rules: list[Rule]) -> Module:
    kind = ModuleKind.SYMMETRIC_TRANSITIVE if symmetric else ModuleKind.TRANSITIVE
    names = {step.rule for step in steps} | set(symmetric)
    in_order = tuple(rule.name for rule in rules if rule.name in names)
    # One rule without the guard derives everything that guarded ones do.
    return Module(kind, in_order, predicate, guarded=all(step.guarded for step in steps))


def _linear(steps: list[_Step], derived: set[str]) -> Iterator[Module]:
    groups: dict[tuple[ModuleKind, str], list[_Step]] = {}
    for step in steps:
        if step.left == step.predicate and step.right not in derived:
            groups.setdefault((ModuleKind.LEFT_LINEAR, step.right), []).append(step)
        elif step.right == step.predicate and step.left not in derived:
            groups.setdefault((ModuleKind.RIGHT_LINEAR, step.left), []).append(step)
    for (kind, by), group in groups.items():
        names = tuple(step.rule for step in group)
        yield Module(kind, names, group[0].predicate, by, all(step.guarded for step in group))


def _as_step(rule: Rule) -> _Step | None:
    atoms = [element for element in rule.body if isinstance(element, Atom)]
    others = [element for element in rule.body if not isinstance(element, Atom)]
    ends = two_variables(rule.head)
    if ends is None or len(atoms) != 2 or len(others) > 1:
        return None
    if others and not is_guard(others[0], ends):
        return None
    for left, right in (atoms, reversed(atoms)):
        if middle_of_chain(rule.head, left, right) is not None:
            return _Step(rule.name, rule.head.predicate, left.predicate, right.predicate, bool(others))
    return None


def middle_of_chain(head: Atom, left: Atom, right: Atom) -> str | None:
    """Return the variable Y of `head(X, Z) :- left(X, Y), right(Y, Z)`; None for atoms of another shape."""
    ends, first, second = two_variables(head), two_variables(left), two_variables(right)
    if first is None or second is None or first[1] != second[0] or (first[0], second[1]) != ends or first[1] in ends:
        return None
    return first[1]


def is_guard(element: object, ends: tuple[str, str]) -> bool:
    """Return whether an element of a body says that both ends differ by value."""
    if not isinstance(element, Comparison) or element.operator != "!=":
        return False
    sides = (element.left, element.right)
    return all(isinstance(side, Variable) for side in sides) and {
        side.name for side in sides if isinstance(side, Variable)
    } == set(ends)


def is_symmetric(rule: Rule) -> bool:
    """Return whether a rule only reverses the pairs of its predicate."""
    if len(rule.body) != 1 or not isinstance(rule.body[0], Atom) or rule.body[0].predicate != rule.head.predicate:
        return False
    head, body = two_variables(rule.head), two_variables(rule.body[0])
    return head is not None and body is not None and head == (body[1], body[0])


def two_variables(atom: Atom) -> tuple[str, str] | None:
    """Return the names of an atom's two arguments if they are distinct variables, otherwise None."""
    match atom.arguments:
        case (Variable(name=first), Variable(name=second)) if first != second:
            return first, second
        case _:
            return None


# -- decomposable ------------------------------------------------------------------------------------------------------

# Recursion that splits into independent parts: every rule of a hyper-node passes some argument on unchanged.
#
# In `path(X, Z) :- path(X, Y), edge(Y, Z)` every path keeps its start. So the facts may be partitioned by that
# argument, the *pivot*, and each partition reaches its own fixpoint without communication. A relation from outside is
# partitioned, too, if its atoms contain the pivot; every partition needs all others completely.

_MOST_CHOICES = 10_000


@dataclass(frozen=True)
class Decomposition:
    """`pivots` has the position of the pivot in each predicate of the recursion, `partitioned` in predicates from outside."""

    pivots: Mapping[str, int]
    partitioned: Mapping[str, int]
    replicated: frozenset[str]


def decomposition_of(graph: RuleGraph, node: HyperNode) -> Decomposition | None:
    """Return how the recursion of a hyper-node splits; None if it does not.

    If several arguments are possible, the choice that copies the fewest relations wins.
    """
    rules = [graph.rules[name] for name in node.rules]
    if not graph.is_recursive(node) or _looks_at_itself_strictly(rules):
        return None
    found = [_decomposition(rules, pivots) for pivots in _choices(rules)]
    return min(found, key=lambda one: len(one.replicated), default=None)


def _looks_at_itself_strictly(rules: Sequence[Rule]) -> bool:
    """Return whether rules negate or aggregate their own predicates: `p(1, X) :- …, not p(2, X)` is stratified by its
    constants, but another partition may hold the fact that it reads."""
    derived = {rule.head.predicate for rule in rules}
    return any(
        atom.predicate in derived and kind != "positive"
        for rule in rules
        for atom, kind in atoms_of(rule.body, aggregated=rule.has_head_aggregate)
    )


def _choices(rules: Sequence[Rule]) -> Iterator[dict[str, int]]:
    """Yield every choice of one position per predicate of the recursion that all rules preserve."""
    arities = {rule.head.predicate: rule.head.arity for rule in rules}
    if prod(arities.values()) > _MOST_CHOICES:
        return
    for positions in product(*(range(arity) for arity in arities.values())):
        pivots = dict(zip(arities, positions, strict=True))
        if all(_pivot_of(rule, pivots) is not None for rule in rules):
            yield pivots


def _pivot_of(rule: Rule, pivots: Mapping[str, int]) -> str | None:
    """Return the variable at the pivot of the head and of every atom of the recursion, None if they differ."""
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
