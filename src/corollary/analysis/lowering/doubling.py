"""Well-founded semantics: besides true facts, possible ones (true or undefined).

A rule that may depend on its own negation, or on such a rule, is doubled. True facts follow from true facts where the
negated facts are not even possible; possible facts follow from possible facts where the negated facts are not true.
Only the hyper-nodes with a negation inside are then not plain rules: engines evaluate the two kinds in alternation,
until nothing changes.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace

from corollary.analysis.lowering.bodies import variables, with_atoms
from corollary.analysis.lowering.negations import with_known_negations
from corollary.analysis.rule_graph import RuleGraph
from corollary.diagnostics import Diagnostic, ProgramError, catalogue
from corollary.language import print_rule
from corollary.program import Atom, BodyElement, Query, Rule, atoms_of

_POSSIBLE = "\0possible\0"


def possible(predicate: str) -> str:
    """Return the predicate of true or undefined facts; no program text contains such a name."""
    return _POSSIBLE + predicate


def is_possible(predicate: str) -> bool:
    return predicate.startswith(_POSSIBLE)


def tells_possible(graph: RuleGraph, predicate: str) -> bool:
    """Return whether facts of a predicate may be undefined."""
    return any(rule.head.predicate == possible(predicate) for rule in graph.rules.values())


def asked_of_doubled(query: Query, graph: RuleGraph) -> Query:
    """Return the query for doubled rules: its negated facts must not even be possible."""
    heads = {rule.head.predicate for rule in graph.rules.values()}
    undecided = {predicate for predicate in heads if possible(predicate) in heads}
    if not undecided:
        return query
    _refuse_aggregates(query.body, undecided)
    return replace(query, body=tuple(_for_true(element, undecided) for element in query.body))


def doubled(graph: RuleGraph) -> tuple[Rule, ...]:
    """Return the rules of a graph, with a second one for possible facts beside each that an undefined fact may reach."""
    doubtful = _doubtful(graph)
    split = [part for rule in graph.rules.values() for part in _split(rule, doubtful)]
    undecided = _undecided_heads(RuleGraph.of(split))
    arities = {rule.head.predicate: rule.head.arity for rule in split}
    made = [part for rule in split for part in _twice(rule, undecided)]
    bridges = [_bridge(predicate, arities[predicate]) for predicate in undecided]
    return (*made, *bridges)


def _split(rule: Rule, doubtful: set[str]) -> tuple[Rule, ...]:
    return with_known_negations(rule, every=True) if rule.name in doubtful else (rule,)


def _doubtful(graph: RuleGraph) -> set[str]:
    """Return the rules of hyper-nodes with a negation inside, and all rules that depend on them."""
    start = [name for node in graph.hyper_nodes if graph.is_undecided(node) for name in node.rules]
    return graph.rule_edges.reached_from(start)


def _undecided_heads(graph: RuleGraph) -> list[str]:
    """Return predicates with possibly undefined facts, in the order of the rules."""
    doubtful = _doubtful(graph)
    heads = {rule.head.predicate for rule in graph.rules.values() if rule.name in doubtful}
    changed = True
    while changed:  # a predicate is doubled as a whole, and so are its readers, whatever their constants
        changed = False
        for rule in graph.rules.values():
            if rule.head.predicate not in heads and any(atom.predicate in heads for atom, _ in atoms_of(rule.body)):
                heads.add(rule.head.predicate)
                changed = True
    return list(dict.fromkeys(rule.head.predicate for rule in graph.rules.values() if rule.head.predicate in heads))


def _twice(rule: Rule, undecided: Collection[str]) -> Iterator[Rule]:
    if rule.head.predicate not in undecided or not any(atom.predicate in undecided for atom, _ in atoms_of(rule.body)):
        yield rule
        return
    _refuse_aggregates(rule.body, undecided, rule)
    yield replace(rule, body=tuple(_for_true(element, undecided) for element in rule.body))
    head = _as_possible(rule.head, undecided)
    body = tuple(_for_possible(element, undecided) for element in rule.body)
    yield Rule(f"{rule.name} possibly", head, body, rule.span)


def _as_possible(atom: Atom, undecided: Collection[str]) -> Atom:
    return replace(atom, predicate=possible(atom.predicate)) if atom.predicate in undecided else atom


def _for_true(element: BodyElement, undecided: Collection[str]) -> BodyElement:
    return with_atoms(element, lambda atom, negated: _as_possible(atom, undecided) if negated else atom)


def _for_possible(element: BodyElement, undecided: Collection[str]) -> BodyElement:
    return with_atoms(element, lambda atom, negated: atom if negated else _as_possible(atom, undecided))


def _bridge(predicate: str, arity: int) -> Rule:
    """Return the rule that true facts are possible: explicit facts, and those of rules that nothing undefined reaches."""
    arguments = variables(arity)
    name = predicate.removeprefix("\0")
    return Rule(f"{name} is possible", Atom(possible(predicate), arguments), (Atom(predicate, arguments),))


def _refuse_aggregates(body: tuple[BodyElement, ...], undecided: Collection[str], rule: Rule | None = None) -> None:
    """Raise if an aggregate of a rule, or of a query, ranges over possibly undefined facts."""
    for atom, kind in atoms_of(body, aggregated=rule is not None and rule.has_head_aggregate):
        if kind == "aggregate" and atom.predicate in undecided:
            message = f"an aggregate ranges over '{atom.predicate}', of which facts may be undefined"
            notes = () if rule is None else (f"in rule {rule.name}: {print_rule(rule)}",)
            hint = "aggregates need facts that are true or false: break the cycle of negation that they depend on"
            raise ProgramError([Diagnostic(catalogue.UNDEFINED_AGGREGATE, message, atom.span, hint, notes)])
