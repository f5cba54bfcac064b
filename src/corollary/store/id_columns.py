"""Kernels that read columns of ids without making copies of them: fresh memory costs more than the reading."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def bounds(ids: Any) -> Any:
    """The least and the greatest id, and whether all are integers."""
    least, greatest = ids[0], ids[0]
    tags = np.int64(0)
    for i in range(len(ids)):
        number = ids[i]
        tags |= number
        if number < least:
            least = number
        if number > greatest:
            greatest = number
    return least, greatest, (tags & 3) == 0


@njit(cache=True, nogil=True)
def note_seen(ids: Any, least: int, seen: Any) -> None:
    """Marks the integers that occur, from the least one on."""
    for i in range(len(ids)):
        seen[(ids[i] - least) >> 2] = True


@njit(cache=True, nogil=True)
def look_up(ids: Any, least: int, codes: Any, facts: Any, place: int) -> None:
    """Writes the codes of integers into a column of facts."""
    for i in range(len(ids)):
        facts[i, place] = codes[(ids[i] - least) >> 2]
