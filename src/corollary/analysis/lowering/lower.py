"""All rewritings, in order. Each takes rules and gives rules; what has nothing to do changes nothing."""

from __future__ import annotations

from collections.abc import Mapping

from corollary.analysis.lowering.doubling import doubled
from corollary.analysis.lowering.equality import with_congruence
from corollary.analysis.lowering.negations import with_known_negations
from corollary.analysis.lowering.separation import separated
from corollary.analysis.lowering.universe import limited_by_universe
from corollary.analysis.meaning import Meaning
from corollary.analysis.rule_graph import RuleGraph


def lower(graph: RuleGraph, meaning: Meaning, arities: Mapping[str, int]) -> RuleGraph:
    """The rules that engines run: the same graph where nothing has to be rewritten.

    `arities` are those of all predicates that the program mentions. Rules that engines run as they stand keep their names.
    """
    rules = tuple(graph.rules.values())
    lowered = with_congruence(rules, arities)
    if meaning.has_universe:
        lowered = limited_by_universe(lowered, arities, meaning)
    lowered = tuple(part for rule in lowered for part in with_known_negations(rule))
    current = graph if lowered == rules else RuleGraph.of(lowered)
    if not any(current.is_undecided(node) for node in current.hyper_nodes):
        return current
    decided = doubled(current) if meaning.is_well_founded else separated(current)
    return current if decided is None else RuleGraph.of(decided)
