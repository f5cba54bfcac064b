"""Expressions and comparisons on whole columns of codes.

Rows with values of the same kinds are computed together, by numpy and Arrow where these agree with the language. All
other rows are computed once per distinct value by the definitions in `corollary.program`, which every path agrees with.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

import numpy as np

from corollary.engines.embedded.relations.relation import Codes
from corollary.engines.embedded.values.host_functions import host_kernel
from corollary.engines.embedded.values.structures import structures_of
from corollary.engines.embedded.values.universe import Kind, Universe
from corollary.engines.embedded.values.vector_arithmetic import calculated, compared, negative
from corollary.engines.embedded.values.vector_functions import CALENDAR_KERNELS, KERNELS
from corollary.engines.embedded.values.vectors import (
    NotVectorisedError,
    Vector,
    codes_of_vector,
    constant_vector,
    vector_of_codes,
)
from corollary.planning import Compare, Compute
from corollary.program import (
    Arithmetic,
    Constant,
    EvaluationError,
    FunctionTerm,
    Minus,
    Part,
    Structure,
    Term,
    Value,
    Variable,
    compare,
    evaluate_term,
    variables_of,
)
from corollary.program.patterns import check_length, is_pattern

Array: TypeAlias = np.ndarray[Any, Any]
Columns: TypeAlias = dict[str, Codes]
_KINDS_IN_A_WORD = 9  # with 32 bits for the combinations so far
NO_VALUE = Structure("\0no value", ())


def compute_column(
    compute: Compute, columns: Columns, count: int, universe: Universe
) -> tuple[Codes, np.ndarray[Any, np.dtype[np.bool_]]]:
    """Return the codes of an expression's values, and which rows have a value."""
    if isinstance(compute.expression, Variable):
        return columns[compute.expression.name], np.ones(count, np.bool_)
    if isinstance(compute.expression, Constant):
        code = universe.encode(compute.expression.value)
        return np.full(count, code, np.uint32), np.ones(count, np.bool_)
    if isinstance(compute.expression, Part) or is_pattern(compute.expression):
        codes, valid = _structure(compute.expression, columns, count, universe)
    else:
        codes, valid = _computed(compute.expression, columns, count, universe)
    if compute.total:
        codes = np.where(valid, codes, np.uint32(universe.encode(NO_VALUE)))
        valid = np.ones(count, np.bool_)
    return codes, valid


def _structure(term: Term, columns: Columns, count: int, universe: Universe) -> tuple[Codes, Array]:
    """Return the codes of a function term or list that is built, or of a part of one."""

    def column(part: Term) -> tuple[Codes, Array]:
        return compute_column(Compute("", part), columns, count, universe)

    structures = structures_of(universe)
    if isinstance(term, Part):
        return structures.part(term, column(term.term))
    return structures.make(term, column, count)


def first_error(term: Term, columns: Columns, count: int, universe: Universe) -> str | None:
    """Return why the term has no value in some row, or None if it has one in all rows."""
    _, valid = compute_column(Compute("", term), columns, count, universe)
    if valid.all():
        return None
    row = int(np.flatnonzero(~valid)[0])
    names = {variable.name for variable in variables_of(term)}
    try:
        evaluate_term(term, {name: universe.value(int(columns[name][row])) for name in names})
    except EvaluationError as error:
        return str(error)
    return "no value"


def holds_column(comparison: Compare, columns: Columns, count: int, universe: Universe) -> Array:
    """Return in which rows a comparison of expressions holds (or, if negated, does not)."""
    names = sorted(comparison.inputs)
    holds = np.zeros(count, np.bool_)
    for rows in _alike(names, columns, count, universe):
        part = columns if rows is None else {name: columns[name][rows] for name in names}
        found = _holds(comparison, part, count if rows is None else len(rows), universe)
        if rows is None:
            holds = found
        else:
            holds[rows] = found
    return ~holds if comparison.negated else holds


def _holds(comparison: Compare, columns: Columns, count: int, universe: Universe) -> Array:
    try:
        return holds_vector(comparison, lambda name: vector_of_codes(columns[name], universe), count)
    except NotVectorisedError:
        return _compare_by_value(comparison, columns, count, universe)
    except EvaluationError:
        return np.zeros(count, np.bool_)


def holds_vector(comparison: Compare, column: Callable[[str], Vector], count: int) -> Array:
    """Return in which rows a comparison holds, whether negated or not; raise if whole columns cannot tell."""
    left, right = comparison.left, comparison.right
    if _is_condition(comparison):
        found = evaluated(left, column, count)
        if found.kind != Kind.BOOLEAN:
            raise NotVectorisedError
    else:
        found = compared(comparison.operator, evaluated(left, column, count), evaluated(right, column, count))
    holds: Array = found.values if found.valid is None else found.values & found.valid
    return holds


