"""The order of literals in a body, and of rules in a hyper-node (paper 001, section 2.3.4)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from corollary.analysis import limited_variables
from corollary.analysis.unification import may_unify
from corollary.planning.optimisers.equalities import bound_by_facts
from corollary.program import Assignment, Atom, BodyElement, Comparison, Negation, Rule, atoms_of, element_variables


def most_restrictive_first(rule: Rule, *, exact: bool = False) -> Rule:
    """Return the rule with its literals ordered by how much they restrict.

    Ground atoms and tests come first, then atoms, and tests and negations as soon as they have their values. Elements that may
    give a variable its value keep their order, for the first of them does.
    """
    by_facts = bound_by_facts(rule.body)
    ordered: list[BodyElement] = []
    waiting = list(rule.body)
    while waiting:
        bound = limited_variables(ordered)
        ready = [element for element in waiting if _is_ready(element, bound, by_facts, waiting)]
        chosen = min(ready or waiting, key=lambda element: (_rank(element, by_facts), _place(waiting, element)))
        waiting.pop(_place(waiting, chosen))
        ordered.append(chosen)
    return rule if ordered == list(rule.body) else replace(rule, body=tuple(ordered))


def _place(elements: list[BodyElement], element: BodyElement) -> int:
    return next(place for place, one in enumerate(elements) if one is element)


def _rank(element: BodyElement, by_facts: set[str]) -> int:
    is_ground = not any(True for _ in element_variables(element))
    if isinstance(element, Atom):
        return 0 if is_ground else 4
    if _tests(element, by_facts):
        return 1 if is_ground else 2
    return 3 if isinstance(element, Negation) else 5


def _tests(element: BodyElement, by_facts: set[str]) -> bool:
    """Whether an element gives no value to a variable: it may stand anywhere after those that do."""
    is_test = isinstance(element, (Comparison, Assignment))
    return is_test and all(variable.name in by_facts for variable in element_variables(element))


def _is_ready(element: BodyElement, bound: set[str], by_facts: set[str], waiting: list[BodyElement]) -> bool:
    if isinstance(element, Negation):
        # Variables that occur nowhere else mean "there is none"; all others have their values by then.
        elsewhere = {one.name for other in waiting if other is not element for one in element_variables(other)}
        return not ({one.name for one in element_variables(element)} - bound) & elsewhere
    if _tests(element, by_facts):
        return all(variable.name in bound for variable in element_variables(element))
    if isinstance(element, (Comparison, Assignment)):
        others = [one for one in waiting if isinstance(one, (Comparison, Assignment)) and not _tests(one, by_facts)]
        return others[0] is element and not any(isinstance(one, Atom) for one in waiting)
    return True


def producers_first(rules: Sequence[Rule]) -> list[Rule]:
    """Return the rules of one hyper-node so that those that feed others come before them.

    Hyper-nodes run in that order anyway, but inside one each rule also waits for the others. So next comes the rule that uses
    least of what is still to come; among equals the first in the text.
    """
    waiting, ordered = list(rules), []
    while waiting:
        needs = [_needs(rule, waiting) for rule in waiting]
        ordered.append(waiting.pop(needs.index(min(needs))))
    return ordered


def _needs(rule: Rule, others: Sequence[Rule]) -> int:
    """How many other rules derive something that the rule uses."""
    used = [atom for atom, _ in atoms_of(rule.body)]
    return sum(any(may_unify(other.head, atom) for atom in used) for other in others if other is not rule)
