"""Rules without which nothing is lost: another one derives all that they do.

A rule is subsumed when putting terms for the variables of the other makes their heads the same, and the other's body a part of
its own. That holds fact by fact only where facts bind all variables: an equality may give a variable another constant when
there are more atoms.
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
    """The rules without those that another one subsumes; of two that subsume each other the first stays."""
    kept: list[Rule] = []
    for place, rule in enumerate(rules):
        others = [*kept, *rules[place + 1 :]]
        if not any(subsumes(other, rule) and not (other not in kept and subsumes(rule, other)) for other in others):
            kept.append(rule)
    return kept


def subsumes(general: Rule, special: Rule) -> bool:
    """Whether every fact that the special rule derives is one that the general rule derives."""
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
    """Whether every element of one body is, under some replacement of its variables, an element of the other."""
    if not general:
        return True
    first, *rest = general
    found = (_matched(first, element, terms) for element in special)
    return any(extended is not None and _covers(rest, special, extended) for extended in found)


def _matched(general: BodyElement, special: BodyElement, terms: Terms) -> Terms | None:
    """The replacements that make an element the other one; None where there are none."""
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
            # The same expression over variables that are the same.
            same = {variable.name: Variable(variable.name) for variable in variables_of(general)}
            is_same = general == special and all(terms.get(name, term) == term for name, term in same.items())
            return {**terms, **same} if is_same else None
        case _:
            return None
