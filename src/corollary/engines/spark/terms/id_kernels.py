"""Kernels that make ids: of codes of a universe, of columns of texts, of columns of words; and decimals out of ids."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from corollary.engines.spark.terms.double_ids import double_id
from corollary.engines.spark.terms.xxhash import U64, hash_bytes, hash_word

# The numbers of `Kind` and `Tag`; numba takes plain numbers only.
_INTEGER, _DOUBLE, _BOOLEAN, _STRING, _DECIMAL, _TERM, _OPAQUE = 0, 1, 2, 3, 5, 8, 9
_HASHED = U64(2)
_LEAST, _BEYOND = -(1 << 61), 1 << 61
_MANTISSA = 1 << 55
_MINUS, _POINT = 45, 46
_NOT_INLINE = -1  # no id: its tag is that of doubles, none of which is so close to 0


@njit(inline="always")
def _hashed(digest: Any, kind: int, mask: Any) -> Any:
    number = U64(kind) if kind != _TERM else U64(_BOOLEAN)
    return np.int64((((digest & mask) << U64(3) | number) << U64(2)) | _HASHED)


@njit(inline="always")
def _word_id(kind: int, word: Any, seeds: Any, mask: Any) -> Any:
    if kind == _INTEGER and _LEAST <= word < _BEYOND:
        return np.int64(word << 2)
    if kind == _BOOLEAN:
        return np.int64((word << 8) | 1)
    if kind == _DOUBLE:
        number = double_id(word)
        if number != _NOT_INLINE:
            return number
    return _hashed(hash_word(U64(word), seeds[kind]), kind, mask)


@njit(inline="always")
def _decimal_id(data: Any, start: Any, stop: Any) -> Any:
    """The id of a decimal that is its own id, from its canonical text."""
    negative = data[start] == _MINUS
    at = start + 1 if negative else start
    if stop - at > 66:
        return _NOT_INLINE
    mantissa, scale = np.int64(0), 0
    pointed = False
    while at < stop:
        byte = data[at]
        if byte == _POINT:
            pointed = True
        else:
            mantissa = mantissa * 10 + (np.int64(byte) - 48)
            if mantissa > _MANTISSA:
                return _NOT_INLINE
            scale += pointed
        at += 1
    if negative:
        mantissa = -mantissa
    if scale < 1 or scale > 63 or mantissa < -_MANTISSA or mantissa >= _MANTISSA:
        return _NOT_INLINE
    return np.int64((((mantissa << 6) | scale) << 2) | 1)


@njit(inline="always")
def _text_id(kind: int, data: Any, start: Any, stop: Any, seeds: Any, mask: Any) -> Any:
    if kind == _DECIMAL:
        number = _decimal_id(data, start, stop)
        if number != _NOT_INLINE:
            return number
    return _hashed(hash_bytes(data, start, stop, seeds[kind]), kind, mask)


@njit(cache=True, nogil=True)
def ids_of_codes(codes: Any, kinds: Any, words: Any, lengths: Any, texts: Any, seeds: Any, mask: Any) -> Any:
    """The ids of codes of a universe; those of structures and lists are left as 0."""
    ids = np.zeros(len(codes), np.int64)
    for i in range(len(codes)):
        code = codes[i]
        kind = kinds[code]
        if kind < _STRING:
            ids[i] = _word_id(kind, words[code], seeds, mask)
        elif kind < _TERM:
            start = words[code]
            ids[i] = _text_id(kind, texts, start, start + np.int64(lengths[code]), seeds, mask)
        elif kind == _OPAQUE:
            ids[i] = words[code]
    return ids


@njit(cache=True, nogil=True)
def ids_of_texts(kind: int, data: Any, offsets: Any, seeds: Any, mask: Any) -> Any:
    ids = np.empty(len(offsets) - 1, np.int64)
    for i in range(len(ids)):
        ids[i] = _text_id(kind, data, offsets[i], offsets[i + 1], seeds, mask)
    return ids


@njit(cache=True, nogil=True)
def ids_of_words(kind: int, words: Any, seeds: Any, mask: Any) -> Any:
    ids = np.empty(len(words), np.int64)
    for i in range(len(words)):
        ids[i] = _word_id(kind, words[i], seeds, mask)
    return ids


@njit(cache=True, nogil=True)
def decimal_texts(ids: Any) -> Any:
    """Bytes and offsets of the canonical texts of decimals that are their own ids."""
    data = np.empty(len(ids) * 24 + 64, np.uint8)
    offsets = np.zeros(len(ids) + 1, np.int64)
    digits = np.empty(80, np.uint8)
    size = 0
    for i in range(len(ids)):
        scale = (ids[i] >> 2) & 63
        mantissa = ids[i] >> 8
        if size + 80 > len(data):
            grown = np.empty(len(data) * 2 + 80, np.uint8)
            grown[:size] = data[:size]
            data = grown
        if mantissa < 0:
            data[size] = _MINUS
            size += 1
            mantissa = -mantissa
        count = 0
        while mantissa > 0 or count <= scale:
            digits[count] = 48 + mantissa % 10
            mantissa //= 10
            count += 1
        for place in range(count - 1, -1, -1):
            data[size] = digits[place]
            size += 1
            if place == scale:
                data[size] = _POINT
                size += 1
        offsets[i + 1] = size
    return data[:size], offsets
