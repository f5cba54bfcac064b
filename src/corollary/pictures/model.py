"""The model of a picture of a program, for all formats: boxes with rules, edges between boxes, edges inside boxes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, TypeAlias

from corollary.analysis import Analysis, Dependency, HyperNode, RuleGraph
from corollary.language import Printer
from corollary.program import Rule

GraphName: TypeAlias = Literal["rules", "hyper-nodes", "both"]

# More edges than this inside one box would be a black square; the box shows their number instead.
MAX_INNER_EDGES = 400
NOT_STRATIFIED = "not stratified"
_SHOWN_REASONS = 6
_SHOWN_MEMBERS = 6
_KINDS = tuple(Dependency)


@dataclass(frozen=True)
class Row:
    """One rule: its name, its text on one line, and the part of the text that is its head."""

    name: str
    text: str
    head: str


@dataclass(frozen=True)
class Edge:
    """`target` uses what `source` derives; both are positions of boxes or of rows. `reason` is for a tooltip."""

    source: int
    target: int
    kind: Dependency
    reason: str


@dataclass(frozen=True)
class Box:
    """A hyper-node with its rules, or one rule. Without rows it is a junction, where edges meet and separate again."""

    name: str
    rows: tuple[Row, ...]
    module: str
    stratum: int
    inner: tuple[Edge, ...] = ()
    note: str = ""

    @property
    def is_junction(self) -> bool:
        return not self.rows

    @property
    def heading(self) -> str:
        """The module as text: `left-linear ×3` if there are three of a kind."""
        counts = Counter(self.module.split("+"))
        return " + ".join(name if count == 1 else f"{name} ×{count}" for name, count in counts.items())


@dataclass(frozen=True)
class Picture:
    """Boxes and edges; `boxes` are in topological order, so an edge that points backwards belongs to a cycle."""

    title: str
    counts: tuple[str, ...]
    is_stratified: bool
    boxes: tuple[Box, ...]
    edges: tuple[Edge, ...]

    @property
    def summary(self) -> str:
        return " · ".join(self.counts)


def picture_of(analysis: Analysis, graph: GraphName) -> Picture:
    """Return the rules of a program, its hyper-nodes, or its hyper-nodes with the rule graph inside each."""
    boxes, edges = _rule_boxes(analysis) if graph == "rules" else _hyper_node_boxes(analysis, inner=graph == "both")
    stratified = _is_stratified(analysis.graph)
    return Picture(_title(analysis), _counts(analysis.graph, stratified), stratified, tuple(boxes), tuple(edges))


def _title(analysis: Analysis) -> str:
    """Return the file of the rules, or both files, or the first of several; `program` for a text without a name."""
    names = dict.fromkeys(rule.span.source.name for rule in analysis.graph.rules.values() if rule.span)
    files = [Path(name).name for name in names if not name.startswith("<")]
    if len(files) > 2:
        return f"{files[0]} and {len(files) - 1} more"
    return " and ".join(files) or "program"


def _counts(graph: RuleGraph, stratified: bool) -> tuple[str, ...]:
    """Return `7 rules`, `4 hyper-nodes`, `2 strata`, and `not stratified` if that is so; nothing without rules."""
    if not graph.rules:
        return ()
    counts = [
        _counted(len(graph.rules), "rule", "rules"),
        _counted(len(graph.hyper_nodes), "hyper-node", "hyper-nodes"),
        _counted(len(set(graph.strata.values())), "stratum", "strata"),
    ]
    return tuple(counts) if stratified else (*counts, NOT_STRATIFIED)


def _row(rule: Rule, prefixes: dict[str, str]) -> Row:
    printer = Printer(prefixes)
    return Row(rule.name, printer.rule([rule.head], rule.body, width=None), printer.element(rule.head))


def _rule_boxes(analysis: Analysis) -> tuple[list[Box], list[Edge]]:
    graph, prefixes = analysis.graph, analysis.program.prefixes
    names = [name for node in graph.hyper_nodes for name in node.rules]
    modules = dict(zip(graph.hyper_nodes, analysis.modules, strict=True))
    boxes = [
        Box(name, (_row(graph.rules[name], prefixes),), modules[node], graph.strata[node])
        for node in graph.hyper_nodes
        for name in node.rules
    ]
    return boxes, _edges(graph, names, _found(graph, names))


def _hyper_node_boxes(analysis: Analysis, *, inner: bool) -> tuple[list[Box], list[Edge]]:
    graph, prefixes = analysis.graph, analysis.program.prefixes
    boxes: list[Box] = []
    for node, module in zip(graph.hyper_nodes, analysis.modules, strict=True):
        rows = tuple(_row(graph.rules[name], prefixes) for name in node.rules)
        found = _found(graph, node.rules) if inner else []
        box = Box(_short_name(node), rows, module, graph.strata[node])
        if len(found) > MAX_INNER_EDGES:
            boxes.append(replace(box, note=f"{len(found)} edges among these rules"))
        else:
            boxes.append(replace(box, inner=tuple(_edges(graph, node.rules, found))))
    return boxes, list(_hyper_edges(graph))


def _found(graph: RuleGraph, names: Sequence[str]) -> list[tuple[int, int, Dependency]]:
    """Return the rule edges among these rules, by position, one for each kind."""
    position = {name: index for index, name in enumerate(names)}
    found = [
        (position[source], position[target], kind)
        for source, target, kind in _rule_edges(graph, names)
        if target in position
    ]
    return sorted(found, key=_edge_order)


def _edges(graph: RuleGraph, names: Sequence[str], found: list[tuple[int, int, Dependency]]) -> list[Edge]:
    return [
        Edge(source, target, kind, _reason(graph, [(names[source], names[target])])) for source, target, kind in found
    ]


def _hyper_edges(graph: RuleGraph) -> Iterator[Edge]:
    home = _homes(graph)
    reasons: dict[tuple[int, int, Dependency], list[tuple[str, str]]] = {}
    for source, target, kind in _rule_edges(graph, graph.rules):
        start, end = home[source], home[target]
        if start != end:
            reasons.setdefault((start, end, kind), []).append((source, target))
    for start, end, kind in sorted(reasons, key=_edge_order):
        yield Edge(start, end, kind, _reason(graph, reasons[start, end, kind]))


def _rule_edges(graph: RuleGraph, names: Iterable[str]) -> Iterator[tuple[str, str, Dependency]]:
    """Yield the edges out of these rules, one for each kind."""
    for source, target, kinds in graph.rule_edges.edges_out_of(names):
        for kind in kinds:
            yield source, target, kind


def _reason(graph: RuleGraph, pairs: list[tuple[str, str]]) -> str:
    """Return `r3 → r7 by p3`, for a few of the pairs in the order of the program."""
    position = graph.positions
    ordered = sorted(pairs, key=lambda pair: (position[pair[0]], position[pair[1]]))
    shown = [f"{source} → {target} by {graph.rules[source].head.predicate}" for source, target in ordered]
    more = [f"and {len(shown) - _SHOWN_REASONS} more"] if len(shown) > _SHOWN_REASONS else []
    return ", ".join(shown[:_SHOWN_REASONS] + more)


def _edge_order(edge: tuple[int, int, Dependency]) -> tuple[int, int, int]:
    return edge[0], edge[1], _KINDS.index(edge[2])


def _is_stratified(graph: RuleGraph) -> bool:
    home = _homes(graph)
    return not any(
        kind.is_strict and home[source] == home[target] for source, target, kind in _rule_edges(graph, graph.rules)
    )


def _homes(graph: RuleGraph) -> dict[str, int]:
    """Return the position of each rule's hyper-node."""
    return {name: position for position, node in enumerate(graph.hyper_nodes) for name in node.rules}


def _counted(count: int, one: str, many: str) -> str:
    return f"{count} {one if count == 1 else many}"


def _short_name(node: HyperNode) -> str:
    """Return `{r1, r2}`, or `{r1, r2, r3, r4, … 40 rules}` if there are many; the first rule identifies a hyper-node."""
    if len(node.rules) <= _SHOWN_MEMBERS:
        return str(node)
    return "{" + ", ".join(node.rules[: _SHOWN_MEMBERS - 2]) + f", … {len(node.rules)} rules}}"
