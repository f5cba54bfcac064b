"""Matching function terms and lists with constants, as obviously as possible."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from corollary.program import Comparison, Constant, FunctionTerm, ListTerm, Structure, Term, Value, Variable, Wildcard
from corollary.program.patterns import pairs

Binding = dict[str, Constant]


@dataclass(frozen=True)
class Same:
    """Two terms that have to be the same constant, at least one of which is no function term and no list."""

    left: Term
    right: Term


def sameness(comparison: Comparison) -> list[Same] | None:
    """An equality with a function term or a list as what it asks of their parts; None where it can never hold."""
    found = pairs(comparison.left, comparison.right)
    return None if found is None else [Same(left, right) for left, right in found]


def matched(term: Term, value: Value, row: Binding) -> Binding | None:
    """The row with what the variables of a term without expressions have to be for it to be this constant."""
    if isinstance(term, Wildcard):
        return row
    if isinstance(term, Variable):
        constant = Constant(value)
        return {**row, term.name: constant} if row.get(term.name, constant) == constant else None
    if isinstance(term, Constant):
        return row if term == Constant(value) else None
    children = list(_children(term, value))
    if not children or children[0] is None:
        return row if children == [] else None
    found: Binding | None = row
    for child in children:
        assert child is not None
        found = matched(child[0], child[1], found) if found is not None else None
    return found


def _children(term: Term, value: Value) -> Iterator[tuple[Term, Value] | None]:
    """The children of a term, each with the part of the constant at its place; one None where the forms differ."""
    if isinstance(term, FunctionTerm) and isinstance(value, Structure):
        if (term.name, len(term.arguments)) == (value.name, len(value.arguments)):
            yield from zip(term.arguments, value.arguments, strict=True)
            return
    elif isinstance(term, ListTerm) and isinstance(value, tuple):
        count = len(term.items)
        if len(value) == count or (term.tail is not None and len(value) > count):
            yield from zip(term.items, value[:count], strict=True)
            if term.tail is not None:
                yield term.tail, value[count:]
            return
    yield None
