"""Sets of rows: union and difference, in the driver where they are few."""

from __future__ import annotations

import numpy as np

from corollary.engines.spark.maintenance.change_rows import ChangeRows, hinted, settle, summed
from corollary.engines.spark.maintenance.distinct_rows import row_numbers
from corollary.engines.spark.relations import COUNT


def either(left: ChangeRows, right: ChangeRows) -> ChangeRows:
    """The rows of both, each with the number 1."""
    if not left.rows or not right.rows:
        return (left if left.rows else right).once()
    return summed([left.once(), right.once()]).once()


def without(left: ChangeRows, right: ChangeRows) -> ChangeRows:
    """The rows of the first that are not in the second, with their numbers."""
    if not left.rows or not right.rows:
        return left
    if left.ids is not None and right.ids is not None:
        return ChangeRows.of_ids(left.context, left.arity, left.ids[~contained(left.ids[:, :-1], right.ids[:, :-1])])
    others = hinted(right.df.select(*right.columns), right.rows)
    df = left.df.join(others, left.columns, "left_anti").select(*left.columns, COUNT)
    ids, stored, rows = settle(left.context, df, "rows")
    return ChangeRows(left.context, left.arity, rows, ids, stored)


def contained(rows: np.ndarray, others: np.ndarray) -> np.ndarray:
    """For each row whether it is among the others."""
    numbers = row_numbers(np.concatenate((rows, others)))
    return np.isin(numbers[: len(rows)], numbers[len(rows) :])
