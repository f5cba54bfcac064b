"""Stratification: no rule may depend on its own result through negation or an aggregate."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from corollary.analysis.lowering.bodies import with_atoms
from corollary.analysis.lowering.negations import is_part_of_negation, written_atom
from corollary.analysis.lowering.separation import separated
from corollary.analysis.rule_graph import Dependency, HyperNode, RuleGraph
from corollary.analysis.unification import may_unify
from corollary.diagnostics import Diagnostic, Span, catalogue
from corollary.language import print_element, print_rule
from corollary.program import Atom, Rule, atoms_of

_AUXILIARY, _VARIABLE = re.compile(r"<\\u0000([^>]*)>"), re.compile(r"\? ([xy])(\d+)")
_MADE = re.compile(r"(?:^| )(same|universe) (?:\d+|stated|symmetric|transitive)$")
_PURPOSES = {"same": "equality", "universe": "universe"}
_WORDS = {
    Dependency.POSITIVE: "uses",
    Dependency.NEGATIVE: "negates",
    Dependency.AGGREGATE: "aggregates over",
}
_BREAK = "break the cycle"
_SEPARATE = f"{_BREAK}, or separate the facts by different constants in the same argument"
_ALLOW = f"{_BREAK}, or let constants separate the facts, as they do here (--set stratification=local)"


def check_stratification(graph: RuleGraph, *, local: bool = True) -> Iterator[Diagnostic]:
    """Yield one error per hyper-node that negates or aggregates its own predicates, with a shortest cycle.

    Unless constants may separate facts (`local`), a predicate counts as a whole.
    """
    hint = _SEPARATE
    if not local:
        hint = _ALLOW if _is_locally_stratified(graph) else _BREAK
        graph = RuleGraph.of(graph.rules.values(), local=False)
    for node in graph.hyper_nodes:
        if len(node.rules) == 1 and not graph.is_recursive(node):
            continue
        cycle = _shortest_strict_cycle(graph, node)
        if cycle:
            yield _diagnostic(graph, cycle, hint, local=local)


def _is_locally_stratified(graph: RuleGraph) -> bool:
    return not any(map(graph.is_undecided, graph.hyper_nodes)) or separated(graph) is not None


def _shortest_strict_cycle(graph: RuleGraph, node: HyperNode) -> list[str]:
    """Return rule names r1 … rn, each of which uses what the next derives, the first strictly; empty if there is none."""
    inside = graph.rule_edges.inside(node.rules)
    strict = [
        (source, target)
        for source, target, kinds in sorted(inside.edges(), key=lambda e: (graph.positions[e[1]], e[0]))
        if any(kind.is_strict for kind in kinds)
    ]
    # Edges lead from the deriving rule to the using one; the cycle is listed from user to deriver.
    cycles = [list(reversed(inside.shortest_path(target, source))) for source, target in strict]
    return min(([cycle[-1], *cycle[:-1]] for cycle in cycles), key=len, default=[])


def _diagnostic(graph: RuleGraph, cycle: list[str], hint: str, *, local: bool) -> Diagnostic:
    notes: list[str] = []
    span: Span | None = None
    for position, name in enumerate(cycle):
        if is_part_of_negation(name):
            continue  # its rule already shows what it negates
        supplier = cycle[(position + 1) % len(cycle)]
        atom, kind = _used_atom(graph, name, supplier, strict=position == 0, local=local)
        span = span or atom.span
        if is_part_of_negation(supplier):
            supplier = cycle[(position + 2) % len(cycle)]
        notes.append(f"{_label(name)}: {readable(print_rule(_as_written(graph.rules[name], graph)))}")
        derives = f"which {_label(supplier)} derives"
        if not local:
            derives = f"and {_label(supplier)} derives facts of '{atom.predicate}'"
        notes.append(f"    {_WORDS[kind]} {readable(print_element(written_atom(atom, graph)))}, {derives}")
    head = graph.rules[cycle[0]].head.predicate
    way = "aggregates over" if any("aggregates" in note for note in notes[1:2]) else "negates"
    message = f"the program is not stratified: '{head}' {way} facts that depend on '{head}'"
    if way == "negates":
        hint += "; or use well-founded semantics (--set semantics=well-founded)"
    return Diagnostic(catalogue.NOT_STRATIFIED, message, span, hint, tuple(notes))


def readable(text: str) -> str:
    """Return rules as printed, without the marks of auxiliary predicates and variables."""
    named = _VARIABLE.sub(lambda found: f"{found[1].upper()}{int(found[2]) + 1}", text)
    return _AUXILIARY.sub(lambda found: found[1].replace("\\u0000", " "), named)


def _label(name: str) -> str:
    """Return the name of a rule, or for a generated rule its purpose."""
    found = _MADE.search(name)
    return _PURPOSES[found[1]] if found else name


def _as_written(rule: Rule, graph: RuleGraph) -> Rule:
    body = (with_atoms(element, lambda atom, _: written_atom(atom, graph)) for element in rule.body)
    return replace(rule, body=tuple(body))


def _used_atom(graph: RuleGraph, user: str, supplier: str, *, strict: bool, local: bool) -> tuple[Atom, Dependency]:
    rule, head = graph.rules[user], graph.rules[supplier].head
    found = [
        (atom, Dependency(kind))
        for atom, kind in atoms_of(rule.body, aggregated=rule.has_head_aggregate)
        if (may_unify(head, atom) if local else atom.predicate == head.predicate)
    ]
    return next(((atom, kind) for atom, kind in found if kind.is_strict is strict), found[0])