def _is_condition(comparison: Compare) -> bool:
    """Return whether a comparison says that a built-in function is true."""
    right = comparison.right
    return comparison.operator == "=" and isinstance(right, Constant) and right.value is True


# -- whole columns -----------------------------------------------------------------------------------------------------


def _alike(names: list[str], columns: Columns, count: int, universe: Universe) -> Iterable[Array | None]:
    """Yield the rows in which the variables have values of the same kinds; None for all rows."""
    kinds = np.zeros(count, np.int64)
    for number, name in enumerate(names, 1):
        kinds = kinds * len(Kind) + universe.kinds[columns[name]]
        if number % _KINDS_IN_A_WORD == 0:  # renumber the combinations before they exceed a word
            kinds = np.unique(kinds, return_inverse=True)[1].reshape(-1)
    if not count or (kinds == kinds[0]).all():
        return [None]
    return [np.flatnonzero(kinds == kind) for kind in np.unique(kinds)]


def _computed(term: Term, columns: Columns, count: int, universe: Universe) -> tuple[Codes, Array]:
    names = sorted({variable.name for variable in variables_of(term)})
    codes, valid = np.zeros(count, np.uint32), np.zeros(count, np.bool_)
    for rows in _alike(names, columns, count, universe):
        if rows is None:
            return _of_one_kind(term, columns, count, universe)
        part = {name: columns[name][rows] for name in names}
        codes[rows], valid[rows] = _of_one_kind(term, part, len(rows), universe)
    return codes, valid


def _of_one_kind(term: Term, columns: Columns, count: int, universe: Universe) -> tuple[Codes, Array]:
    try:
        found = evaluated(term, lambda name: vector_of_codes(columns[name], universe), count)
        return codes_of_vector(found, count, universe)
    except NotVectorisedError:
        return _by_value(term, columns, count, universe)
    except EvaluationError:  # a constant argument is wrong, whatever the rows contain
        return np.zeros(count, np.uint32), np.zeros(count, np.bool_)


def evaluated(term: Term, column: Callable[[str], Vector], count: int) -> Vector:
    """Return the values of an expression; `column` returns those of a variable. Raise if whole columns cannot be used."""
    match term:
        case Constant():
            return constant_vector(term.value, count)
        case Variable():
            return column(term.name)
        case Minus():
            return negative(evaluated(term.operand, column, count))
        case Arithmetic():
            left = evaluated(term.left, column, count)
            return calculated(term.operator, left, evaluated(term.right, column, count))
        case FunctionTerm():
            kernel = KERNELS.get(term.name) or CALENDAR_KERNELS.get(term.name) or host_kernel(term.name)
            if kernel is None:
                raise NotVectorisedError
            return kernel([evaluated(argument, column, count) for argument in term.arguments])
        case _:
            raise NotVectorisedError


# -- value by value ----------------------------------------------------------------------------------------------------


def _by_value(expression: Term, columns: Columns, count: int, universe: Universe) -> tuple[Codes, Array]:
    def one(row: dict[str, Value]) -> Value | None:
        try:
            found = evaluate_term(expression, row)
        except EvaluationError:
            return None
        check_length(found)
        return found

    results, places = _for_distinct(variables_of(expression), columns, count, universe, one)
    valid = np.array([result is not None for result in results], np.bool_)
    codes = np.zeros(len(results), np.uint32)
    codes[valid] = universe.encode_values([result for result in results if result is not None])
    return codes[places], valid[places]


def _compare_by_value(comparison: Compare, columns: Columns, count: int, universe: Universe) -> Array:
    def one(row: dict[str, Value]) -> bool:
        try:
            left, right = evaluate_term(comparison.left, row), evaluate_term(comparison.right, row)
            return compare(comparison.operator, left, right)
        except EvaluationError:
            return False

    both = (variable for side in (comparison.left, comparison.right) for variable in variables_of(side))
    results, places = _for_distinct(both, columns, count, universe, one)
    return np.array(results, np.bool_)[places]


def _for_distinct(
    variables: Iterable[Variable], columns: Columns, count: int, universe: Universe,
    one: Callable[[dict[str, Value]], Any],
) -> tuple[list[Any], Array]:  # fmt: skip
    """Return the result for each distinct combination of the variables' values, and the index of each row's combination."""
    names = sorted({variable.name for variable in variables})
    if not names:
        return [one({})], np.zeros(count, np.int64)
    places = np.zeros(count, np.int64)
    for name in names:
        _, places = np.unique(places << 32 | columns[name], return_inverse=True)
    _, first = np.unique(places, return_index=True)
    values = [universe.values(columns[name][first].tolist()) for name in names]
    return [one(dict(zip(names, row, strict=True))) for row in zip(*values, strict=True)], places
