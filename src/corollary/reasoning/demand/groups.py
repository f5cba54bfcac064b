"""Aggregations of bodies become predicates of their own, so that what is demanded of their groups is a demand like any other."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from corollary.program import Aggregation, Atom, BodyElement, Rule
from corollary.reasoning.demand.names import RewrittenNames


def with_predicates_of_groups(rules: Iterable[Rule], names: RewrittenNames) -> list[Rule]:
    """Rewrite the rules so that each `AGGREGATE(…)` stands alone in the body of a rule whose head has its groups and results."""
    found: list[Rule] = []
    for rule in rules:
        parts = _SeparatedGroups(rule.name, names)
        body = parts.split(rule.body)
        found += [*parts.rules, replace(rule, body=body)]
    return found


class _SeparatedGroups:
    def __init__(self, rule: str, names: RewrittenNames) -> None:
        self._rule = rule
        self._names = names
        self.rules: list[Rule] = []

    def split(self, elements: tuple[BodyElement, ...]) -> tuple[BodyElement, ...]:
        return tuple(self._atom(one) if isinstance(one, Aggregation) else one for one in elements)

    def _atom(self, aggregation: Aggregation) -> Atom:
        inner = replace(aggregation, body=self.split(aggregation.body))
        name = self._names(f"{self._rule}_groups_{len(self.rules) + 1}")
        results = (operation.result for operation in aggregation.operations)
        atom = Atom(name, (*aggregation.group_by, *results))
        self.rules.append(Rule(name, atom, (inner,)))
        return atom
