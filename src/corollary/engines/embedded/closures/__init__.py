"""Closures that stay exact while their edges change, at a cost in proportion to the change."""

from corollary.engines.embedded.closures.difference import PairDifference
from corollary.engines.embedded.closures.linear import MaintainedClosure
from corollary.engines.embedded.closures.symmetric import MaintainedSymmetricClosure

__all__ = [
    "MaintainedClosure",
    "MaintainedSymmetricClosure",
    "PairDifference",
]
