"""Checks of queries against a program with its data, and warnings that data removes."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace

from corollary.analysis.analysis import Analysis
from corollary.analysis.lowering import with_universe
from corollary.analysis.meaning import Meaning
from corollary.analysis.safety import check_query_safety, limited_variables
from corollary.analysis.suspicions import undefined_functions
from corollary.analysis.value_kinds import ValueKinds
from corollary.diagnostics import MOST_SHOWN, Diagnostic, KnownNames, catalogue, did_you_mean
from corollary.program import (
    Aggregation,
    Atom,
    BodyElement,
    Negation,
    Query,
    Term,
    Variable,
    Wildcard,
    atoms_of,
    subterms,
)
from corollary.program.patterns import is_pattern


def check_query(
    query: Query, arities: Mapping[str, int], kinds: ValueKinds, meaning: Meaning | None = None
) -> list[Diagnostic]:
    """Return why a query cannot be asked, given arities and kinds of values of predicates."""
    has_universe = meaning is not None and meaning.has_universe
    safety = check_query_safety(with_universe(query) if has_universe else query)
    found = [*safety, *check_evaluable(queries=[query]), *undefined_functions(kinds, [query])]
    for atom, _ in atoms_of(query.body):
        arity = arities.get(atom.predicate, atom.arity)
        if arity != atom.arity:
            found.append(replace(arity_mismatch(atom.predicate, atom.arity, arity), span=atom.span))
    return found


def unknown_predicates(query: Query, known: Collection[str]) -> list[Diagnostic]:
    """Return a warning for each unknown predicate of a query; such a query has no answers."""
    return [
        Diagnostic(
            catalogue.UNKNOWN_IN_QUERY,
            f"nothing mentions '{atom.predicate}', so it has no facts",
            atom.span,
            did_you_mean(atom.predicate, known),
        )
        for atom, _ in atoms_of(query.body)
        if atom.predicate not in known
    ]


def remaining_warnings(analysis: Analysis, defined: Collection[str]) -> list[Diagnostic]:
    """Return the warnings that remain when these predicates have facts."""
    program = analysis.program
    bodies = [*(rule.body for rule in program.rules), *(query.body for query in program.queries)]
    names = {id(atom.span): atom.predicate for body in bodies for atom, _ in atoms_of(body)}
    found: list[Diagnostic] = []
    known = KnownNames(defined)
    for warning in analysis.warnings:
        if warning.kind in (catalogue.UNDEFINED_PREDICATE, catalogue.UNKNOWN_IN_QUERY):
            name = names.get(id(warning.span), "")
            if name in defined:
                continue
            if len(found) < MOST_SHOWN:
                warning = replace(warning, hint=warning.hint or known.hint(name))
        found.append(warning)
    return found


def arity_mismatch(name: str, here: int, elsewhere: int) -> Diagnostic:
    message = f"'{name}' has {_arguments(here)} here, but {_arguments(elsewhere)} elsewhere"
    return Diagnostic(catalogue.ARITY_MISMATCH, message)


def _arguments(count: int) -> str:
    return f"{count} argument{'' if count == 1 else 's'}"


_HINT = "put it into a rule, q(X) :- p(f(X, _)), and negate that: not q(X)"


def check_evaluable(queries: Iterable[Query]) -> list[Diagnostic]:
    """Return an error for each term in these queries that no engine can match; rules use an auxiliary predicate for it."""
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
