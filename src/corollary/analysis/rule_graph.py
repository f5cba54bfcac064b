"""The rule dependency graph and, on top of it, the graph of hyper-nodes (paper 000, sections 2.1 and 4.2).

A hyper-node is a strongly connected component of the rule graph: the unit of evaluation, storage and maintenance.
A `RuleGraph` is a value: changing rules gives a new one, and what did not change is shared.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from functools import cached_property

from corollary.analysis.digraph import Digraph
from corollary.analysis.unification import may_unify, refined, restrictions
from corollary.program import Atom, Rule, atoms_of


class Dependency(Enum):
    """How a rule uses what another derives."""

    POSITIVE = "positive"
    NEGATIVE = "negative"
    AGGREGATE = "aggregate"

    @property
    def is_strict(self) -> bool:
        """Whether the other rule must be finished first: under negation and inside aggregates."""
        return self is not Dependency.POSITIVE


@dataclass(frozen=True, slots=True)
class HyperNode:
    """Rules that depend on each other, by name, in the order of the program."""

    rules: tuple[str, ...]

    def __str__(self) -> str:
        return "{" + ", ".join(self.rules) + "}"


@dataclass(frozen=True, eq=False)
class RuleGraph:
    """`rule_edges` connects rule names, `hyper_edges` hyper-nodes; every edge has its `kinds`, a set of `Dependency`."""

    rules: dict[str, Rule]
    rule_edges: Digraph[str, Dependency]
    hyper_edges: Digraph[HyperNode, Dependency]

    @classmethod
    def of(cls, rules: Iterable[Rule], *, local: bool = True) -> RuleGraph:
        """The graph of these rules, whose names are distinct; unless it is `local`, constants tell nothing apart."""
        by_name = {rule.name: rule for rule in rules}
        rule_edges: Digraph[str, Dependency] = Digraph(by_name)
        connect(rule_edges, by_name.values(), by_name.values(), local=local)
        hyper_edges: Digraph[HyperNode, Dependency] = Digraph()
        graph = cls(by_name, rule_edges, hyper_edges)
        hyper_edges.add(graph.hyper_node_of_names(component) for component in rule_edges.components())
        link(hyper_edges, rule_edges, hyper_edges.nodes)
        return graph

    def hyper_node_of_names(self, names: Iterable[str]) -> HyperNode:
        return HyperNode(tuple(sorted(names, key=self.positions.__getitem__)))

    @cached_property
    def positions(self) -> dict[str, int]:
        return {name: position for position, name in enumerate(self.rules)}

    @cached_property
    def hyper_nodes(self) -> tuple[HyperNode, ...]:
        """In topological order; among those that may come next the one whose first rule stands first."""
        return tuple(self.hyper_edges.topological_order(lambda node: self.positions[node.rules[0]]))

    def order(self, nodes: Iterable[HyperNode]) -> tuple[HyperNode, ...]:
        """Some of the hyper-nodes in the order in which they have to be evaluated."""
        wanted = set(nodes)
        return tuple(node for node in self.hyper_nodes if node in wanted)

    @cached_property
    def node_of(self) -> dict[str, HyperNode]:
        """The hyper-node of each rule."""
        return {name: node for node in self.hyper_edges.nodes for name in node.rules}

    def edges(self, *, strict: bool) -> list[tuple[int, int]]:
        """Pairs of positions in `hyper_nodes` with a strict (negative or aggregate) or a positive dependency."""
        index = {node: position for position, node in enumerate(self.hyper_nodes)}
        return sorted(
            (index[source], index[target])
            for source, target, kinds in self.hyper_edges.edges()
            if any(kind.is_strict is strict for kind in kinds)
        )

    @cached_property
    def strata(self) -> dict[HyperNode, int]:
        """The number of strict dependencies on the way to a hyper-node, at most."""
        strata: dict[HyperNode, int] = {}
        for node in self.hyper_nodes:
            strata[node] = max(
                (
                    strata[source] + any(kind.is_strict for kind in kinds)
                    for source, _, kinds in self.hyper_edges.edges_into([node])
                ),
                default=0,
            )
        return strata

    def is_recursive(self, node: HyperNode) -> bool:
        return len(node.rules) > 1 or self.rule_edges.has_edge(node.rules[0], node.rules[0])

    def is_undecided(self, node: HyperNode) -> bool:
        """Whether rules of the hyper-node negate, or aggregate over, what the hyper-node itself derives."""
        return self.is_recursive(node) and any(
            kind.is_strict for _, _, kinds in self.rule_edges.inside(node.rules).edges() for kind in kinds
        )


def connect(
    edges: Digraph[str, Dependency], producers: Iterable[Rule], consumers: Iterable[Rule], *, local: bool = True
) -> None:
    """Adds the edges from each producer to each consumer that can use what it derives."""
    by_head: dict[str, list[tuple[str, Atom]]] = {}
    for rule in producers:
        head = refined(rule.head, restrictions(rule.body)) if local else rule.head
        by_head.setdefault(rule.head.predicate, []).append((rule.name, head))
    for consumer in consumers:
        known = restrictions(consumer.body) if local else {}
        for atom, kind in atoms_of(consumer.body, aggregated=consumer.has_head_aggregate):
            wanted = refined(atom, known)
            for producer, head in by_head.get(atom.predicate, ()):
                if not local or may_unify(head, wanted):
                    edges.connect(producer, consumer.name, [Dependency(kind)])


def link(
    hyper_edges: Digraph[HyperNode, Dependency], rule_edges: Digraph[str, Dependency], nodes: Iterable[HyperNode]
) -> None:
    """Adds the edges into and out of these hyper-nodes that the rule edges imply."""
    node_of = {name: node for node in hyper_edges.nodes for name in node.rules}
    for node in list(nodes):
        for source, target, kinds in [*rule_edges.edges_into(node.rules), *rule_edges.edges_out_of(node.rules)]:
            if source in node_of and target in node_of and node_of[source] != node_of[target]:
                hyper_edges.connect(node_of[source], node_of[target], kinds)
