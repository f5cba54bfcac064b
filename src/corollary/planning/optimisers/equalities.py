"""Equalities in a body, which give a variable a value or compare existing values; where possible, they become joins."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from corollary.analysis import limited_variables
from corollary.program import (
    Aggregation,
    Assignment,
    Atom,
    BodyElement,
    Comparison,
    Constant,
    Iri,
    Rule,
    Term,
    Variable,
    element_variables,
    rename_element,
    rewrite_atom,
)


def equalities(rule: Rule) -> Iterator[tuple[Comparison, Variable, Term]]:
    """Yield each equality of the body with a variable that could be replaced, and the term it equals.

    A variable that an aggregation names or that BIND assigns cannot be replaced.
    """
    fixed = {
        variable.name
        for element in rule.body
        if isinstance(element, (Aggregation, Assignment))
        for variable in ([element.variable] if isinstance(element, Assignment) else element_variables(element))
    }
    for element in rule.body:
        if isinstance(element, Comparison) and element.operator == "=":
            for mine, other in ((element.right, element.left), (element.left, element.right)):
                if isinstance(mine, Variable) and mine.name not in fixed and mine != other:
                    yield element, mine, other


def bound_by_facts(body: Sequence[BodyElement]) -> set[str]:
    """Return the variables that get values from facts and groups; equalities compare them by value."""
    return limited_variables([one for one in body if isinstance(one, (Atom, Aggregation))])


def gives_value(equality: Comparison, variable: Variable, other: Term, body: Sequence[BodyElement]) -> bool:
    """Return whether this equality makes a variable identical with a constant, or with a term whose value comes from
    facts.

    If several equalities could, the first in the text does.
    """
    by_facts = bound_by_facts(body)
    known = isinstance(other, Constant) or (isinstance(other, Variable) and other.name in by_facts)
    if variable.name in by_facts or not known:
        return False
    mentioning = (
        one for one in body if isinstance(one, (Comparison, Assignment)) and variable in element_variables(one)
    )
    return next((one for one in mentioning if _may_give_value(one)), None) is equality


def _may_give_value(element: Comparison | Assignment) -> bool:
    return isinstance(element, Assignment) or element.operator == "="


def is_like_no_other(term: Term) -> bool:
    """Return whether a constant equals only itself: numbers of different types may be equal, texts never are."""
    return isinstance(term, Constant) and isinstance(term.value, (str, bool, Iri))


def substituted(rule: Rule, variable: Variable, term: Term, equality: BodyElement) -> Rule:
    """Return the rule with the term for the variable, and without the equality that allows it."""

    def by(one: Variable) -> Term:
        return term if one == variable else one

    body = (rename_element(element, by) for element in rule.body if element is not equality)  # type: ignore[arg-type]
    return replace(rule, head=rewrite_atom(rule.head, by), body=tuple(body))


def constants_for_variables(rule: Rule, *, exact: bool = False) -> Rule:
    """Return the rule with constants for variables that equal them: `q(X, Y), Y = "a"` looks up `q(X, "a")`.

    A variable bound by facts may hold another number of the same value. It is replaced only by a constant that equals
    no other one, or if all constants are `exact`.
    """
    for equality, mine, other in equalities(rule):
        if not isinstance(other, Constant):
            continue
        is_fact = mine.name in bound_by_facts(rule.body)
        if gives_value(equality, mine, other, rule.body) or (is_fact and (exact or is_like_no_other(other))):
            return constants_for_variables(substituted(rule, mine, other, equality), exact=exact)
    return rule


def join_condition(rule: Rule, *, exact: bool = False) -> Rule:
    """Return the rule with one variable for two that an equality makes the same: `q(X), r(Y), X = Y` joins like
    `q(X), r(X)`.

    An equality compares numbers by value, a join by identity: `1` and `1.0e0` are equal, yet two constants. So two
    variables bound by facts become one only if all constants are `exact`, that is, none equals another.
    """
    for equality, mine, other in equalities(rule):
        if not isinstance(other, Variable):
            continue
        are_facts = {mine.name, other.name} <= bound_by_facts(rule.body)
        if gives_value(equality, mine, other, rule.body) or (exact and are_facts):
            return join_condition(substituted(rule, mine, other, equality), exact=exact)
    return rule
