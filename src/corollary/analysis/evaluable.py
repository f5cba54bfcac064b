"""What no engine evaluates: a negated function term or list of which a part is unknown, in a query."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from corollary.analysis.safety import limited_variables
from corollary.diagnostics import Diagnostic, catalogue
from corollary.program import (
    Aggregation,
    Atom,
    BodyElement,
    Negation,
    Query,
    Term,
    Variable,
    Wildcard,
    subterms,
)
from corollary.program.patterns import is_pattern

_HINT = "make it a rule of its own, q(X) :- p(f(X, _)), and negate that: not q(X)"


def check_evaluable(queries: Iterable[Query]) -> list[Diagnostic]:
    """An error for each term in these queries that no engine can match; in rules there is an auxiliary predicate for it."""
    message = "a function term or list with unknown parts cannot be negated in a query"
    return [
        Diagnostic(catalogue.NOT_EVALUATED, message, term.span, _HINT)
        for query in queries
        for term in _unknown(query.body)
    ]


def _unknown(body: tuple[BodyElement, ...]) -> Iterator[Term]:
    limited = limited_variables(body)
    for element in body:
        if isinstance(element, Aggregation):
            yield from _unknown(element.body)
        elif isinstance(element, Negation) and isinstance(element.element, Atom):
            for argument in element.element.arguments:
                if is_pattern(argument) and any(_is_unknown(part, limited) for part in subterms(argument)):
                    yield argument


def _is_unknown(part: Term, limited: set[str]) -> bool:
    return isinstance(part, Wildcard) or (isinstance(part, Variable) and part.name not in limited)
