"""The first of equal rows of ids, by hashing. Arrow can do that, too, but it gives most inline doubles the same hash."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

_U64 = np.uint64
_GOLDEN = _U64(0x9E3779B97F4A7C15)
_HALF = _U64(32)


def first_rows(rows: np.ndarray[Any, np.dtype[np.int64]]) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """Return which rows have no equal before them."""
    found: np.ndarray[Any, np.dtype[np.bool_]] = first_places(rows) == np.arange(len(rows))
    return found


def first_places(rows: np.ndarray[Any, np.dtype[np.int64]]) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Return, for each row, the position of the first row equal to it."""
    bits = max(4, int(2 * len(rows)).bit_length())
    found: np.ndarray[Any, np.dtype[np.int64]] = _first_places(np.ascontiguousarray(rows), bits)
    return found


@njit(cache=True, nogil=True)
def _first_places(rows: Any, bits: int) -> Any:
    mask, shift = _U64((1 << bits) - 1), _U64(64 - bits)
    slots = np.zeros(1 << bits, np.int64)  # a row's position plus 1; 0 for a free slot
    places = np.empty(len(rows), np.int64)
    for i in range(len(rows)):
        digest = _U64(0)
        for place in range(rows.shape[1]):
            digest = (digest ^ _U64(rows[i, place])) * _GOLDEN
            digest ^= digest >> _HALF
        slot = (digest * _GOLDEN) >> shift
        while slots[slot] != 0 and not _equal(rows, slots[slot] - 1, i):
            slot = (slot + _U64(1)) & mask
        if slots[slot] == 0:
            slots[slot] = i + 1
        places[i] = slots[slot] - 1
    return places


@njit(inline="always")
def _equal(rows: Any, left: int, right: int) -> bool:
    for place in range(rows.shape[1]):  # noqa: SIM110  (kernels have no generators)
        if rows[left, place] != rows[right, place]:
            return False
    return True
