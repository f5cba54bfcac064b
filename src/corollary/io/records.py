"""The records and lines of text. Asked for only when something is wrong, or when there are quotes or a header."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

_LF, _CR = 10, 13


@njit(cache=True, nogil=True)
def record_lines(data: Any, delimiter: int, quote: int) -> Any:
    """The line (from 1) and the byte at which each record that is not blank starts, and the last one with an open quote or -1.

    Quotes count at the start of a field only, as in the parser; `quote` is -1 where there are none.
    """
    size = len(data)
    count = 1
    for at in range(size):
        if data[at] == _LF or data[at] == _CR:
            count += 1
    lines, starts = np.empty(count, np.int64), np.empty(count, np.int64)
    found = 0
    line, start = 1, 0
    at = 0
    first_line = 1
    at_field, quoted = True, False
    while at < size:
        byte = data[at]
        ends = byte in (_LF, _CR)
        if ends:
            if byte == _CR and at + 1 < size and data[at + 1] == _LF:
                at += 1
            line += 1
        if quoted:
            if byte == quote:
                if at + 1 < size and data[at + 1] == quote:
                    at += 1
                else:
                    quoted = False
        elif ends:
            blank = data[start] == _LF or data[start] == _CR
            if not blank:
                lines[found], starts[found] = first_line, start
                found += 1
            first_line, start, at_field = line, at + 1, True
        elif byte == delimiter:
            at_field = True
        else:
            quoted = at_field and byte == quote
            at_field = False
        at += 1
    if start < size:
        lines[found], starts[found] = first_line, start
        found += 1
    return lines[:found], starts[:found], found - 1 if quoted else -1


@njit(cache=True, nogil=True)
def line_count(data: Any) -> Any:
    """The number of line ends, which are written in three ways."""
    count = 0
    for at in range(len(data)):
        if data[at] == _LF or (data[at] == _CR and not (at + 1 < len(data) and data[at + 1] == _LF)):
            count += 1
    return count
