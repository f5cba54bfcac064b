"""Facts about equal constants by representatives (union-find), where rules would replace one argument of one fact at a time.

What `analysis.lowering.equality` says in rules is the same: each fact is one about all constants that are equal to its own. So
the facts are looked at up to equality, one for each choice of classes, and every choice is written out once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np

from corollary.analysis.lowering import SAME
from corollary.engines.embedded.kernels.runner import Work
from corollary.engines.embedded.relations.relation import Codes, Relation
from corollary.planning import NormalRule
from corollary.program import Atom

Array: TypeAlias = np.ndarray[Any, Any]
_PIECE = 1 << 16  # choices of classes that are written out together


def congruent_predicate(rules: Sequence[NormalRule]) -> str | None:
    """The predicate of a hyper-node that only lets equal constants stand for each other; None where it does more."""
    (predicate, *others) = {rule.head.predicate for rule in rules}
    if others:
        return None
    for rule in rules:
        names = [source.predicate for source in rule.body.sources if isinstance(source, Atom)]
        if names != [predicate, SAME] or rule.body.negated or rule.body.computes or rule.body.compares:
            return None
    return predicate


def expand(relation: Relation, same: Relation, universe: int, work: Work) -> None:
    """Adds to a relation what follows from an equality, which is symmetric and transitive."""
    if not relation.size or not same.size:
        return
    classes = _EqualityClasses(same.facts, universe)
    chosen = np.unique(classes.representative[relation.facts], axis=0)
    chosen = chosen[(classes.sizes[chosen] > 1).any(axis=1)]
    for start in range(0, len(chosen), _PIECE):
        relation.insert(classes.members_of(chosen[start : start + _PIECE]))
        work.check()


class _EqualityClasses:
    """`representative` and `sizes` by code; a constant that is equal to no other is a class of its own."""

    def __init__(self, pairs: Codes, universe: int) -> None:
        self.representative = np.arange(universe, dtype=np.uint32)
        np.minimum.at(self.representative, pairs[:, 0], pairs[:, 1])
        self._members = np.argsort(self.representative, kind="stable").astype(np.uint32)
        self.sizes = np.bincount(self.representative, minlength=universe)
        self._starts = np.cumsum(self.sizes) - self.sizes

    def members_of(self, rows: Codes) -> Codes:
        """All rows of members of the classes that stand for them."""
        for place in range(rows.shape[1]):
            counts = self.sizes[rows[:, place]]
            ends = np.cumsum(counts)
            number = np.arange(ends[-1]) - np.repeat(ends - counts, counts)
            firsts = np.repeat(self._starts[rows[:, place]], counts)
            rows = np.repeat(rows, counts, axis=0)
            rows[:, place] = self._members[firsts + number]
        return rows
