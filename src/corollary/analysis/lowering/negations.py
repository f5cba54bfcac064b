"""Negated atoms with unknown parts: `not q(X, f(_))` uses an auxiliary predicate of the X for which there is such a
fact.

Engines look up plain atoms by their known arguments, so this is needed only for function terms or lists with unknown
parts, and everywhere in rules whose negations are decided during evaluation.
"""

from __future__ import annotations

import re
from dataclasses import replace

from corollary.analysis.lowering.bodies import inside_aggregations
from corollary.analysis.rule_graph import RuleGraph
from corollary.analysis.safety import limited_variables
from corollary.program import (
    Aggregation,
    Atom,
    BodyElement,
    Negation,
    Rule,
    Term,
    Variable,
    Wildcard,
    element_variables,
    rewrite_atom,
    subterms,
)
from corollary.program.patterns import is_pattern, with_computed

_MADE = re.compile(r" negates \d+$")


def with_known_negations(rule: Rule, *, every: bool = False) -> tuple[Rule, ...]:
    """Return the rule and those of its auxiliary predicates; with `every`, also for plain atoms with unknown arguments."""
    if not any(isinstance(element, (Negation, Aggregation)) for element in rule.body):
        return (rule,)
    made: list[Rule] = []

    def rewritten(body: tuple[BodyElement, ...]) -> tuple[BodyElement, ...]:
        limited = limited_variables(body)
        return tuple(inside_aggregations(known(element, limited), rewritten) for element in body)

    def known(element: BodyElement, limited: set[str]) -> BodyElement:
        if not (isinstance(element, Negation) and isinstance(element.element, Atom)):
            return element
        atom = element.element
        if not any(_is_unknown(argument, limited) and (every or is_pattern(argument)) for argument in atom.arguments):
            return element
        computed: dict[Variable, Term] = {}

        def named(term: Term) -> Term:
            """Return a variable for a term computed from known values, an argument of the auxiliary predicate."""
            variable = Variable(f" n{len(computed)}")
            computed[variable] = term
            return variable

        plain = replace(atom, arguments=tuple(with_computed(argument, named) for argument in atom.arguments))
        shared = tuple(
            map(Variable, dict.fromkeys(one.name for one in element_variables(plain) if one.name in limited))
        )
        name = f"{rule.name} negates {len(made) + 1}"
        made.append(Rule(name, Atom(f"\0{name}", (*shared, *computed)), (plain,), rule.span))
        return replace(element, element=Atom(f"\0{name}", (*shared, *computed.values()), atom.span))

    body = rewritten(rule.body)
    return (*made, replace(rule, body=body)) if made else (rule,)


def is_part_of_negation(rule: str) -> bool:
    """Return whether a rule belongs to an auxiliary predicate."""
    return _MADE.search(rule) is not None


def written_atom(atom: Atom, graph: RuleGraph) -> Atom:
    """Return the original atom for the body of an auxiliary predicate's rule; any other atom as it is."""
    name = atom.predicate.removeprefix("\0")
    if name == atom.predicate or not is_part_of_negation(name) or name not in graph.rules:
        return atom
    rule = graph.rules[name]
    (plain,) = rule.body
    assert isinstance(plain, Atom)
    given = dict(zip(rule.head.arguments, atom.arguments, strict=True))
    return rewrite_atom(plain, lambda variable: given.get(variable, variable))


def _is_unknown(term: Term, limited: set[str]) -> bool:
    return any(
        isinstance(part, Wildcard) or (isinstance(part, Variable) and part.name not in limited)
        for part in subterms(term)
    )
