"""Kernels of the universe: one hash table over all constants, inline ones by their word and the others by their bytes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

U64 = np.uint64
_FREE = np.uint32(0xFFFFFFFF)
_INLINE_KINDS = 3  # kinds below this number keep their value in the word itself
_TERM = 8  # from here on a constant is not in the table: it is found by other means
_GOLDEN = U64(0x9E3779B97F4A7C15)
_MIX = U64(0xD6E8FEB86659FD93)


@njit(inline="always")
def _hash_word(kind: int, word: Any) -> Any:
    mixed = (U64(word) ^ (U64(kind) << U64(61))) * _GOLDEN
    return mixed ^ (mixed >> U64(32))


@njit(inline="always")
def _hash_text(kind: int, data: Any, start: int, stop: int) -> Any:
    state = U64(stop - start) * _GOLDEN ^ U64(kind)
    at = start
    while at + 8 <= stop:
        word = U64(0)
        for i in range(8):
            word |= U64(data[at + i]) << U64(8 * i)
        state = (state ^ word) * _MIX
        state ^= state >> U64(31)
        at += 8
    word = U64(0)
    for i in range(stop - at):
        word |= U64(data[at + i]) << U64(8 * i)
    state = (state ^ word) * _MIX
    return state ^ (state >> U64(29))


@njit(cache=True, nogil=True)
def encode_words(values: Any, kind: int, kinds: Any, words: Any, table: Any, size: int, codes: Any) -> int:
    """Codes of inline constants; gives the new size of the universe. There is room for every value."""
    mask = U64(len(table) - 1)
    for i in range(len(values)):
        word = values[i]
        slot = _hash_word(kind, word) & mask
        while True:
            code = table[slot]
            if code == _FREE:
                kinds[size] = kind
                words[size] = word
                table[slot] = size
                code = size
                size += 1
                break
            if kinds[code] == kind and words[code] == word:
                break
            slot = (slot + U64(1)) & mask
        codes[i] = code
    return size


@njit(cache=True, nogil=True)
def encode_bytes(
    data: Any,
    offsets: Any,
    first: int,
    last: int,
    kind: int,
    kinds: Any,
    words: Any,
    lengths: Any,
    texts: Any,
    text_size: int,
    table: Any,
    size: int,
    codes: Any,
) -> Any:
    """Codes of texts; gives the new sizes of the universe and of its bytes. There is room for every text."""
    mask = U64(len(table) - 1)
    for i in range(first, last):
        start, stop = offsets[i], offsets[i + 1]
        length = stop - start
        slot = _hash_text(kind, data, start, stop) & mask
        while True:
            code = table[slot]
            if code == _FREE:
                kinds[size] = kind
                words[size] = text_size
                lengths[size] = length
                for b in range(length):
                    texts[text_size + b] = data[start + b]
                text_size += length
                table[slot] = size
                code = size
                size += 1
                break
            if kinds[code] == kind and lengths[code] == length:
                place = words[code]
                same = True
                for b in range(length):
                    if texts[place + b] != data[start + b]:
                        same = False
                        break
                if same:
                    break
            slot = (slot + U64(1)) & mask
        codes[i] = code
    return size, text_size


@njit(cache=True, nogil=True)
def rehash(kinds: Any, words: Any, lengths: Any, texts: Any, size: int, table: Any) -> None:
    """Fills an empty table with the constants there are."""
    mask = U64(len(table) - 1)
    for code in range(size):
        kind = kinds[code]
        if kind >= _TERM:
            continue
        if kind < _INLINE_KINDS:
            slot = _hash_word(kind, words[code]) & mask
        else:
            slot = _hash_text(kind, texts, words[code], words[code] + lengths[code]) & mask
        while table[slot] != _FREE:
            slot = (slot + U64(1)) & mask
        table[slot] = code


@njit(cache=True, nogil=True)
def replace_codes(kinds: Any, words: Any, lengths: Any, texts: Any, table: Any, before: Any, after: Any) -> None:
    """The constants of the codes `before` are found as `after` from now on."""
    mask = U64(len(table) - 1)
    for i in range(len(before)):
        code = before[i]
        kind = kinds[code]
        if kind >= _TERM:
            continue
        if kind < _INLINE_KINDS:
            slot = _hash_word(kind, words[code]) & mask
        else:
            slot = _hash_text(kind, texts, words[code], words[code] + lengths[code]) & mask
        while table[slot] != code:
            slot = (slot + U64(1)) & mask
        table[slot] = after[i]


@njit(cache=True, nogil=True)
def gather(texts: Any, starts: Any, offsets: Any) -> Any:
    """The texts one after the other."""
    out = np.empty(offsets[-1], np.uint8)
    for i in range(len(starts)):
        place = offsets[i]
        for b in range(offsets[i + 1] - place):
            out[place + b] = texts[starts[i] + b]
    return out
