"""A constant for a variable that equals it: `q(X, Y), Y = "a"` looks up `q(X, "a")`.

A variable that facts bind may hold another number of the same value. It is replaced only by a constant that equals no other one,
or where all constants are `exact`.
"""

from __future__ import annotations

from corollary.planning.optimisers.equalities import (
    bound_by_facts,
    equalities,
    gives_value,
    is_like_no_other,
    substituted,
)
from corollary.program import Constant, Rule


def constants_for_variables(rule: Rule, *, exact: bool = False) -> Rule:
    for equality, mine, other in equalities(rule):
        if not isinstance(other, Constant):
            continue
        is_fact = mine.name in bound_by_facts(rule.body)
        if gives_value(equality, mine, other, rule.body) or (is_fact and (exact or is_like_no_other(other))):
            return constants_for_variables(substituted(rule, mine, other, equality), exact=exact)
    return rule
