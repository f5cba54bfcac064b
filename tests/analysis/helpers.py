"""Rule graphs of short texts, in a form that reads well in tests."""

from corollary.analysis import RuleChange, RuleGraph
from corollary.language import parse_program
from corollary.program import Rule


def rules_of(text: str) -> tuple[Rule, ...]:
    return parse_program(text).rules


def graph_of(text: str) -> RuleGraph:
    return RuleGraph.of(rules_of(text))


def nodes(graph: RuleGraph) -> list[str]:
    """The hyper-nodes in their order, each as its rule names: `["r1", "r2 r3"]`."""
    return [" ".join(node.rules) for node in graph.hyper_nodes]


def rule_edges(graph: RuleGraph) -> set[str]:
    """`r1 -> r2` for a positive edge, `r1 -negative-> r2` and `r1 -aggregate-> r2` for the others."""
    return {
        f"{source} {'->' if kind.value == 'positive' else f'-{kind.value}->'} {target}"
        for source, target, kinds in graph.rule_edges.edges()
        for kind in kinds
    }


def shape(graph: RuleGraph) -> dict[str, object]:
    """Everything that an evaluation depends on."""
    return {
        "nodes": nodes(graph),
        "rule edges": rule_edges(graph),
        "positive": graph.edges(strict=False),
        "strict": graph.edges(strict=True),
        "strata": [graph.strata[node] for node in graph.hyper_nodes],
        "recursive": [graph.is_recursive(node) for node in graph.hyper_nodes],
    }


def told(change: RuleChange) -> dict[str, object]:
    """What a change says, without the parts that are empty."""
    said: dict[str, object] = {
        "created": [" ".join(node.rules) for node in change.created],
        "merged": {" ".join(new.rules): [" ".join(old.rules) for old in olds] for new, olds in change.merged.items()},
        "split": {" ".join(old.rules): [" ".join(new.rules) for new in news] for old, news in change.split.items()},
        "dropped": [" ".join(node.rules) for node in change.dropped],
        "impacted": [" ".join(node.rules) for node in change.impacted],
        "plan": [" ".join(node.rules) for node in change.plan],
    }
    return {name: value for name, value in said.items() if value}
