"""Computations and comparisons on ids of integers and doubles, which are their own ids: no universe is needed to run them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from corollary.engines.embedded.values.expressions import evaluated, holds_vector
from corollary.engines.embedded.values.universe import Kind
from corollary.engines.embedded.values.vectors import NotVectorisedError, Vector
from corollary.engines.spark.terms.double_ids import NOT_INLINE, doubles_of_ids, inline_double_ids
from corollary.engines.spark.terms.ids import Ids, Tag
from corollary.planning import Compare, Compute
from corollary.program import EvaluationError, Variable

_GREATEST = 1 << 61  # from here on an integer is hashed


def run_on_inline(
    operations: Sequence[Compute | Compare], columns: Mapping[str, str], ids: dict[str, Ids], count: int
) -> tuple[dict[str, Ids], int] | None:
    """The columns after all operations and the number of rows left; None where something else than numbers inside ids takes part.

    `columns` tells the column of each variable, `ids` has those that are there already.
    """
    tags: dict[str, Tag] = {}
    try:
        for operation in operations:
            keep = _run(operation, columns, ids, count, tags)
            if keep is not None and not keep.all():
                ids = {name: column[keep] for name, column in ids.items()}
                count = int(keep.sum())
    except (NotVectorisedError, EvaluationError):
        return None
    return ids, count


def _ids_of(found: Vector) -> Ids:
    """Numbers as ids, where all are inside them."""
    values = found.values
    if found.kind == Kind.INTEGER:
        if len(values) and not (int(values.min()) >= -_GREATEST and int(values.max()) < _GREATEST):
            raise NotVectorisedError
        whole: Ids = values << 2
        return whole
    if found.kind != Kind.DOUBLE:
        raise NotVectorisedError
    ids: Ids = inline_double_ids(np.ascontiguousarray(values, np.float64).view(np.int64))
    outside = ids == NOT_INLINE
    if (outside if found.valid is None else outside & found.valid).any():
        raise NotVectorisedError
    return ids


def _tag_of(column: Ids) -> Tag:
    """The tag that all ids of a column have."""
    found = Tag(int(column[0]) & 3) if len(column) else Tag.INTEGER
    if found not in (Tag.INTEGER, Tag.DOUBLE) or ((column & 3) != found).any():
        raise NotVectorisedError
    return found


def _run(
    operation: Compute | Compare, columns: Mapping[str, str], ids: dict[str, Ids], count: int, tags: dict[str, Tag]
) -> np.ndarray[Any, np.dtype[np.bool_]] | None:
    """Which rows stay, None for all; a computation adds its column."""

    def numbers(name: str) -> Vector:
        column = ids[columns[name]]
        if name not in tags:
            tags[name] = _tag_of(column)
        if tags[name] == Tag.DOUBLE:
            return Vector(Kind.DOUBLE, doubles_of_ids(column))
        return Vector(Kind.INTEGER, column >> 2)

    if isinstance(operation, Compare):
        holds = holds_vector(operation, numbers, count)
        return ~holds if operation.negated else holds
    if operation.total:
        raise NotVectorisedError
    column = columns[operation.variable]
    if isinstance(operation.expression, Variable):
        new: Ids = ids[columns[operation.expression.name]]
        valid = None
    else:
        found = evaluated(operation.expression, numbers, count)
        new, valid = _ids_of(found), found.valid
    if column not in ids:
        ids[column] = new
        return valid
    same: np.ndarray[Any, np.dtype[np.bool_]] = ids[column] == new
    return same if valid is None else same & valid
