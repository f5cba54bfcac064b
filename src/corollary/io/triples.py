"""Lines of N-Triples and N-Quads in their plain form: IRIs, blank nodes, and literals without escapes.

Most lines of most files are plain, and this takes a hundredth of the time of a parser that makes an object for each term.
What is not plain is left to that parser, which also says what is wrong with a line.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

_LF, _CR, _TAB, _SPACE, _QUOTE, _HASH = 10, 13, 9, 32, 34, 35
_PLUS, _MINUS, _DOT, _SLASH, _COLON, _LESS, _GREATER, _QUESTION, _AT = 43, 45, 46, 47, 58, 60, 62, 63, 64
_BACKSLASH, _CARET, _UNDERSCORE = 92, 94, 95


@njit(inline="always")
def _is_letter(byte: int) -> bool:
    return 65 <= byte <= 90 or 97 <= byte <= 122


@njit(inline="always")
def _is_alphanumeric(byte: int) -> bool:
    return _is_letter(byte) or 48 <= byte <= 57


@njit(inline="always")
def _is_iri_sign(byte: int) -> bool:
    """Whether a character may stand anywhere in an IRI: ! $ & ' ( ) * + , - . / ; = ? @ _ ~ (but not %, which needs digits)."""
    return byte in (33, 36) or 38 <= byte <= 47 or byte in (59, 61, 63, 64, 95, 126)


@njit
def _iri_end(data: Any, at: int, stop: int, relative: bool) -> Any:
    """The place after the IRI that starts here, or -1; only with `relative` it may have no scheme."""
    if at + 1 >= stop or data[at] != _LESS or not _is_letter(data[at + 1]):
        return -1
    has_scheme, may_be_scheme, in_first_part, has_fragment = False, True, True, False
    for place in range(at + 1, stop):
        byte = data[place]
        if byte == _GREATER:
            return place + 1 if has_scheme or relative else -1
        if byte == _COLON:
            if in_first_part and not has_scheme:
                if not may_be_scheme:
                    return -1
                has_scheme = True
            continue
        if byte == _HASH:
            if has_fragment:
                return -1
            has_fragment = True
        elif not (_is_alphanumeric(byte) or byte > 127 or _is_iri_sign(byte)):
            return -1
        may_be_scheme = may_be_scheme and (_is_alphanumeric(byte) or byte in (_PLUS, _MINUS, _DOT))
        in_first_part = in_first_part and byte not in (_SLASH, _QUESTION, _HASH)
    return -1


@njit
def _blank_end(data: Any, at: int, stop: int) -> Any:
    if at + 2 >= stop or data[at + 1] != _COLON or not (_is_alphanumeric(data[at + 2]) or data[at + 2] == _UNDERSCORE):
        return -1
    place = at + 3
    while place < stop and (_is_alphanumeric(data[place]) or data[place] in (_UNDERSCORE, _MINUS)):
        place += 1
    return place


@njit
def _literal_end(data: Any, at: int, stop: int, relative: bool) -> Any:
    place = at + 1
    while place < stop and data[place] != _QUOTE:
        if data[place] == _BACKSLASH:
            return -1
        place += 1
    place += 1
    if place > stop:
        return -1
    if place + 1 < stop and data[place] == _CARET and data[place + 1] == _CARET:
        return _iri_end(data, place + 2, stop, relative)
    if place < stop and data[place] == _AT:
        start = place + 1
        place = start
        while place < stop and (_is_letter(data[place]) or (place > start and _is_tag_part(data, place))):
            place += 1
        return place if place > start and data[place - 1] != _MINUS else -1
    return place


@njit(inline="always")
def _is_tag_part(data: Any, place: int) -> Any:
    return 48 <= data[place] <= 57 or (data[place] == _MINUS and data[place - 1] != _MINUS)


@njit
def _term_end(data: Any, at: int, stop: int, position: int, relative: bool) -> Any:
    """The place after the term at this position of a line (subject 0, predicate 1, object 2, graph 3), or -1."""
    if at >= stop:
        return -1
    if data[at] == _LESS:
        return _iri_end(data, at, stop, relative)
    if data[at] == _UNDERSCORE and position != 1:
        return _blank_end(data, at, stop)
    if data[at] == _QUOTE and position == 2:
        return _literal_end(data, at, stop, relative)
    return -1


@njit
def _skip_space(data: Any, at: int, stop: int) -> int:
    while at < stop and (data[at] == _SPACE or data[at] == _TAB):
        at += 1
    return at


@njit
def _read_line(data: Any, at: int, stop: int, most: int, relative: bool, bounds: Any) -> int:
    """Write the bounds of the terms of a line; return how many there are, 0 for an empty line, -1 for one that is not plain."""
    at = _skip_space(data, at, stop)
    if at == stop or data[at] == _HASH:
        return 0
    for position in range(most + 1):
        if at < stop and data[at] == _DOT and position >= 3:
            at = _skip_space(data, at + 1, stop)
            return position if at == stop or data[at] == _HASH else -1
        end = _term_end(data, at, stop, position, relative) if position < most else -1
        if end < 0:
            return -1
        bounds[2 * position], bounds[2 * position + 1] = at, end
        at = _skip_space(data, end, stop)
    return -1


@njit(cache=True, nogil=True)
def read_lines(data: Any, most: int, ascii_only: bool, relative: bool) -> Any:
    """For each line with a statement its number (from 1), the number of its terms, and their bounds in `data`.

    A line that is not plain has -1 terms, and the bounds of the line. With `relative`, an IRI without a scheme is plain, too.
    """
    size = len(data)
    count = 1
    for at in range(size):
        if data[at] == _LF:
            count += 1
    numbers = np.empty(count, np.int64)
    terms = np.empty(count, np.int8)
    bounds = np.zeros((count, 8), np.int64)
    found = 0
    start = 0
    for number in range(1, count + 1):
        stop = start
        plain = True
        while stop < size and data[stop] != _LF:
            plain = plain and not (ascii_only and data[stop] > 127)
            stop += 1
        end = stop - 1 if stop > start and data[stop - 1] == _CR else stop
        read = _read_line(data, start, end, most, relative, bounds[found]) if plain else -1
        if read != 0:
            numbers[found], terms[found] = number, read
            if read < 0:
                bounds[found, 0], bounds[found, 1] = start, end
            found += 1
        start = stop + 1
    return numbers[:found], terms[:found], bounds[:found]


@njit(cache=True, nogil=True)
def gather_texts(data: Any, bounds: Any) -> Any:
    """The texts between the bounds one after the other, and where each of them starts."""
    count = len(bounds)
    offsets = np.zeros(count + 1, np.int64)
    for i in range(count):
        offsets[i + 1] = offsets[i] + bounds[i, 1] - bounds[i, 0]
    texts = np.empty(max(offsets[count], 1), np.uint8)
    for i in range(count):
        place, start = offsets[i], bounds[i, 0]
        for b in range(bounds[i, 1] - start):
            texts[place + b] = data[start + b]
    return texts, offsets
