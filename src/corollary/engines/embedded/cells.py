"""Recognising numbers in columns of text."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def parse_integers(data: Any, offsets: Any) -> Any:
    """The values of the texts that are canonical integers (no plus sign, no leading zeros) of up to 18 digits, and which are."""
    count = len(offsets) - 1
    values = np.zeros(count, np.int64)
    is_integer = np.zeros(count, np.bool_)
    for i in range(count):
        at, stop = offsets[i], offsets[i + 1]
        negative = at < stop and data[at] == 45
        if negative:
            at += 1
        digits = stop - at
        if digits < 1 or digits > 18:
            continue
        if data[at] == 48 and (digits > 1 or negative):
            continue
        value = np.int64(0)
        valid = True
        for b in range(at, stop):
            digit = np.int64(data[b]) - 48
            if digit < 0 or digit > 9:
                valid = False
                break
            value = value * 10 + digit
        if valid:
            values[i] = -value if negative else value
            is_integer[i] = True
    return values, is_integer
