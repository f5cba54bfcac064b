"""Whether a rule's head can produce a fact that an atom of a body can use."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TypeAlias

from corollary.program import (
    Arithmetic,
    Assignment,
    Atom,
    BodyElement,
    Comparison,
    Constant,
    EvaluationError,
    FunctionTerm,
    ListTerm,
    Minus,
    Negation,
    Structure,
    Term,
    Variable,
    equal,
    find_function,
    rewrite_atom,
)
from corollary.program.evaluation import evaluate_term
from corollary.program.patterns import is_ground, is_pattern, terms_below


@dataclass(frozen=True, slots=True)
class Restricted(Variable):
    """A variable that equals a constant, or none of some constants, by value: `X = 2` is true of 2 and of 2.0e0."""

    value: Constant | None = None
    others: tuple[Constant, ...] = ()


def restrictions(body: Iterable[BodyElement]) -> dict[str, Restricted]:
    """What the comparisons of a body say about single variables."""
    elements = tuple(body)
    found: dict[str, Restricted] = {}
    for element in elements:
        match element:
            case Comparison(operator="=", left=Variable(name=name), right=term) if known := _constant(term):
                found[name] = Restricted(name, value=known)
            case Comparison(operator="=", left=term, right=Variable(name=name)) if known := _constant(term):
                found[name] = Restricted(name, value=known)
            case Assignment(expression=term, variable=Variable(name=name)) if known := _constant(term):
                found[name] = Restricted(name, value=known)
            case Comparison(operator="!=") | Negation(element=Comparison(operator="=")):
                _exclude(element.element if isinstance(element, Negation) else element, found)
    links = links_of(elements)
    for _ in links:
        for one, other in (*links, *((right, left) for left, right in links)):
            if one in found:
                found[other] = _both(found[one], found.get(other, Restricted(other)))
    return found


def links_of(body: Iterable[BodyElement]) -> list[tuple[str, str]]:
    """The names of variables that a body says are equal."""
    return [
        (element.left.name, element.right.name)
        for element in body
        if isinstance(element, Comparison)
        and element.operator == "="
        and isinstance(element.left, Variable)
        and isinstance(element.right, Variable)
    ]


def _both(one: Restricted, other: Restricted) -> Restricted:
    """What is known of a variable that equals another one."""
    if other.value is not None or one.value is not None:
        return replace(other, value=other.value or one.value, others=())
    return replace(other, others=tuple(dict.fromkeys((*other.others, *one.others))))


def _constant(term: Term) -> Constant | None:
    """The constant that a term without variables is."""
    if isinstance(term, Constant):
        return term
    if not isinstance(term, (Arithmetic, Minus)) or not is_ground(term):
        return None
    try:
        return Constant(evaluate_term(term, {}))
    except EvaluationError:
        return None


def _exclude(comparison: object, found: dict[str, Restricted]) -> None:
    assert isinstance(comparison, Comparison)
    for side, other in ((comparison.left, comparison.right), (comparison.right, comparison.left)):
        if isinstance(side, Variable) and isinstance(other, Constant):
            known = found.get(side.name, Restricted(side.name))
            if known.value is None:
                found[side.name] = replace(known, others=(*known.others, other))


def refined(atom: Atom, known: dict[str, Restricted]) -> Atom:
    """The atom with what is known about its variables."""
    return rewrite_atom(atom, lambda variable: known.get(variable.name, variable)) if known else atom


# -- unification -------------------------------------------------------------------------------------------------------

_Key: TypeAlias = tuple[str, str]
_Sided: TypeAlias = tuple[str, Term]


def may_unify(head: Atom, atom: Atom) -> bool:
    """False only when no fact can be an instance of both; their variables are taken apart, whatever their names."""
    if head.predicate != atom.predicate or head.arity != atom.arity:
        return False
    bound: dict[_Key, _Sided] = {}
    todo = [(("head", mine), ("atom", theirs)) for mine, theirs in zip(head.arguments, atom.arguments, strict=True)]
    while todo:
        left, right = (_resolve(side, bound) for side in todo.pop())
        pairs = _match(left, right, bound)
        if pairs is None:
            return False
        todo.extend(pairs)
    return True


def _resolve(sided: _Sided, bound: dict[_Key, _Sided]) -> _Sided:
    while isinstance(sided[1], Variable) and (found := bound.get((sided[0], sided[1].name))):
        sided = found
    return sided


def _match(left: _Sided, right: _Sided, bound: dict[_Key, _Sided]) -> list[tuple[_Sided, _Sided]] | None:
    """The pairs that must match for these two to match; None when they cannot."""
    mine, theirs = left[1], right[1]
    if isinstance(mine, Variable) and isinstance(theirs, Restricted) and not isinstance(mine, Restricted):
        left, right, mine, theirs = right, left, theirs, mine  # what is known about a variable must not get lost
    if isinstance(mine, Restricted) and _excludes(mine, theirs):
        return None
    if isinstance(theirs, Restricted) and _excludes(theirs, mine):
        return None
    if isinstance(theirs, Variable):
        if not (left[0] == right[0] and mine == theirs):
            bound[right[0], theirs.name] = left
        return []
    if isinstance(mine, Variable):
        bound[left[0], mine.name] = right
        return []
    if _is_open(mine) or _is_open(theirs):
        return []
    if isinstance(mine, Constant) and isinstance(theirs, Constant):
        return [] if mine == theirs else None
    mine, theirs = _as_pattern(mine), _as_pattern(theirs)
    found = terms_below(mine, theirs) if is_pattern(mine) and is_pattern(theirs) else None
    return None if found is None else [((left[0], one), (right[0], other)) for one, other in found]


def _excludes(restricted: Restricted, other: Term) -> bool:
    """Whether what is known about a variable says that it is not the other term."""
    if isinstance(other, Restricted):
        other = other.value if other.value is not None else other
    if isinstance(other, Constant):
        if restricted.value is not None:
            return not equal(restricted.value.value, other.value)
        return any(equal(one.value, other.value) for one in restricted.others)
    if is_pattern(other):
        return restricted.value is not None and not isinstance(restricted.value.value, (Structure, tuple))
    return False


def _is_open(term: Term) -> bool:
    """Arithmetic, built-in functions, aggregates and `_` can be any value."""
    if isinstance(term, FunctionTerm):
        return find_function(term.name) is not None
    return not isinstance(term, (Constant, ListTerm))


def _as_pattern(term: Term) -> Term:
    """A constant that is made of others, as the term that it is written as."""
    if isinstance(term, Constant) and isinstance(term.value, Structure):
        return FunctionTerm(term.value.name, tuple(map(Constant, term.value.arguments)))
    if isinstance(term, Constant) and isinstance(term.value, tuple):
        return ListTerm(tuple(map(Constant, term.value)))
    return term
