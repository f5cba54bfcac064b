"""Closures among other rules of a hyper-node: the modules tc(R) and stc(R) of paper 002, as plain rules.

`r(X, Z) :- r(X, Y), r(Y, Z)` tries every way to cut a path in two. But every fact of r is a chain of *external* facts,
which other rules derive or which are explicit (the set X_R of the paper), so it is enough to put one of them before a
fact of r. Other rules then derive external facts, and these rules derive r:

r(X, Y) :- external(X, Y). r(X, Z) :- external(X, Y), r(Y, Z). external(Y, X) :- external(X, Y). if r is symmetric, too

Maintenance of these rules is Add, Del and Red of the modules (Algorithms 4 to 6); Diff is empty, because everything
they read is inside the hyper-node. A closure that is a whole hyper-node is left as it is: engines have algorithms for
that.

**Conditions.** With conditions on Y, every inner node of a chain meets them, wherever the chain is cut; the same holds
with conditions on Z if one external fact comes first, and with conditions on X if it comes last. No engine has an
algorithm for such a closure, so it becomes a module even if it is a whole hyper-node. Conditions on both ends, or on
two nodes together, depend on where a chain is cut: such rules stay as they are.

**The guard X != Z.** A chain that visits no node twice is derived from its end on, unless it visits another constant of
the same value: 1 and 1.0e0 are two nodes. If that happens, the rule also runs as it is written:

twins() :- external(X, Y), r(Y, Z), X = Z, not_exact_equal(X, Z). r(X, Z) :- twins(), r(X, Y), r(Y, Z), X != Z.

**Copies.** `s(Y, X) :- r(X, Y)` passes all pairs of a closure r to a closure s, but the external ones are enough: their
chains are chains of s. That keeps the external facts of inverse closures few, such as those of `broader` and
`narrower`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from corollary.analysis.lowering.universe import external_predicate
from corollary.analysis.modules import is_guard, is_symmetric, middle_of_chain, two_variables
from corollary.analysis.rule_graph import HyperNode, RuleGraph
from corollary.program import (
    Atom,
    BodyElement,
    Comparison,
    Constant,
    FunctionTerm,
    Negation,
    Rule,
    Variable,
    Wildcard,
    element_variables,
    terms_of,
)

_X, _Y = Variable("X"), Variable("Y")
_PARTS = (" external", " symmetric", " twins", " uncut")  # rules of a module, after the name of a closure rule


@dataclass(frozen=True)
class _ChainRule:
    """A rule `r(X, Z) :- r(X, Y), r(Y, Z)` with other conditions; `ends` are those of X, Y and Z that have conditions.

    `differ` is the guard X != Z, which is not among the conditions.
    """

    rule: Rule
    first: Atom
    second: Atom
    conditions: tuple[BodyElement, ...]
    ends: frozenset[str]
    differ: Comparison | None


@dataclass(frozen=True)
class _Closure:
    """A closed predicate, and the names of the rules that its module replaces; `last` tells whether external facts end
    chains.

    Of its rules, `chains` are those that are needed: one without conditions derives everything that the others do.
    """

    predicate: str
    replaced: frozenset[str]
    chains: tuple[_ChainRule, ...]
    symmetric: bool
    last: bool

    @property
    def name(self) -> str:
        """The name of one closure rule, independent of their order: removing a rule and adding it again changes no owner."""
        return min(self.replaced)

    @property
    def is_conditional(self) -> bool:
        return any(one.conditions for one in self.chains)

    @property
    def has_all_chains(self) -> bool:
        return not self.is_conditional and not any(one.differ for one in self.chains)


def with_external_facts(graph: RuleGraph) -> RuleGraph:
    """Return the rules with closures over external facts; the same graph if there is no such closure."""
    closures = {one.predicate: one for node in graph.hyper_nodes for one in _closures(graph, node)}
    if not closures:
        return graph
    replaced = {name: one for one in closures.values() for name in one.replaced}
    rules: list[Rule] = []
    for rule in graph.rules.values():
        closure = replaced.get(rule.name)
        if closure is None:
            rules.append(_towards_external(rule, closures))
        elif rule.name == closure.name:
            rules += _rules_of(closure)
    return RuleGraph.of(rules)


def evaluated_names(name: str) -> tuple[str, ...]:
    """Return the possible names of rules that run in place of a rule."""
    return (name, *(name + part for part in _PARTS))


def written_name(name: str, known: Mapping[str, Rule]) -> str:
    """Return the name of the known rule in place of which a rule runs."""
    if name not in known:
        for part in _PARTS:
            name = name.removesuffix(part)
    return name


def _towards_external(rule: Rule, closures: Mapping[str, _Closure]) -> Rule:
    closure = closures.get(rule.head.predicate)
    if closure is None:
        return rule
    head = replace(rule.head, predicate=external_predicate(rule.head.predicate))
    if closure.has_all_chains and (copied := _copied(rule)) is not None and copied.predicate in closures:
        return replace(rule, head=head, body=(replace(copied, predicate=external_predicate(copied.predicate)),))
    return replace(rule, head=head)


def _copied(rule: Rule) -> Atom | None:
    """Return the body of a rule that only copies pairs or reverses them, otherwise None."""
    ends = two_variables(rule.head)
    if ends is None or len(rule.body) != 1 or not isinstance(rule.body[0], Atom):
        return None
    return rule.body[0] if two_variables(rule.body[0]) in (ends, ends[::-1]) else None


# -- which closures ----------------------------------------------------------------------------------------------------


def _closures(graph: RuleGraph, node: HyperNode) -> Iterator[_Closure]:
    if not graph.is_recursive(node) or graph.is_undecided(node):
        return
    rules = [graph.rules[name] for name in node.rules]
    found: dict[str, list[_ChainRule]] = {}
    for rule in rules:
        if (chain := _as_chain(rule)) is not None:
            found.setdefault(chain.first.predicate, []).append(chain)
    for predicate, chains in found.items():
        symmetric = [rule.name for rule in rules if rule.head.predicate == predicate and is_symmetric(rule)]
        replaced = frozenset([*(one.rule.name for one in chains), *symmetric])
        plain = [one for one in chains if not one.conditions and one.differ is None]
        needed = tuple(plain[:1] or chains)
        if (last := _grows_at_the_end(needed, symmetric=bool(symmetric))) is not None:
            closure = _Closure(predicate, replaced, needed, bool(symmetric), last)
            if closure.is_conditional or len(replaced) < len(node.rules):
                yield closure


def _grows_at_the_end(chains: Sequence[_ChainRule], *, symmetric: bool) -> bool | None:
    """Return whether external facts must come last in chains; None if neither way finds everything that the rules
    derive.

    The conditions of several rules on different nodes depend on where a chain is cut by which rule.
    """
    if len({one.differ is None for one in chains}) > 1:
        return None
    ends = frozenset[str]().union(*(one.ends for one in chains))
    if symmetric:
        fits = ends <= {"Y"}
    elif len(chains) > 1:
        fits = len(ends) <= 1
    else:
        fits = not ends >= {"X", "Z"}
    return "X" in ends if fits else None


def _as_chain(rule: Rule) -> _ChainRule | None:
    own = [one for one in rule.body if isinstance(one, Atom) and one.predicate == rule.head.predicate]
    ends = two_variables(rule.head)
    if ends is None or len(own) != 2:
        return None
    for first, second in (own, own[::-1]):
        if (middle := middle_of_chain(rule.head, first, second)) is not None:
            others = [one for one in rule.body if one not in own]
            guards = [one for one in others if is_guard(one, ends)]
            conditions = tuple(one for one in others if one not in guards)
            touched = _touched(conditions, {ends[0]: "X", middle: "Y", ends[1]: "Z"})
            differ = next((one for one in guards if isinstance(one, Comparison)), None)
            return None if touched is None else _ChainRule(rule, first, second, conditions, touched, differ)
    return None


def _touched(conditions: Sequence[BodyElement], nodes: Mapping[str, str]) -> frozenset[str] | None:
    """Return the nodes with conditions; None if a condition is about two of them, or if that is hard to tell."""
    groups: list[set[str]] = []  # variables connected through those that occur only in conditions
    for condition in conditions:
        inner = condition.element if isinstance(condition, Negation) else condition
        simple = all(isinstance(term, Variable | Wildcard | Constant) for term in terms_of(condition))
        if not isinstance(inner, Atom | Comparison) or not simple:
            return None
        used = {variable.name for variable in element_variables(condition)}
        joined = [group for group in groups if group & used - nodes.keys()]
        groups = [group for group in groups if group not in joined] + [used.union(*joined)]
    about = [group & nodes.keys() for group in groups]
    if any(len(names) > 1 for names in about):
        return None
    return frozenset(nodes[name] for names in about for name in names)


# -- their rules -------------------------------------------------------------------------------------------------------


def _rules_of(closure: _Closure) -> Iterator[Rule]:
    """Yield the rules of one module; a chain rule has the name of the rule that it replaces."""
    name, closed, external = closure.name, closure.predicate, external_predicate(closure.predicate)
    for chain in closure.chains:
        yield from _rules_of_chain(chain, name if closure.has_all_chains else chain.rule.name, closure)
    yield Rule(f"{name} external", Atom(closed, (_X, _Y)), (Atom(external, (_X, _Y)),))
    if closure.symmetric:
        yield Rule(f"{name} symmetric", Atom(external, (_Y, _X)), (Atom(external, (_X, _Y)),))


def _rules_of_chain(chain: _ChainRule, name: str, closure: _Closure) -> Iterator[Rule]:
    head, external = chain.rule.head, external_predicate(closure.predicate)
    if closure.last:
        atoms = (chain.first, replace(chain.second, predicate=external))
    else:
        atoms = (replace(chain.first, predicate=external), chain.second)
    if chain.differ is None:
        yield Rule(name, head, (*atoms, *chain.conditions))
        return
    ends, twins = head.arguments, Atom(f"\0twins\0{closure.predicate}", ())
    same_value = Comparison("=", ends[0], ends[1])
    not_same = Comparison("=", FunctionTerm("NOT_EXACT_EQUAL", ends), Constant(True))
    yield Rule(name, head, (*atoms, *chain.conditions, chain.differ))
    yield Rule(f"{name} twins", twins, (*atoms, *chain.conditions, same_value, not_same))
    yield Rule(f"{name} uncut", head, (twins, chain.first, chain.second, *chain.conditions, chain.differ))
