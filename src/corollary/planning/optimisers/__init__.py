"""Rewriting rules to equivalent ones with less work (paper 001, sections 2.3.4 and 2.3.5), before the normal form."""

from corollary.planning.optimisers.passes import (
    NAMES,
    PASSES,
    SUBSUMED,
    make_only_exact,
    optimised_rule,
    optimised_rules,
)

__all__ = ["NAMES", "PASSES", "SUBSUMED", "make_only_exact", "optimised_rule", "optimised_rules"]
