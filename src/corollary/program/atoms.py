"""Atoms and the other elements of a rule's body."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from corollary.diagnostics import Span
from corollary.program.terms import Term, Variable, Wildcard, subterms, variables_of


@dataclass(frozen=True, slots=True)
class Atom:
    """`predicate(arguments)`; the predicate is a plain name or the text of an IRI.

    `location` is the position of the argument written `@X`, which tells where a fact is stored.
    """

    predicate: str
    arguments: tuple[Term, ...]
    span: Span | None = field(default=None, compare=False, repr=False)
    location: int | None = field(default=None, repr=False)

    @property
    def arity(self) -> int:
        return len(self.arguments)


EQUALITY = "="
"""The predicate of a head that says which constants are equal: `X = Y :- …`."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """`left op right` with op one of `= != < <= > >=`; `=` also gives a value to a variable without one."""

    operator: str
    left: Term
    right: Term
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Negation:
    """`not element`, which holds if nothing makes the element true."""

    element: Atom | Comparison
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Assignment:
    """`BIND(expression AS variable)`."""

    expression: Term
    variable: Variable
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class AggregateOperation:
    """`function(argument) AS result` of an aggregation."""

    function: str
    argument: Term
    result: Variable
    distinct: bool = False

    def __reduce__(self) -> tuple[Any, ...]:
        """Send an aggregate of the host program along to other processes."""
        from corollary.program.host_functions import carried

        return _sent_operation, (self.function, self.argument, self.result, self.distinct, carried(self.function))


def _sent_operation(function: str, argument: Term, result: Variable, distinct: bool, host: Any) -> AggregateOperation:
    if host is not None:
        from corollary.program.host_functions import install

        install(host)
    return AggregateOperation(function, argument, result, distinct)


@dataclass(frozen=True, slots=True)
class Aggregation:
    """`AGGREGATE(body) ON group_by WITH operation ...`.

    It ranges over the distinct bindings of the body's named variables, grouped by `group_by`; every other variable of
    the body is local.
    """

    body: tuple[BodyElement, ...]
    group_by: tuple[Variable, ...]
    operations: tuple[AggregateOperation, ...]
    span: Span | None = field(default=None, compare=False, repr=False)


BodyElement: TypeAlias = Atom | Comparison | Negation | Assignment | Aggregation


def terms_of(element: BodyElement) -> Iterator[Term]:
    """Yield the outermost terms of a body element as seen from outside: for an aggregation only its groups and results."""
    match element:
        case Atom():
            yield from element.arguments
        case Comparison():
            yield element.left
            yield element.right
        case Negation():
            yield from terms_of(element.element)
        case Assignment():
            yield element.expression
            yield element.variable
        case Aggregation():
            yield from element.group_by
            yield from (operation.result for operation in element.operations)


def all_terms_of(element: BodyElement) -> Iterator[Term]:
    """Like `terms_of`, including the terms inside an aggregation."""
    if isinstance(element, Aggregation):
        for inner in element.body:
            yield from all_terms_of(inner)
        yield from (operation.argument for operation in element.operations)
    yield from terms_of(element)


def element_variables(element: BodyElement) -> Iterator[Variable]:
    """Yield the named variables that the element shares with the rest of its body; they may repeat."""
    for term in terms_of(element):
        yield from variables_of(term)


def has_wildcard(element: BodyElement) -> bool:
    return any(isinstance(part, Wildcard) for term in terms_of(element) for part in subterms(term))


def atoms_of(elements: tuple[BodyElement, ...], *, aggregated: bool = False) -> Iterator[tuple[Atom, str]]:
    """Yield every atom of a body with how it occurs: "positive", "negative" or "aggregate" (every atom, under a head
    aggregate)."""
    for element in elements:
        match element:
            case Atom():
                yield element, "aggregate" if aggregated else "positive"
            case Negation(element=Atom() as atom):
                yield atom, "aggregate" if aggregated else "negative"
            case Aggregation():
                yield from atoms_of(element.body, aggregated=True)
            case _:
                pass
