"""All rewritings, in order. Each takes rules and returns rules, unchanged if there is nothing to do."""

from __future__ import annotations

from collections.abc import Mapping, Set

from corollary.analysis.lowering.doubling import asked_of_doubled, doubled
from corollary.analysis.lowering.equality import with_congruence
from corollary.analysis.lowering.negations import with_known_negations
from corollary.analysis.lowering.precision import query_with_precision, with_precision
from corollary.analysis.lowering.separation import separated
from corollary.analysis.lowering.universe import UNIVERSE, limited_by_universe, with_universe
from corollary.analysis.meaning import Meaning
from corollary.analysis.rule_graph import RuleGraph
from corollary.program import Query
from corollary.program.patterns import Form


def lower(graph: RuleGraph, meaning: Meaning, arities: Mapping[str, int], forms: Set[Form]) -> RuleGraph:
    """Return the rules that engines run; the same graph if nothing must be rewritten.

    `arities` are those of all predicates that the program mentions, `forms` the forms of the terms that facts may have.
    Rules that engines run unchanged keep their names.
    """
    rules = tuple(graph.rules.values())
    congruent = {**arities, UNIVERSE: 1} if meaning.has_universe and forms else arities
    lowered = with_congruence(rules, congruent, forms)
    if meaning.has_universe:
        lowered = limited_by_universe(lowered, graph.rules.keys(), arities, meaning)
    lowered = with_precision(lowered, meaning.precision)
    lowered = tuple(part for rule in lowered for part in with_known_negations(rule))
    current = graph if lowered == rules else RuleGraph.of(lowered)
    if not current.has_undecided:
        return current
    if meaning.is_well_founded:
        return RuleGraph.of(doubled(current))
    decided = separated(current) if meaning.is_local else None
    return current if decided is None else RuleGraph.of(decided)


def lower_query(query: Query, meaning: Meaning, evaluated: RuleGraph) -> Query:
    """Return the query for facts derived by rules from `lower`."""
    asked = with_universe(query) if meaning.has_universe else query
    asked = query_with_precision(asked, meaning.precision)
    return asked_of_doubled(asked, evaluated) if meaning.is_well_founded else asked
