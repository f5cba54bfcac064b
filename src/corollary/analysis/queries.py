"""Queries that are asked of a program with its data, and doubts that data settles."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

from corollary.analysis.analysis import Analysis
from corollary.analysis.evaluable import check_evaluable
from corollary.analysis.lowering import with_universe
from corollary.analysis.meaning import Meaning
from corollary.analysis.safety import check_query_safety
from corollary.diagnostics import Diagnostic, catalogue, did_you_mean
from corollary.program import Query, atoms_of


def check_query(query: Query, arities: Mapping[str, int], meaning: Meaning | None = None) -> list[Diagnostic]:
    """Why a query cannot be asked, where predicates have these numbers of arguments."""
    has_universe = meaning is not None and meaning.has_universe
    safety = check_query_safety(with_universe(query) if has_universe else query)
    found = [*safety, *check_evaluable(queries=[query])]
    for atom, _ in atoms_of(query.body):
        arity = arities.get(atom.predicate, atom.arity)
        if arity != atom.arity:
            found.append(replace(arity_mismatch(atom.predicate, atom.arity, arity), span=atom.span))
    return found


def unknown_predicates(query: Query, known: Collection[str]) -> list[Diagnostic]:
    """A warning for each predicate of a query that is not known; such a query has no answers."""
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
    """What is still doubtful about a program when these predicates have got facts."""
    program = analysis.program
    bodies = [*(rule.body for rule in program.rules), *(query.body for query in program.queries)]
    names = {id(atom.span): atom.predicate for body in bodies for atom, _ in atoms_of(body)}
    found = []
    for warning in analysis.warnings:
        if warning.kind in (catalogue.UNDEFINED_PREDICATE, catalogue.UNKNOWN_IN_QUERY):
            name = names.get(id(warning.span), "")
            if name in defined:
                continue
            warning = replace(warning, hint=warning.hint or did_you_mean(name, defined))
        found.append(warning)
    return found


def arity_mismatch(name: str, here: int, elsewhere: int) -> Diagnostic:
    message = f"'{name}' has {_arguments(here)} here, but {_arguments(elsewhere)} elsewhere"
    return Diagnostic(catalogue.ARITY_MISMATCH, message)


def _arguments(count: int) -> str:
    return f"{count} argument{'' if count == 1 else 's'}"
