"""Which rules run by turns: those of a hyper-node that negates what it derives itself, under well-founded semantics."""

from __future__ import annotations

from collections.abc import Iterable

from corollary.analysis.lowering import is_possible
from corollary.planning.normal_form import NormalRule


def alternates(rules: Iterable[NormalRule]) -> bool:
    """Whether rules of one hyper-node come in two kinds, for what is true and for what is possible, that negate each other."""
    known = tuple(rules)
    heads = {rule.head.predicate for rule in known}
    if not any(map(is_possible, heads)):
        return False
    return any(atom.predicate in heads for rule in known for atom in rule.body.negated)
