"""Local stratification (paper 001, section 2.3.3): recursion through negation that constants interrupt.

`p(2, X) :- q(X), not p(3, X)` never reads what it derives. If other rules pass such arguments on, as
`r(Y, X) :- p(Y, X)` does, each of them is split: one rule for each relevant constant and one for all others, and
likewise by relevant comparisons with constants. The rule graph then separates what predicates alone would merge.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import combinations, product
from math import prod

from corollary.analysis.rule_graph import HyperNode, RuleGraph
from corollary.analysis.safety import limited_variables
from corollary.analysis.unification import ConstantBound, Restricted, excludes, links_of, refined, restrictions
from corollary.language import print_element
from corollary.program import Atom, Comparison, Constant, Negation, Rule, Term, Variable, atoms_of, equal

_MOST_CASES = 100  # of one rule
_MOST_BOUNDS = 6  # of one variable
_Place = tuple[str, object]


def separated(graph: RuleGraph) -> tuple[Rule, ...] | None:
    """Return the rules of a graph that is not stratified, split by constants; None if that does not make it stratified."""
    undecided = [node for node in graph.hyper_nodes if graph.is_undecided(node)]
    cases = {name: list(_cases(graph, node, name)) for node in undecided for name in node.rules}
    split = tuple(case for rule in graph.rules.values() for case in cases.get(rule.name, [rule]))
    after = RuleGraph.of(split)
    return None if any(after.is_undecided(node) for node in after.hyper_nodes) else split


def is_case_of(name: str, rule: str) -> bool:
    """Return whether a rule that engines run is the given rule, or a case of it."""
    return rule_of_case(name) == rule


def rule_of_case(name: str) -> str:
    """Return the name of the program's rule that a rule was split from, or is."""
    return name.partition(" where ")[0]


def _cases(graph: RuleGraph, node: HyperNode, name: str) -> Iterator[Rule]:
    """Yield one rule for each combination of relevant constants (or none of them) for the relevant variables."""
    rule = graph.rules[name]
    choices = _choices(graph, node, rule)
    if any(len(choice.bounds) > _MOST_BOUNDS for choice in choices.values()):
        yield rule
        return
    options = [choice.options(Variable(variable)) for variable, choice in choices.items()]
    if not options or prod(map(len, options)) > _MOST_CASES:
        yield rule
        return
    for chosen in product(*options):
        guards = [guard for option in chosen for guard in option]
        case = ", ".join(map(print_element, guards))
        yield replace(rule, name=f"{name} where {case}", body=(*rule.body, *guards))


@dataclass(frozen=True)
class _Choice:
    """The constants that a variable may meet elsewhere, and the comparisons by order there."""

    constants: list[Constant]
    bounds: list[ConstantBound]

    def options(self, variable: Variable) -> list[list[Comparison | Negation]]:
        """Return guards, exactly one of which is true of every value."""
        found: list[list[Comparison | Negation]] = [[Comparison("=", variable, one)] for one in self.constants]
        others = [Comparison("!=", variable, constant) for constant in self.constants]
        for chosen in product(*((bound, replace(bound, negated=True)) for bound in self.bounds)):
            if not any(one.contradicts(other) for one, other in combinations(chosen, 2)):
                found.append([*others, *(bound.as_element(variable) for bound in chosen)])
        return found


def _choices(graph: RuleGraph, node: HyperNode, rule: Rule) -> dict[str, _Choice]:
    """Return the variables of a rule that carry arguments of the recursion, with the constants that these meet elsewhere."""
    classes = _classes(graph, node)
    known, limited = restrictions(rule.body), limited_variables(rule.body)
    found = {}
    by_atoms = limited_variables([element for element in rule.body if isinstance(element, Atom)])
    variables = dict.fromkeys(one for atom in _inside(graph, node, rule) for one in _variables(atom))
    decided: set[str] = set()
    for variable in sorted(variables, key=lambda one: one not in by_atoms):
        about = known.get(variable, Restricted(variable))
        met = classes.constants((rule.name, variable))
        constants = [constant for constant in met if not excludes(about, constant)]
        own = {replace(bound, negated=False) for bound in about.bounds}
        bounds = [bound for bound in classes.bounds((rule.name, variable)) if bound not in own]
        if (constants or bounds) and variable in limited and variable not in decided and about.value is None:
            found[variable] = _Choice(constants, bounds)
            decided |= _equal_to(variable, rule)
    return found


def _equal_to(variable: str, rule: Rule) -> set[str]:
    """Return the variables that equalities identify with one; its cases are cases of them, too."""
    found = {variable}
    for _ in rule.body:
        found |= {name for link in links_of(rule.body) if found & set(link) for name in link}
    return found


def _classes(graph: RuleGraph, node: HyperNode) -> _PlaceClasses:
    """Return the classes of arguments of predicates, and of the variables of rules that carry them from one to another."""
    classes = _PlaceClasses()
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
                for bound in term.bounds if isinstance(term, Restricted) else ():
                    classes.add(place, replace(bound, negated=False))
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


class _PlaceClasses:
    """Positions that may hold the same values, by union-find, with the constants that occur at them."""

    def __init__(self) -> None:
        self._parents: dict[_Place, _Place] = {}
        self._found: list[tuple[_Place, Constant | ConstantBound]] = []

    def join(self, one: _Place, other: _Place) -> None:
        self._parents[self._root(one)] = self._root(other)

    def add(self, place: _Place, met: Constant | ConstantBound) -> None:
        self._found.append((place, met))

    def constants(self, place: _Place) -> list[Constant]:
        """Return the constants of a position, one of each value."""
        distinct: list[Constant] = []
        for met in self._at(place):
            if isinstance(met, Constant) and not any(equal(met.value, other.value) for other in distinct):
                distinct.append(met)
        return distinct

    def bounds(self, place: _Place) -> list[ConstantBound]:
        """Return the distinct comparisons by order of a position."""
        return list(dict.fromkeys(met for met in self._at(place) if isinstance(met, ConstantBound)))

    def _at(self, place: _Place) -> Iterator[Constant | ConstantBound]:
        root = self._root(place)
        return (met for one, met in self._found if self._root(one) == root)

    def _root(self, place: _Place) -> _Place:
        while (parent := self._parents.get(place, place)) != place:
            place = parent
        return place
