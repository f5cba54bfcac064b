"""Identities that a rule needs to match: function terms and lists, made and taken apart by computations.

`p(f(X, [Y | _]))` becomes `p(V)`, with computations for the parts of V: each gives a variable its value, or compares with the
value that it has. In an equality, a side whose variables have values is made, and the other side is matched with it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from corollary.program import (
    Comparison,
    Constant,
    EvaluationError,
    Term,
    Variable,
    Wildcard,
    evaluate_term,
    subterms,
    variables_of,
)
from corollary.program.patterns import is_ground, is_pattern, pairs, parts

Fresh: TypeAlias = Callable[[], Variable]


@dataclass(frozen=True)
class Identical:
    """Two terms are the same constant."""

    left: Term
    right: Term


@dataclass(frozen=True)
class Given:
    """A variable is identical with the value of a term, and gets its value from it where it has none."""

    variable: Variable
    term: Term


Waiting: TypeAlias = Given | Identical


def folded(term: Term) -> Term:
    """A pattern without variables is the constant that it stands for, unless it has no value."""
    if is_pattern(term) and is_ground(term):
        try:
            return Constant(evaluate_term(term, {}), term.span)
        except EvaluationError:
            pass
    return term


def has_pattern(comparison: Comparison) -> bool:
    return comparison.operator == "=" and (is_pattern(comparison.left) or is_pattern(comparison.right))


def next_steps(one: Identical, bound: set[str], fresh: Fresh) -> list[Waiting] | None:
    """Return the next computations of an identity, now that some variables have values; None where it has to wait for more of
    them."""
    left, right = folded(one.left), folded(one.right)
    if is_pattern(left) and is_pattern(right):
        found = pairs(left, right)
        return _never(left, right, fresh) if found is None else [Identical(one, other) for one, other in found]
    for side, other in ((left, right), (right, left)):
        if isinstance(other, Wildcard):
            return [Given(fresh(), side)] if _is_known(side, bound) else [] if is_pattern(side) else None
        if not _is_known(side, bound):
            continue
        if isinstance(other, Variable):
            return [Given(other, side)]
        return _matched(side, other, bound, fresh)
    return None


def _never(left: Term, right: Term, fresh: Fresh) -> list[Waiting]:
    """Terms of different forms: nothing fits. Their variables get values all the same."""
    value, variables = fresh(), dict.fromkeys(one.name for side in (left, right) for one in variables_of(side))
    impossible = [Given(value, Constant(0)), Given(value, Constant(1))]
    return [*impossible, *(Given(Variable(name), Constant(0)) for name in variables)]


def _matched(side: Term, other: Term, bound: set[str], fresh: Fresh) -> list[Waiting] | None:
    """A side whose value is known, with a term that is no plain variable."""
    if isinstance(side, Variable):
        if is_pattern(other):
            return _taken_apart(side, other, fresh)
        return [Given(side, other)] if _is_known(other, bound) else None
    whole = fresh()
    return [Given(whole, side), Identical(whole, other)]


def _taken_apart(whole: Variable, pattern: Term, fresh: Fresh) -> list[Waiting]:
    found: list[Waiting] = []
    for child, part in parts(pattern, whole):
        child = folded(child)
        if isinstance(child, Variable):
            found.append(Given(child, part))
        elif not isinstance(child, Wildcard):
            piece = fresh()
            found += [Given(piece, part), Identical(piece, child)]
    if not found:  # nothing but `_`: the form counts all the same
        _, part = next(iter(parts(pattern, whole)))
        found.append(Given(fresh(), part))
    return found


def _is_known(term: Term, bound: set[str]) -> bool:
    return not _has_wildcard(term) and {variable.name for variable in variables_of(term)} <= bound


def _has_wildcard(term: Term) -> bool:
    return any(isinstance(part, Wildcard) for part in subterms(term))
