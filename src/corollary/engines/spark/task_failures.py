"""A mistake of the program that a task came upon. Only texts come back from tasks; the place in the program is found here."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from corollary.diagnostics import CATALOGUE, Diagnostic, ProgramError, Span
from corollary.language import print_term
from corollary.planning import AggregateSource, NormalBody, NormalRule
from corollary.program import Term

Told = tuple[str, str, str | None]
"""The code, the message and the hint of a diagnostic."""

_EXPRESSION = re.compile(r"in rule (?P<rule>.+?): (?P<term>.+) has no value: ", re.DOTALL)


def told(error: ProgramError) -> Told:
    first = error.diagnostics[0]
    return first.kind.code, first.message, first.hint


def failure_of(code: str, message: str, hint: str | None, rules: Iterable[NormalRule]) -> ProgramError:
    """The error of a task that ran these rules."""
    return ProgramError([Diagnostic(CATALOGUE[code], message, _place(message, rules), hint)])


def _place(message: str, rules: Iterable[NormalRule]) -> Span | None:
    """Where the expression that a message is about stands in the program."""
    found = _EXPRESSION.match(message)
    if found is None:
        return None
    terms = (term for rule in rules if rule.name == found["rule"] for term in _terms(rule.body))
    return next((term.span for term in terms if print_term(term) == found["term"]), None)


def _terms(body: NormalBody) -> Iterator[Term]:
    yield from (compute.expression for compute in body.computes)
    yield from (side for compare in body.compares for side in (compare.left, compare.right))
    for source in body.sources:
        if isinstance(source, AggregateSource):
            yield from _terms(source.body)
