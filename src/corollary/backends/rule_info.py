"""Information about the rules of a knowledge base."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from corollary.analysis import Analysis, HyperNode, RuleGraph, module_name
from corollary.analysis.lowering import evaluated_names, is_case_of, written_name
from corollary.backends.backend import Backend
from corollary.language import print_rule
from corollary.program import Rule
from corollary.reasoning.run import Run


@dataclass(frozen=True)
class RuleInfo:
    """A rule, its hyper-node, and how many facts of its head that hyper-node derives."""

    name: str
    text: str
    hyper_node: str
    module: str
    strategy: str
    derived: int


def rule_infos(analysis: Analysis, backend: Backend, run: Run) -> list[RuleInfo]:
    """Return the rules of the program, in order."""
    owners = backend.owners({rule.head.predicate for rule in analysis.lowered.rules.values()}, run)
    return [_info(rule, analysis, backend, owners) for rule in analysis.graph.rules.values()]


def owners_by_name(predicate: str, analysis: Analysis, backend: Backend, run: Run) -> dict[str, int]:
    """Return how many facts of a predicate each owner supports; hyper-nodes are named like in `rules`."""
    # Closures run apart from the rest of their hyper-node, under names made from those of its rules.
    lowered = analysis.lowered
    shown = {
        str(node): str(lowered.node_of.get(written_name(node.rules[0], lowered.rules), node))
        for node in analysis.evaluated.hyper_nodes
    }
    found: dict[str, int] = {}
    for owner, count in backend.owners([predicate], run)[predicate].items():
        name = shown.get(owner, owner)
        found[name] = found.get(name, 0) + count
    return found


def _info(rule: Rule, analysis: Analysis, backend: Backend, owners: dict[str, dict[str, int]]) -> RuleInfo:
    """Return the information on a rule; rules split by constants are in several hyper-nodes, and modules of one may
    have their own rules."""
    graph = analysis.lowered
    cases = [name for name in graph.rules if is_case_of(name, rule.name)]
    nodes = list(dict.fromkeys(graph.node_of[name] for name in cases))
    heads = {graph.rules[name].head.predicate for name in cases}
    evaluated = [one for node in nodes for one in _evaluated(node.rules, analysis.evaluated)]
    own = _evaluated(cases, analysis.evaluated) or evaluated
    return RuleInfo(
        rule.name,
        print_rule(rule, analysis.program.prefixes),
        " ".join(map(str, nodes)),
        module_name(graph, nodes[0]),
        backend.strategy(own[0]),
        sum(owners[head].get(str(node), 0) for head in heads for node in evaluated),
    )


def _evaluated(names: Sequence[str], graph: RuleGraph) -> list[HyperNode]:
    """Return the hyper-nodes, and those of their modules, in which engines run rules of these names."""
    found = (graph.node_of[one] for name in names for one in evaluated_names(name) if one in graph.rules)
    return list(dict.fromkeys(found))
