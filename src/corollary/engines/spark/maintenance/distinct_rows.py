"""Equal rows of ids, found by one number for each row: numpy sorts numbers many times as fast as rows."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np

Ids: TypeAlias = np.ndarray[Any, np.dtype[np.int64]]

_LARGEST = 1 << 62


def row_numbers(rows: Ids) -> Ids:
    """A number for each row; equal rows have the same one."""
    numbers: Ids = np.zeros(len(rows), np.int64)
    size = 1
    for place in range(rows.shape[1]):
        values, codes = np.unique(rows[:, place], return_inverse=True)
        if size * max(1, len(values)) > _LARGEST:
            known, numbers = np.unique(numbers, return_inverse=True)
            size = len(known)
        numbers = numbers * len(values) + codes.reshape(-1)
        size *= max(1, len(values))
    return numbers


def distinct_rows(rows: Ids) -> tuple[Ids, Ids]:
    """Each row once, and for each of the given rows the place of its like."""
    _, first, places = np.unique(row_numbers(rows), return_index=True, return_inverse=True)
    return rows[first], places.reshape(-1)
