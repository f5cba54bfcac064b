"""Computations and comparisons on ids of integers, which are their own ids: no universe is needed to run them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from corollary.engines.embedded.expressions import evaluated, holds_vector
from corollary.engines.embedded.universe import Kind
from corollary.engines.embedded.vectors import NotVectorisedError, Vector
from corollary.engines.spark.terms.ids import Ids
from corollary.planning import Compare, Compute
from corollary.program import EvaluationError, Variable

_GREATEST = 1 << 61  # from here on an integer is hashed


def run_on_integers(
    operations: Sequence[Compute | Compare], columns: Mapping[str, str], ids: dict[str, Ids], count: int
) -> tuple[dict[str, Ids], int] | None:
    """The columns after all operations and the number of rows left; None where something else than integers takes part.

    `columns` tells the column of each variable, `ids` has those that are there already.
    """
    checked: set[str] = set()
    try:
        for operation in operations:
            keep = _run(operation, columns, ids, count, checked)
            if keep is not None and not keep.all():
                ids = {name: column[keep] for name, column in ids.items()}
                count = int(keep.sum())
    except (NotVectorisedError, EvaluationError):
        return None
    return ids, count


def _fit(values: Ids) -> bool:
    """Whether integers are small enough to be their own ids."""
    return not len(values) or (int(values.min()) >= -_GREATEST and int(values.max()) < _GREATEST)


def _run(
    operation: Compute | Compare, columns: Mapping[str, str], ids: dict[str, Ids], count: int, checked: set[str]
) -> np.ndarray[Any, np.dtype[np.bool_]] | None:
    """Which rows stay, None for all; a computation adds its column."""

    def integers(name: str) -> Vector:
        column = ids[columns[name]]
        if name not in checked and (column & 3).any():
            raise NotVectorisedError
        checked.add(name)
        return Vector(Kind.INTEGER, column >> 2)

    if isinstance(operation, Compare):
        holds = holds_vector(operation, integers, count)
        return ~holds if operation.negated else holds
    if operation.total:
        raise NotVectorisedError
    column = columns[operation.variable]
    if isinstance(operation.expression, Variable):
        new: Ids = ids[columns[operation.expression.name]]
        valid = None
    else:
        found = evaluated(operation.expression, integers, count)
        if found.kind != Kind.INTEGER or not _fit(found.values):
            raise NotVectorisedError
        new, valid = found.values << 2, found.valid
    if column not in ids:
        ids[column] = new
        return valid
    same: np.ndarray[Any, np.dtype[np.bool_]] = ids[column] == new
    return same if valid is None else same & valid
