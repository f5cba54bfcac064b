"""Rule instances with an expression that has no value, if the settings make that an error.

A plan computes as early as it can, before it has matched all atoms, and a delta rule reads facts from before and after
a change. So a row without a value is not yet a rule instance. It is one if all atoms hold in the final version of the
facts, and if no comparison that has a value is false. That does not depend on the order of the plan's operations.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from corollary.diagnostics import Diagnostic, ProgramError, catalogue
from corollary.engines.embedded.kernels.pipeline import Rows
from corollary.engines.embedded.relations.relation import Codes, Relation
from corollary.engines.embedded.values.expressions import compute_column, first_error, holds_column
from corollary.engines.embedded.values.ordering import ValueKeys
from corollary.engines.embedded.values.universe import Universe
from corollary.language import print_term
from corollary.planning import Column, Compare, Compute, NormalBody, NormalRule, Version
from corollary.planning.normal_form import AggregateSource, Source, source_variables
from corollary.program import Atom, Part, Term, Variable, subterms

Mask: TypeAlias = np.ndarray[Any, np.dtype[np.bool_]]
Run: TypeAlias = Callable[[NormalRule, "RowsBeside", Relation], None]
"""Inserts the heads of a rule over some relations into another one."""
_FAILED = "\0failed\0"
_NUMBER = "\0row"


def may_fail(term: Term) -> bool:
    """Return whether a missing value of the term is an error; for a part of a constant of another form it is not."""
    return not any(isinstance(part, Part) for part in subterms(term))


def values_of(term: Term, columns: Mapping[str, Codes], count: int, universe: Universe) -> Mask:
    """Return in which rows a term has a value."""
    return compute_column(Compute("", term), dict(columns), count, universe)[1]


def terms_of(operation: Compute | Compare) -> tuple[Term, ...]:
    """Return the terms of an operation that may have no value."""
    if isinstance(operation, Compute):
        return (operation.expression,)
    return () if operation.is_simple else (operation.left, operation.right)


class Undecided:
    """Rows on their way through computations and comparisons; those without a value decide nothing.

    `columns` are the values of variables; `unknown` tells in which rows a variable has none.
    """

    def __init__(self, columns: Mapping[str, Codes], count: int, universe: Universe) -> None:
        self.columns = dict(columns)
        self.count = count
        self._universe = universe
        self._unknown: dict[str, Mask] = {}
        self.holds = np.ones(count, np.bool_)
        self._failed = np.full(count, -1, np.int64)  # by row: the first term without a value
        self._terms: list[Term] = []

    def known(self, names: frozenset[str]) -> Mask:
        """Return the rows that may still be an instance and in which these variables have values."""
        found = self.holds.copy()
        for name in names:
            if name in self._unknown:
                found &= ~self._unknown[name]
        return found

    def run(self, operation: Compute | Compare) -> None:
        """Drop the rows in which the operation has a value and does not hold."""
        known = self.known(operation.inputs)
        for term in terms_of(operation):
            part = self._part(operation.inputs, known)
            has_value = values_of(term, part, int(known.sum()), self._universe)
            if not may_fail(term):
                self.holds[np.flatnonzero(known)[~has_value]] = False
            elif not has_value.all():
                rows = np.flatnonzero(known)[~has_value]
                self._failed[rows[self._failed[rows] < 0]] = len(self._terms)
                self._terms.append(term)
            known[np.flatnonzero(known)[~has_value]] = False
        part, count = self._part(operation.inputs, known), int(known.sum())
        if isinstance(operation, Compare):
            self.holds[np.flatnonzero(known)[~holds_column(operation, part, count, self._universe)]] = False
            return
        codes, _ = compute_column(Compute("", operation.expression), part, count, self._universe)
        name = operation.variable
        if name in self.columns and name not in self._unknown:
            rows = np.flatnonzero(known)
            self.holds[rows[self.columns[name][rows] != codes]] = False
            return
        column = np.zeros(self.count, np.uint32)
        column[known] = codes
        self.columns[name], self._unknown[name] = column, ~known

    def _part(self, names: frozenset[str], rows: Mask) -> dict[str, Codes]:
        return {name: self.columns[name][rows] for name in names}

    def error(self) -> tuple[Term, str] | None:
        """Return a term without a value in a row that is an instance, with the reason; None if there is no such row."""
        rows = np.flatnonzero(self.holds & (self._failed >= 0))
        if not len(rows):
            return None
        row = rows[:1]
        term = self._terms[int(self._failed[row[0]])]
        part = {name: column[row] for name, column in self.columns.items()}
        return term, first_error(term, part, 1, self._universe) or "no value"


def check_refusal(body: NormalBody, name: str, columns: Mapping[str, Codes], count: int, rows: Rows, run: Run) -> None:
    """Raise if one of these rows, in which some term of a rule's body has no value, is part of a rule instance.

    The atoms of the body are in the final version of the facts.
    """
    given = {variable for source in body.sources for variable in source_variables(source)}
    kept = [variable for variable in columns if variable in given]
    found, names = _complete(body, [columns[variable] for variable in kept], kept, count, rows, run)
    state = Undecided({variable: found[:, place] for place, variable in enumerate(names)}, len(found), rows.universe)
    for operation in _in_order(body, set(names)):
        state.run(operation)
    for atom in body.negated:
        if not _shared(atom, body) <= given:
            _leave_out(atom, state, rows, run)
    error = state.error()
    if error is not None:
        raise_failure(name, *error)


def raise_failure(rule: str, term: Term, why: str) -> None:
    message = f"in rule {rule}: {print_term(term)} has no value: {why}"
    raise ProgramError([Diagnostic(catalogue.FAILED_EXPRESSION, message, term.span)])


def _complete(
    body: NormalBody, columns: Sequence[Codes], kept: Sequence[str], count: int, rows: Rows, run: Run
) -> tuple[Codes, list[str]]:
    """Return the bindings of all atoms that extend the given ones, with the computed variables."""
    given = {variable for source in body.sources for variable in source_variables(source)}
    operations: list[Compute | Compare] = [*body.computes, *body.compares]
    needed = {name for operation in operations for name in operation.inputs}
    needed |= {compute.variable for compute in body.computes} | {
        name for atom in body.negated for name in source_variables(atom)
    }
    names = [
        name for name in dict.fromkeys(v for source in body.sources for v in source_variables(source)) if name in needed
    ]
    failed = _relation(columns, count)
    atom = Atom(_FAILED, tuple(map(Variable, kept)))
    negated = tuple(one for one in body.negated if _shared(one, body) <= given)
    simple = tuple(one for one in body.compares if one.is_simple and one.inputs <= given)
    joined = NormalBody((atom, *body.sources), negated, (), simple)
    into = Relation(len(names))
    run(NormalRule("failed", Atom("", tuple(map(Variable, names))), joined), RowsBeside(rows, failed), into)
    return (into.facts if names else np.empty((into.size, 0), np.uint32)), names


def _relation(columns: Sequence[Codes], count: int) -> Relation:
    relation = Relation(len(columns))
    if columns:
        relation.insert(np.ascontiguousarray(np.stack(columns, axis=1)))
    else:
        relation.size = min(1, count)
    return relation


def _shared(atom: Atom, body: NormalBody) -> set[str]:
    """Return the variables of a negated atom that have values elsewhere; the others are existential."""
    return set(source_variables(atom)) & set(body.variables)


def _in_order(body: NormalBody, bound: set[str]) -> list[Compute | Compare]:
    """Return the computations, each after those that it needs, followed by the comparisons."""
    waiting, found = list(body.computes), list[Compute | Compare]()
    while waiting:
        ready = [one for one in waiting if one.inputs <= bound]
        found += ready
        bound |= {one.variable for one in ready}
        waiting = [one for one in waiting if one not in ready] if ready else []
    return [*found, *body.compares]


def _leave_out(atom: Atom, state: Undecided, rows: Rows, run: Run) -> None:
    """Drop the rows in which a negated atom about computed values does not hold."""
    names = [name for name in dict.fromkeys(source_variables(atom)) if name in state.columns]
    known = state.known(frozenset(names))
    numbers = np.flatnonzero(known).astype(np.uint32)
    columns = [numbers, *(state.columns[name][known] for name in names)]
    source = Atom(_FAILED, (Variable(_NUMBER), *map(Variable, names)))
    into = Relation(1)
    body = NormalBody((source, atom), (), (), ())
    run(
        NormalRule("failed", Atom("", (Variable(_NUMBER),)), body),
        RowsBeside(rows, _relation(columns, len(numbers))),
        into,
    )
    state.holds[into.facts[:, 0]] = False


class RowsBeside:
    """The relations that rules see, with a relation of given rows beside them."""

    def __init__(self, rows: Rows, relation: Relation) -> None:
        self._rows = rows
        self._relation = relation
        self.universe = rows.universe

    def _is_beside(self, source: Source) -> bool:
        return isinstance(source, Atom) and source.predicate == _FAILED

    def relation(self, source: Source) -> Relation:
        return self._relation if self._is_beside(source) else self._rows.relation(source)

    def row_range(self, source: Source, version: Version) -> tuple[int, int]:
        return (0, self._relation.size) if self._is_beside(source) else self._rows.row_range(source, version)

    def is_growing(self, source: Source) -> bool:
        return not self._is_beside(source) and self._rows.is_growing(source)

    def projection(self, source: Atom, columns: tuple[Column, ...]) -> Relation:
        return self._rows.projection(source, columns)

    def visibility(self, source: Source) -> tuple[np.ndarray[Any, Any], int] | None:
        return None if self._is_beside(source) else self._rows.visibility(source)

    def order(self, *, texts: bool) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]] | None:
        return self._rows.order(texts=texts)

    @property
    def value_keys(self) -> ValueKeys:
        return self._rows.value_keys

    def compares_columns(self, *, texts: bool) -> bool:
        return self._rows.compares_columns(texts=texts)

    def size(self, source: Source) -> int:
        return self.relation(source).size if not isinstance(source, AggregateSource) else 1000

    def distinct(self, source: Source, column: int) -> int:
        return max(1, int(self.size(source) ** 0.75))
