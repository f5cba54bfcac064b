"""Inline doubles, which are their own ids: those from 2^-255 to 2^256, of either sign, and 0.0.

Such an id is the double's sign and magnitude, with two bits less of the exponent, as a signed number before the tag. So
these ids are ordered like the doubles, and equal if the doubles are. All others are hashed: -0.0, which equals 0.0,
NaN, which equals nothing, infinities, and those too close to them or to 0.
"""

from __future__ import annotations

import struct
from typing import Any

import numpy as np
from numba import njit

_FRACTION = 52
_BELOW = 767  # subtracted from the exponent of IEEE 754, which leaves 1 to 511
_LEAST, _BEYOND = 1, 512
_TAG = 3
MOST = 1 << 256
"""The absolute values of all inline doubles are below this."""
NOT_INLINE = -1
"""Not the id of a double: all of those are further from 0."""


@njit(inline="always")
def double_id(word: Any) -> Any:
    """Return the id of a double, given as its 64 bits, or `NOT_INLINE`."""
    if word == 0:
        return np.int64(_TAG)
    magnitude = word & 0x7FFFFFFFFFFFFFFF
    exponent = (magnitude >> _FRACTION) - _BELOW
    if exponent < _LEAST or exponent >= _BEYOND:
        return np.int64(NOT_INLINE)
    number = magnitude - (np.int64(_BELOW) << _FRACTION)
    return np.int64(((-number if word < 0 else number) << 2) | _TAG)


@njit(cache=True, nogil=True)
def inline_double_ids(words: Any) -> Any:
    """Return the ids of doubles, given as their bits; `NOT_INLINE` for those that are hashed."""
    ids = np.empty(len(words), np.int64)
    for i in range(len(words)):
        ids[i] = double_id(words[i])
    return ids


@njit(cache=True, nogil=True)
def words_of_double_ids(ids: Any) -> Any:
    """Return the bits of inline doubles."""
    words = np.empty(len(ids), np.int64)
    for i in range(len(ids)):
        number = ids[i] >> 2
        if number == 0:
            words[i] = 0
            continue
        magnitude = (-number if number < 0 else number) + (np.int64(_BELOW) << _FRACTION)
        words[i] = magnitude | np.int64(-0x8000000000000000) if number < 0 else magnitude
    return words


def doubles_of_ids(ids: np.ndarray[Any, np.dtype[np.int64]]) -> np.ndarray[Any, np.dtype[np.float64]]:
    found: np.ndarray[Any, np.dtype[np.float64]] = words_of_double_ids(np.ascontiguousarray(ids)).view(np.float64)
    return found


def inline_double_id(value: float) -> int | None:
    """Return the id of an inline double; None for those that are hashed.

    >>> inline_double_id(0.0), inline_double_id(-0.0), inline_double_id(1e300)
    (3, None, None)
    """
    found = int(inline_double_ids(np.array([value], np.float64).view(np.int64))[0])
    return None if found == NOT_INLINE else found


def value_of_double_id(number: int) -> float:
    """Return the double inside an id."""
    payload = number >> 2
    if not payload:
        return 0.0
    (found,) = struct.unpack("<d", struct.pack("<q", abs(payload) + (_BELOW << _FRACTION)))
    return -float(found) if payload < 0 else float(found)


def double_sql(column: str) -> str:
    """Return a Spark expression for the doubles inside a column of ids: an integer times a power of 2, both exact.

    For most numbers the power is computed as a long, many times as fast as any other way in Spark.
    """
    magnitude = f"shiftright(abs({column} - {_TAG}L), 2)"
    exponent = f"CAST(shiftright({magnitude}, {_FRACTION}) AS INT)"
    whole = f"({magnitude} & {(1 << _FRACTION) - 1}L | {1 << _FRACTION}L)"
    signed = f"CAST(IF({column} < 0L, - {whole}, {whole}) AS DOUBLE)"
    one = 1023 - _BELOW + _FRACTION  # the exponent of whole numbers from 2^52 on
    by_long = f"{signed} / CAST(shiftleft(1L, {one} - {exponent}) AS DOUBLE)"
    by_power = f"{signed} * power(2D, CAST({exponent} - {one} AS DOUBLE))"
    is_long = f"{exponent} BETWEEN {one - 62} AND {one}"
    return f"CASE WHEN {column} = {_TAG}L THEN 0D WHEN {is_long} THEN {by_long} ELSE {by_power} END"
