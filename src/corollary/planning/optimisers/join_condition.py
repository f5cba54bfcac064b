"""One variable for two that an equality makes the same: `q(X), r(Y), X = Y` joins as `q(X), r(X)` does.

An equality compares numbers by value, a join by identity, and `1` and `1.0e0` are equal and yet two constants. So two variables
that facts bind become one only where all constants are `exact`: none equals another.
"""

from __future__ import annotations

from corollary.planning.optimisers.equalities import bound_by_facts, equalities, gives_value, substituted
from corollary.program import Rule, Variable


def join_condition(rule: Rule, *, exact: bool = False) -> Rule:
    for equality, mine, other in equalities(rule):
        if not isinstance(other, Variable):
            continue
        are_facts = {mine.name, other.name} <= bound_by_facts(rule.body)
        if gives_value(equality, mine, other, rule.body) or (exact and are_facts):
            return join_condition(substituted(rule, mine, other, equality), exact=exact)
    return rule
