"""Rules as engines run them: language features beyond plain rules become plain rules about auxiliary predicates."""

from corollary.analysis.lowering.closures import evaluated_names, with_external_facts, written_name
from corollary.analysis.lowering.doubling import is_possible, possible, tells_possible
from corollary.analysis.lowering.equality import SAME
from corollary.analysis.lowering.lower import lower, lower_query
from corollary.analysis.lowering.precision import query_with_precision, with_precision
from corollary.analysis.lowering.separation import is_case_of, rule_of_case
from corollary.analysis.lowering.universe import (
    UNIVERSE,
    body_with_universe,
    chosen_from,
    closed_predicate,
    external_predicate,
    stated_predicates,
    with_universe,
)

__all__ = [
    "SAME",
    "UNIVERSE",
    "body_with_universe",
    "chosen_from",
    "closed_predicate",
    "evaluated_names",
    "external_predicate",
    "is_case_of",
    "is_possible",
    "lower",
    "lower_query",
    "possible",
    "query_with_precision",
    "rule_of_case",
    "stated_predicates",
    "tells_possible",
    "with_external_facts",
    "with_precision",
    "with_universe",
    "written_name",
]
