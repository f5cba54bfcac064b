"""The effect of inserted and deleted rules on hyper-nodes (paper 000, Algorithms 2 to 4).

Only the hyper-nodes that a change touches are computed again. Two ambiguities of the paper are settled here: an
inserted rule adds its edges to old rules, from old rules and among the new ones; a deleted rule impacts what is left of
its own hyper-node, while the consumers of what it derived get changed data, so they are in the plan but not among the
impacted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import repeat

from corollary.analysis.digraph import Digraph
from corollary.analysis.rule_graph import Dependency, HyperNode, RuleGraph, connect, link
from corollary.analysis.safety import check_rule_safety
from corollary.analysis.stratification import check_stratification
from corollary.diagnostics import Diagnostic, ProgramError, catalogue, did_you_mean
from corollary.language import goes_on
from corollary.program import Rule


@dataclass(frozen=True)
class RuleChange:
    """The graph after a change and the history of its hyper-nodes.

    `created` hyper-nodes consist of new rules only; `merged` maps a new hyper-node to the old ones it was made of,
    `split` an old one to its remaining pieces (one piece: it only shrank); `dropped` ones are removed, with their
    stores. `impacted` are the hyper-nodes whose rules changed, in order; `plan` is everything that these, or changed
    data, can reach.
    """

    graph: RuleGraph
    created: tuple[HyperNode, ...] = ()
    merged: dict[HyperNode, tuple[HyperNode, ...]] = field(default_factory=dict)
    split: dict[HyperNode, tuple[HyperNode, ...]] = field(default_factory=dict)
    dropped: tuple[HyperNode, ...] = ()
    impacted: tuple[HyperNode, ...] = ()
    plan: tuple[HyperNode, ...] = ()


def insert_rules(
    graph: RuleGraph, rules: Iterable[Rule], *, check: bool = True, tick: Callable[[], None] = goes_on
) -> RuleChange:
    """Return the change that adds these rules; raise `ProgramError` if it would break safety or stratification.

    `tick` is called now and then, and may stop it by raising.
    """
    added = list(rules)
    _refuse_taken_names(graph, added)
    new = {rule.name: rule for rule in added}
    if check and (mistakes := [found for rule in new.values() for found in check_rule_safety(rule)]):
        raise ProgramError(mistakes)
    rule_edges = graph.rule_edges.copy()
    rule_edges.add(new)
    old_rules, new_rules = list(graph.rules.values()), list(new.values())
    connect(rule_edges, old_rules, new_rules, tick=tick)
    connect(rule_edges, new_rules, old_rules, tick=tick)
    connect(rule_edges, new_rules, new_rules, tick=tick)
    changed = RuleGraph({**graph.rules, **new}, rule_edges, graph.hyper_edges.copy())
    alone = [HyperNode((name,)) for name in new]
    parts = _merge(changed, alone)
    if parts.keys() == set(alone) and not any(map(_is_used, repeat(changed), alone)):
        # Those whose names come last, and that nothing depends on, are the last in order.
        changed.keep_order((*graph.hyper_nodes, *alone))
    if check and (mistakes := list(check_stratification(changed))):
        raise ProgramError(mistakes)
    old_parts = {node: tuple(part for part in origin if part.rules[0] not in new) for node, origin in parts.items()}
    return RuleChange(
        changed,
        created=changed.order(node for node, origin in old_parts.items() if not origin),
        merged={node: changed_order for node, changed_order in old_parts.items() if changed_order},
        impacted=changed.order(parts),
        plan=_reached(changed, parts),
    )


def delete_rules(graph: RuleGraph, names: Iterable[str]) -> RuleChange:
    """Return the change that removes these rules; raise `ProgramError` for an unknown name."""
    gone = set(names)
    _refuse_unknown_names(graph, gone)
    consumers = {target for name in gone for target in graph.rule_edges.successors(name)} - gone
    rule_edges, hyper_edges = graph.rule_edges.copy(), graph.hyper_edges.copy()
    rule_edges.remove(gone)
    changed = RuleGraph({name: rule for name, rule in graph.rules.items() if name not in gone}, rule_edges, hyper_edges)
    dropped: list[HyperNode] = []
    split: dict[HyperNode, tuple[HyperNode, ...]] = {}
    for node in graph.order({graph.node_of[name] for name in gone}):
        left = [name for name in node.rules if name not in gone]
        hyper_edges.remove([node])
        if not left:
            dropped.append(node)
            continue
        pieces = rule_edges.inside(left).components()
        split[node] = tuple(changed.hyper_node_of_names(piece) for piece in pieces)
        hyper_edges.add(split[node])
    pieces_left = [piece for pieces in split.values() for piece in pieces]
    if not split and not any(map(_is_used, repeat(graph), dropped)):
        without = set(dropped)
        changed.keep_order(tuple(node for node in graph.hyper_nodes if node not in without))
    link(hyper_edges, rule_edges, pieces_left)
    # An edge between two untouched hyper-nodes cannot have depended on a deleted rule.
    fed = {changed.node_of[name] for name in consumers}
    return RuleChange(
        changed,
        split={node: changed.order(pieces) for node, pieces in split.items()},
        dropped=tuple(dropped),
        impacted=changed.order(pieces_left),
        plan=_reached(changed, {*pieces_left, *fed}),
    )


def _is_used(graph: RuleGraph, node: HyperNode) -> bool:
    return next(graph.hyper_edges.successors(node), None) is not None


def _merge(graph: RuleGraph, added: list[HyperNode]) -> dict[HyperNode, tuple[HyperNode, ...]]:
    """Add one hyper-node per new rule and merge those on a cycle; map each changed hyper-node to its parts."""
    edges = graph.hyper_edges
    edges.add(added)
    link(edges, graph.rule_edges, added)
    touched = set(added)
    changed: dict[HyperNode, tuple[HyperNode, ...]] = {}
    # Only nodes reachable from the new ones, and from which these are reachable, can be on a cycle with them.
    behind = edges.reached_from(touched)
    before = edges.reaching(touched, within=behind)
    around = edges.inside([node for node in edges.nodes if node in before] if len(before) > len(touched) else added)
    for component in around.components():
        if not component & touched:
            continue
        node = graph.hyper_node_of_names(name for part in component for name in part.rules)
        changed[node] = tuple(sorted(component, key=lambda part: graph.positions[part.rules[0]]))
        if len(component) > 1:
            _contract(edges, component, node)
    return changed


def _contract(edges: Digraph[HyperNode, Dependency], component: set[HyperNode], node: HyperNode) -> None:
    edges.add([node])
    for source, _, kinds in edges.edges_into(component):
        if source not in component:
            edges.connect(source, node, kinds)
    for _, target, kinds in edges.edges_out_of(component):
        if target not in component:
            edges.connect(node, target, kinds)
    edges.remove(component)


def _reached(graph: RuleGraph, start: Iterable[HyperNode]) -> tuple[HyperNode, ...]:
    return graph.order(graph.hyper_edges.reached_from(start))


def _refuse_taken_names(graph: RuleGraph, added: Sequence[Rule]) -> None:
    mistakes: list[Diagnostic] = []
    taken = set(graph.rules)
    for rule in added:
        if rule.name in taken:
            message = f"a rule '{rule.name}' exists already"
            mistakes.append(Diagnostic(catalogue.DUPLICATE_RULE_NAME, message, rule.span, "choose another name"))
        taken.add(rule.name)
    if mistakes:
        raise ProgramError(mistakes)


def _refuse_unknown_names(graph: RuleGraph, names: set[str]) -> None:
    unknown = [
        Diagnostic(catalogue.UNKNOWN_RULE, f"there is no rule '{name}'", None, did_you_mean(name, graph.rules))
        for name in sorted(names - set(graph.rules))
    ]
    if unknown:
        raise ProgramError(unknown)
