"""Subsumption: removing rules whose heads another rule derives anyway.

A rule is subsumed if a substitution for the variables of another rule makes their heads the same and the other's body a
part of its own. That holds fact by fact only if facts bind all variables: with more atoms, an equality may give a
variable another constant.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from corollary.planning.optimisers.equalities import bound_by_facts
from corollary.program import (
    Aggregation,
    Arithmetic,
    Assignment,
    Atom,
    BodyElement,
    Comparison,
    Constant,
    FunctionTerm,
    ListTerm,
    Minus,
    Negation,
    Rule,
    Term,
    Variable,
    Wildcard,
    element_variables,
    terms_of,
    variables_of,
)

Terms = Mapping[str, Term]


def without_subsumed(rules: Sequence[Rule]) -> list[Rule]:
    """Return the rules without subsumed ones; of two that subsume each other the first stays."""
    kept: list[Rule] = []
    for place, rule in enumerate(rules):
        others = [*kept, *rules[place + 1 :]]
        if not any(subsumes(other, rule) and not (other not in kept and subsumes(rule, other)) for other in others):
            kept.append(rule)
    return kept


def subsumes(general: Rule, special: Rule) -> bool:
    """Return whether the general rule derives every fact that the special rule derives."""
    if general.head.predicate != special.head.predicate or len(general.body) > len(special.body):
        return False
    if special.has_head_aggregate or not _is_plain(general):
        return False
    start = _matched(general.head, special.head, {})
    return start is not None and _covers(general.body, special.body, start)


def _is_plain(rule: Rule) -> bool:
    if rule.has_head_aggregate or any(isinstance(one, (Aggregation, Assignment)) for one in rule.body):
        return False
    names = {variable.name for element in (rule.head, *rule.body) for variable in element_variables(element)}
    return names <= bound_by_facts(rule.body)


def _covers(general: Sequence[BodyElement], special: Sequence[BodyElement], terms: Terms) -> bool:
    """Return whether some substitution turns every element of the general body into an element of the special one."""
    if not general:
        return True
    first, *rest = general
    found = (_matched(first, element, terms) for element in special)
    return any(extended is not None and _covers(rest, special, extended) for extended in found)


def _matched(general: BodyElement, special: BodyElement, terms: Terms) -> Terms | None:
    """Return the substitution that makes one element the other; None if there is none."""
    match general, special:
        case Negation(), Negation():
            return _matched(general.element, special.element, terms)
        case Atom(), Atom() if (general.predicate, general.arity) == (special.predicate, special.arity):
            pass
        case Comparison(), Comparison() if general.operator == special.operator:
            pass
        case _:
            return None
    extended: Terms | None = terms
    for mine, theirs in zip(terms_of(general), terms_of(special), strict=True):
        extended = _matched_term(mine, theirs, extended) if extended is not None else None
    return extended


def _matched_term(general: Term, special: Term, terms: Terms) -> Terms | None:
    match general:
        case Variable(name=name):
            if name in terms:
                return terms if terms[name] == special else None
            is_value = isinstance(special, (Variable, Constant))
            return {**terms, name: special} if is_value else None
        case Wildcard():
            return terms if isinstance(special, Wildcard) else None
        case Constant():
            return terms if general == special else None
        case Arithmetic() | Minus() | FunctionTerm() | ListTerm():
            # The same expression over variables that are already matched.
            same = {variable.name: Variable(variable.name) for variable in variables_of(general)}
            is_same = general == special and all(terms.get(name, term) == term for name, term in same.items())
            return {**terms, **same} if is_same else None
        case _:
            return None
