"""Rules as engines run them: what the language has beyond plain rules becomes plain rules about auxiliary predicates."""

from corollary.analysis.lowering.doubling import is_possible, possible, tells_possible
from corollary.analysis.lowering.equality import SAME
from corollary.analysis.lowering.lower import lower
from corollary.analysis.lowering.separation import is_case_of
from corollary.analysis.lowering.universe import with_universe

__all__ = ["SAME", "is_case_of", "is_possible", "lower", "possible", "tells_possible", "with_universe"]
