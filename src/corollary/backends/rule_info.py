"""What there is to say about the rules of a knowledge base."""

from __future__ import annotations

from dataclasses import dataclass

from corollary.analysis import Analysis, RuleGraph, module_name
from corollary.analysis.lowering import is_case_of
from corollary.backends.backend import Backend
from corollary.language import print_rule
from corollary.program import Rule


@dataclass(frozen=True)
class RuleInfo:
    """A rule, the hyper-node that it is part of, and how many facts of its head that hyper-node derives."""

    name: str
    text: str
    hyper_node: str
    module: str
    strategy: str
    derived: int


def rule_infos(analysis: Analysis, backend: Backend) -> list[RuleInfo]:
    """The rules of the program, in order."""
    graph = analysis.evaluated
    owners = {name: backend.owners(name) for name in {rule.head.predicate for rule in graph.rules.values()}}
    return [_info(rule, analysis, graph, backend, owners) for rule in analysis.graph.rules.values()]


def _info(
    rule: Rule, analysis: Analysis, graph: RuleGraph, backend: Backend, owners: dict[str, dict[str, int]]
) -> RuleInfo:
    """Rules that were split by constants are in several hyper-nodes."""
    cases = [name for name in graph.rules if is_case_of(name, rule.name)]
    nodes = list(dict.fromkeys(graph.node_of[name] for name in cases))
    heads = {graph.rules[name].head.predicate for name in cases}
    return RuleInfo(
        rule.name,
        print_rule(rule, analysis.program.prefixes),
        " ".join(map(str, nodes)),
        module_name(graph, nodes[0]),
        backend.strategy(nodes[0]),
        sum(owners[head].get(str(node), 0) for head in heads for node in nodes),
    )
