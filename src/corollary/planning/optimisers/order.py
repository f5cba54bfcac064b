"""The order of literals in a body, and of the rules of a hyper-node (paper 001, section 2.3.4)."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import replace
from heapq import heapify, heappop, heappush

from corollary.analysis import limited_variables
from corollary.analysis.unification import may_unify
from corollary.planning.optimisers.equalities import bound_by_facts
from corollary.program import Assignment, Atom, BodyElement, Comparison, Negation, Rule, atoms_of, element_variables


def most_restrictive_first(rule: Rule, *, exact: bool = False) -> Rule:
    """Return the rule with its most restrictive literals first.

    Ground atoms and tests come first, then the other atoms, with tests and negations as soon as their variables have
    values. Elements that may give a variable its value keep their order, because the first of them does.
    """
    order = _Ordering(rule.body).order()
    return rule if order == sorted(order) else replace(rule, body=tuple(rule.body[place] for place in order))


class _Ordering:
    """The ordering of one body; each element is reconsidered only when one of its variables is no longer waited for."""

    def __init__(self, body: Sequence[BodyElement]) -> None:
        self._body = body
        by_facts = bound_by_facts(body)
        self._ranks = [_rank(element, by_facts) for element in body]
        self._variables = [{variable.name for variable in element_variables(element)} for element in body]
        self._waiting = dict.fromkeys(range(len(body)))
        self._atoms = sum(isinstance(element, Atom) for element in body)
        self._givers = deque(
            place
            for place, element in enumerate(body)
            if isinstance(element, (Comparison, Assignment)) and not _tests(element, by_facts)
        )
        """Comparisons and assignments that may give a variable its value; they keep their order, after all atoms."""
        self._bound: set[str] = set()
        self._has_given = False
        self._mentioning: dict[str, set[int]] = {}  # by variable: the elements that wait for it
        for place, names in enumerate(self._variables):
            for name in names:
                self._mentioning.setdefault(name, set()).add(place)
        givers = set(self._givers)
        self._blocked = {
            place: {name for name in self._variables[place] if self._blocks(name, place)}
            for place, element in enumerate(body)
            if isinstance(element, (Negation, Comparison, Assignment)) and place not in givers
        }
        self._ready = [
            (self._ranks[place], place)
            for place in range(len(body))
            if place not in givers and not self._blocked.get(place)
        ]
        heapify(self._ready)

    def order(self) -> list[int]:
        order: list[int] = []
        while self._waiting:
            if self._givers and not self._atoms:
                heappush(self._ready, (self._ranks[self._givers[0]], self._givers.popleft()))
            _, chosen = heappop(self._ready) if self._ready else min((self._ranks[one], one) for one in self._waiting)
            if chosen in self._waiting:
                order.append(chosen)
                self._take(chosen, order)
        return order

    def _take(self, chosen: int, order: Sequence[int]) -> None:
        del self._waiting[chosen]
        element = self._body[chosen]
        self._atoms -= isinstance(element, Atom)
        for name in self._variables[chosen]:
            self._mentioning[name].discard(chosen)
        self._has_given = self._has_given or (
            chosen not in self._blocked and isinstance(element, (Comparison, Assignment))
        )
        if chosen in self._blocked:
            gained: set[str] = set()
        elif self._has_given:  # an equality gives a value as soon as its other variables have theirs
            gained = limited_variables([self._body[place] for place in order])
        else:
            gained = limited_variables([element])
        changed = (gained - self._bound) | self._variables[chosen]
        self._bound |= gained
        for name in changed:
            for place in self._mentioning.get(name, ()):
                blocked = self._blocked.get(place)
                if blocked and name in blocked and not self._blocks(name, place):
                    blocked.discard(name)
                    if not blocked:
                        heappush(self._ready, (self._ranks[place], place))

    def _blocks(self, name: str, place: int) -> bool:
        """Return whether an element waits for a variable. A variable that occurs only in one negation is existential,
        and never blocks."""
        if name in self._bound:
            return False
        return not isinstance(self._body[place], Negation) or self._mentioning[name] != {place}


def _rank(element: BodyElement, by_facts: set[str]) -> int:
    is_ground = not any(True for _ in element_variables(element))
    if isinstance(element, Atom):
        return 0 if is_ground else 4
    if _tests(element, by_facts):
        return 1 if is_ground else 2
    return 3 if isinstance(element, Negation) else 5


def _tests(element: BodyElement, by_facts: set[str]) -> bool:
    """Return whether an element gives no variable a value, so that it may stand anywhere after those that do."""
    is_test = isinstance(element, (Comparison, Assignment))
    return is_test and all(variable.name in by_facts for variable in element_variables(element))


def producers_first(rules: Sequence[Rule]) -> list[Rule]:
    """Return the rules of one hyper-node so that rules which feed others come first.

    Hyper-nodes are in that order anyway, but inside one each rule also depends on the others. So the next rule is the
    one that uses the least of what is still to come; among equals the first in the text.
    """
    waiting, ordered = list(rules), []
    while waiting:
        needs = [_needs(rule, waiting) for rule in waiting]
        ordered.append(waiting.pop(needs.index(min(needs))))
    return ordered


def _needs(rule: Rule, others: Sequence[Rule]) -> int:
    """Return how many other rules derive something that the rule uses."""
    used = [atom for atom, _ in atoms_of(rule.body)]
    return sum(any(may_unify(other.head, atom) for atom in used) for other in others if other is not rule)
