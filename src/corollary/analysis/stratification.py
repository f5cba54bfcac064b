"""Stratification: no rule may depend on its own result under negation or inside an aggregate."""

from __future__ import annotations

import re
from collections.abc import Iterator

from corollary.analysis.rule_graph import Dependency, HyperNode, RuleGraph
from corollary.analysis.unification import may_unify
from corollary.diagnostics import Diagnostic, Span, catalogue
from corollary.language import print_element, print_rule
from corollary.program import Atom, atoms_of

_AUXILIARY, _VARIABLE = re.compile(r"<\\u0000([^>]*)>"), re.compile(r"\? x(\d+)")
_WORDS = {
    Dependency.POSITIVE: "uses",
    Dependency.NEGATIVE: "negates",
    Dependency.AGGREGATE: "aggregates over",
}


def check_stratification(graph: RuleGraph) -> Iterator[Diagnostic]:
    """One error per hyper-node that negates or aggregates what it derives itself, with a shortest cycle."""
    for node in graph.hyper_nodes:
        if len(node.rules) == 1 and not graph.is_recursive(node):
            continue
        cycle = _shortest_strict_cycle(graph, node)
        if cycle:
            yield _diagnostic(graph, cycle)


def _shortest_strict_cycle(graph: RuleGraph, node: HyperNode) -> list[str]:
    """Rule names r1 … rn where each uses what the next derives, the first of them strictly; empty when there is none."""
    inside = graph.rule_edges.inside(node.rules)
    strict = [
        (source, target)
        for source, target, kinds in sorted(inside.edges(), key=lambda e: (graph.positions[e[1]], e[0]))
        if any(kind.is_strict for kind in kinds)
    ]
    # An edge goes from the rule that derives to the rule that uses; the cycle is told from user to deriver.
    cycles = [list(reversed(inside.shortest_path(target, source))) for source, target in strict]
    return min(([cycle[-1], *cycle[:-1]] for cycle in cycles), key=len, default=[])


def _diagnostic(graph: RuleGraph, cycle: list[str]) -> Diagnostic:
    notes: list[str] = []
    span: Span | None = None
    for position, name in enumerate(cycle):
        supplier = cycle[(position + 1) % len(cycle)]
        atom, kind = _used_atom(graph, name, supplier, strict=position == 0)
        span = span or atom.span
        notes.append(f"{name}: {_readable(print_rule(graph.rules[name]))}")
        notes.append(f"    {_WORDS[kind]} {_readable(print_element(atom))}, which {supplier} derives")
    head = graph.rules[cycle[0]].head.predicate
    way = "aggregates over" if any("aggregates" in note for note in notes[1:2]) else "negates"
    message = f"the program is not stratified: '{head}' {way} what depends on '{head}' itself"
    hint = "break the cycle, or separate the facts by different constants in the same argument"
    if way == "negates":
        hint += "; well-founded semantics lets it stand (--set semantics=well-founded)"
    return Diagnostic(catalogue.NOT_STRATIFIED, message, span, hint, tuple(notes))


def _readable(text: str) -> str:
    """A rule without what keeps auxiliary predicates and variables apart from those of the program."""
    return _VARIABLE.sub(lambda found: f"X{int(found[1]) + 1}", _AUXILIARY.sub(r"\1", text))


def _used_atom(graph: RuleGraph, user: str, supplier: str, *, strict: bool) -> tuple[Atom, Dependency]:
    rule, head = graph.rules[user], graph.rules[supplier].head
    found = [
        (atom, Dependency(kind))
        for atom, kind in atoms_of(rule.body, aggregated=rule.has_head_aggregate)
        if may_unify(head, atom)
    ]
    return next(((atom, kind) for atom, kind in found if kind.is_strict is strict), found[0])
