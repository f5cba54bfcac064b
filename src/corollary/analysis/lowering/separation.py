"""Local stratification (paper 001, section 2.3.3): negation through recursion that constants cut.

`p(2, X) :- q(X), not p(3, X)` never sees what it derives. Where other rules hand such arguments on, as `r(Y, X) :- p(Y, X)` does,
each of them is split into one rule for each constant that matters and one for all others. By the constants, the graph of rules
then tells apart what predicates alone mix up.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from math import prod

from corollary.analysis.rule_graph import HyperNode, RuleGraph
from corollary.analysis.safety import limited_variables
from corollary.analysis.unification import Restricted, links_of, refined, restrictions
from corollary.language import print_element
from corollary.program import Atom, Comparison, Constant, Rule, Term, Variable, atoms_of, equal

_MOST_CASES = 100  # of one rule
_Place = tuple[str, object]


def separated(graph: RuleGraph) -> tuple[Rule, ...] | None:
    """The rules of a graph that is not stratified, split by constants; None where they still are not, then."""
    undecided = [node for node in graph.hyper_nodes if graph.is_undecided(node)]
    cases = {name: list(_cases(graph, node, name)) for node in undecided for name in node.rules}
    split = tuple(case for rule in graph.rules.values() for case in cases.get(rule.name, [rule]))
    after = RuleGraph.of(split)
    return None if any(after.is_undecided(node) for node in after.hyper_nodes) else split


def is_case_of(name: str, rule: str) -> bool:
    """Whether a rule that engines run is one of the program, or one of the cases that it was split into."""
    return rule_of_case(name) == rule


def rule_of_case(name: str) -> str:
    """The rule of the program that a rule which engines run was split from, or that it is."""
    return name.partition(" where ")[0]


def _cases(graph: RuleGraph, node: HyperNode, name: str) -> Iterator[Rule]:
    """One rule for each combination of constants of the variables that matter, and of "none of them"."""
    rule = graph.rules[name]
    choices = _choices(graph, node, rule)
    if not choices or prod(len(constants) + 1 for constants in choices.values()) > _MOST_CASES:
        yield rule
        return
    options = [_options(Variable(variable), constants) for variable, constants in choices.items()]
    for chosen in product(*options):
        guards = [guard for option in chosen for guard in option]
        case = ", ".join(map(print_element, guards))
        yield replace(rule, name=f"{name} where {case}", body=(*rule.body, *guards))


def _options(variable: Variable, constants: list[Constant]) -> list[list[Comparison]]:
    equalities = [[Comparison("=", variable, constant)] for constant in constants]
    return [*equalities, [Comparison("!=", variable, constant) for constant in constants]]


def _choices(graph: RuleGraph, node: HyperNode, rule: Rule) -> dict[str, list[Constant]]:
    """The variables of a rule that carry arguments of the recursion, with the constants that these meet elsewhere."""
    classes = _classes(graph, node)
    known, limited = restrictions(rule.body), limited_variables(rule.body)
    found = {}
    by_atoms = limited_variables([element for element in rule.body if isinstance(element, Atom)])
    variables = dict.fromkeys(one for atom in _inside(graph, node, rule) for one in _variables(atom))
    decided: set[str] = set()
    for variable in sorted(variables, key=lambda one: one not in by_atoms):
        about = known.get(variable, Restricted(variable))
        constants = [
            constant
            for constant in classes.constants((rule.name, variable))
            if not any(equal(constant.value, other.value) for other in about.others)
        ]
        if constants and variable in limited and variable not in decided and about.value is None:
            found[variable] = constants
            decided |= _equal_to(variable, rule)
    return found


def _equal_to(variable: str, rule: Rule) -> set[str]:
    """The variables that equalities make the same as one; what is decided about it is decided about them."""
    found = {variable}
    for _ in rule.body:
        found |= {name for link in links_of(rule.body) if found & set(link) for name in link}
    return found


def _classes(graph: RuleGraph, node: HyperNode) -> _Classes:
    """Arguments of predicates, and the variables of rules that carry them from one to the other."""
    classes = _Classes()
    for name in node.rules:
        rule = graph.rules[name]
        known = restrictions(rule.body)
        for one, other in links_of(rule.body):
            classes.join((name, one), (name, other))
        for atom in _inside(graph, node, rule):
            for position, term in enumerate(refined(atom, known).arguments):
                place = (atom.predicate, position)
                if isinstance(term, Variable):
                    classes.join(place, (name, term.name))
                for constant in _constants(term):
                    classes.add(place, constant)
    return classes


def _inside(graph: RuleGraph, node: HyperNode, rule: Rule) -> list[Atom]:
    derived = {graph.rules[name].head.predicate for name in node.rules}
    return [rule.head, *(atom for atom, _ in atoms_of(rule.body) if atom.predicate in derived)]


def _variables(atom: Atom) -> list[str]:
    return [term.name for term in atom.arguments if isinstance(term, Variable)]


def _constants(term: Term) -> Iterator[Constant]:
    if isinstance(term, Constant):
        yield term
    elif isinstance(term, Restricted):
        yield from [term.value] if term.value is not None else term.others


class _Classes:
    """Places that may hold the same values, by union-find, with the constants that stand at one of them."""

    def __init__(self) -> None:
        self._parents: dict[_Place, _Place] = {}
        self._found: list[tuple[_Place, Constant]] = []

    def join(self, one: _Place, other: _Place) -> None:
        self._parents[self._root(one)] = self._root(other)

    def add(self, place: _Place, constant: Constant) -> None:
        self._found.append((place, constant))

    def constants(self, place: _Place) -> list[Constant]:
        """Those of a place, one of each value."""
        distinct: list[Constant] = []
        for one, constant in self._found:
            if self._root(one) == self._root(place) and not any(equal(constant.value, o.value) for o in distinct):
                distinct.append(constant)
        return distinct

    def _root(self, place: _Place) -> _Place:
        while (parent := self._parents.get(place, place)) != place:
            place = parent
        return place
