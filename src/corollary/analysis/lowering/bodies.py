"""Small changes of bodies shared by several rewritings."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from corollary.program import Aggregation, Atom, BodyElement, Negation, Variable


def with_atoms(element: BodyElement, by: Callable[[Atom, bool], Atom]) -> BodyElement:
    """Return the element with its atom replaced; `by` is told whether the atom is negated. Aggregations stay as they are."""
    match element:
        case Atom():
            return by(element, False)
        case Negation(element=Atom() as atom):
            return replace(element, element=by(atom, True))
        case _:
            return element


def variables(count: int) -> tuple[Variable, ...]:
    """Return variables for the arguments of a predicate; no program text contains such names."""
    return tuple(Variable(f" x{position}") for position in range(count))


def inside_aggregations(
    element: BodyElement, by: Callable[[tuple[BodyElement, ...]], tuple[BodyElement, ...]]
) -> BodyElement:
    """Return the element with the body of an aggregation rewritten."""
    return replace(element, body=by(element.body)) if isinstance(element, Aggregation) else element
