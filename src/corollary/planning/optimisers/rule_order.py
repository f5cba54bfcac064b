"""Rules that feed others come before them (paper 001, section 2.3.4).

Hyper-nodes run in that order anyway; this is the order of rules inside one, where each also waits for the others.
"""

from __future__ import annotations

from collections.abc import Sequence

from corollary.analysis.unification import may_unify
from corollary.program import Rule, atoms_of


def producers_first(rules: Sequence[Rule]) -> list[Rule]:
    """Next comes the rule that uses least of what is still to come; among equals the first in the text."""
    waiting, ordered = list(rules), []
    while waiting:
        needs = [_needs(rule, waiting) for rule in waiting]
        ordered.append(waiting.pop(needs.index(min(needs))))
    return ordered


def _needs(rule: Rule, others: Sequence[Rule]) -> int:
    """How many other rules derive something that the rule uses."""
    used = [atom for atom, _ in atoms_of(rule.body)]
    return sum(any(may_unify(other.head, atom) for atom in used) for other in others if other is not rule)
