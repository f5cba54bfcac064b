"""Whether equal constants are the same one: then an equality may become a join."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from corollary.engines.embedded.universe import Kind, Universe
from corollary.planning.optimisers import make_only_exact
from corollary.program import Comparison, Rule

_EXACT = (Kind.INTEGER, Kind.LARGE_INTEGER, Kind.DECIMAL, Kind.STRING, Kind.IRI, Kind.BOOLEAN)


def has_exact_constants(universe: Universe, rules: Collection[Rule]) -> bool:
    """Whether no constant equals another one while these rules run; False where none of them asks for equality."""
    if not any(isinstance(one, Comparison) and one.operator == "=" for rule in rules for one in rule.body):
        return False
    counts = np.bincount(universe.kinds[: universe.size], minlength=len(Kind))
    return int(counts.sum()) == sum(int(counts[kind]) for kind in _EXACT) and make_only_exact(rules)
