"""The alternating fixpoint: a hyper-node with a negation inside, as well-founded semantics has it.

Its rules come in two kinds (see `analysis.lowering.doubling`). Those for what is possible run from nothing, against what is known
to be true so far; then those for what is true go on, against what is possible. What is true only grows and what is possible only
shrinks, so the two come to an end; what is possible but not true then is undefined.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from corollary.analysis.lowering import is_possible
from corollary.engines.embedded.relation import Relation
from corollary.planning import NormalRule

Fixpoint = Callable[[Sequence[NormalRule]], None]
"""Runs rules until they derive nothing new."""


def alternate(rules: Sequence[NormalRule], relations: dict[str, Relation], fixpoint: Fixpoint) -> None:
    """Adds what is true and what is possible to the relations, which hold what others support."""
    over = [rule for rule in rules if is_possible(rule.head.predicate)]
    under = [rule for rule in rules if not is_possible(rule.head.predicate)]
    start = {rule.head.predicate: relations[rule.head.predicate] for rule in over}
    known = -1
    while (now := _size(under, relations)) != known:
        known = now
        for predicate, relation in start.items():
            relations[predicate] = _copied(relation)
        fixpoint(over)
        fixpoint(under)
    for predicate, relation in start.items():
        found = relations[predicate]
        relation.widen(found.code_bits)
        relation.insert(found.facts[relation.size :])
        relations[predicate] = relation


def _size(rules: Sequence[NormalRule], relations: dict[str, Relation]) -> int:
    return sum(relations[predicate].size for predicate in {rule.head.predicate for rule in rules})


def _copied(relation: Relation) -> Relation:
    copied = Relation(relation.arity, relation.code_bits)
    copied.insert(relation.facts)
    return copied
