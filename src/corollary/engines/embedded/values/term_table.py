"""Kernels of the universe: one hash table over all constants, inline ones by their word and the others by their bytes.

A slot of the table holds 32 bits of a constant's hash and its code plus one; an empty slot is 0. The first of these bits say
where to look, so that a table grows in one pass in order, and a slot with other bits is passed over without a look at its
constant. The hashes of a block of constants are computed before the first of them is looked for: while one waits for memory,
the slots of the next ones are on their way.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from corollary.engines.embedded.relations.memory import load_u8, load_u64_at_byte, prefetch_u64

U64 = np.uint64
_INLINE_KINDS = 3  # kinds below this number keep their value in the word itself
_TERM = 8  # from here on a constant is not in the table: it is found by other means
_GOLDEN = U64(0x9E3779B97F4A7C15)
_MIX = U64(0xD6E8FEB86659FD93)
_HALF = U64(32)
_LOW = U64(0xFFFFFFFF)
_BLOCK = 64


@njit(inline="always")
def hash_word(kind: int, word: Any) -> Any:
    """32 bits of an inline constant, of which the first say where it stands in the table."""
    mixed = (U64(word) ^ (U64(kind) << U64(61))) * _GOLDEN
    mixed = (mixed ^ (mixed >> _HALF)) * _MIX
    return mixed >> _HALF


@njit(inline="always")
def _hash_text(kind: int, place: Any, length: int) -> Any:
    """Of the bytes at an address, eight by eight; the last eight may overlap those before."""
    state = U64(length) * _GOLDEN ^ U64(kind)
    if length >= 8:
        at = 0
        while at + 8 <= length:
            state = (state ^ load_u64_at_byte(place, U64(at))) * _MIX
            state ^= state >> U64(31)
            at += 8
        word = load_u64_at_byte(place, U64(length - 8)) if at < length else U64(0)
    else:
        word = U64(0)
        for i in range(length):
            word |= U64(load_u8(place, U64(i))) << U64(8 * i)
    state = (state ^ word) * _MIX
    state = (state ^ (state >> U64(29))) * _GOLDEN
    return state >> _HALF


@njit(cache=True, nogil=True)
def encode_words(
    values: Any, kind: int, kinds: Any, words: Any, table: Any, table_place: int, shift: int, size: int, codes: Any
) -> int:
    """Codes of inline constants; gives the new size of the universe. There is room for every value."""
    mask = U64(len(table) - 1)
    hashes = np.empty(_BLOCK, np.uint64)
    for start in range(0, len(values), _BLOCK):
        stop = min(start + _BLOCK, len(values))
        for i in range(start, stop):
            mixed = hash_word(kind, values[i])
            hashes[i - start] = mixed
            prefetch_u64(U64(table_place), mixed >> U64(shift))
        for i in range(start, stop):
            word, mixed = values[i], hashes[i - start]
            slot = mixed >> U64(shift)
            while True:
                entry = table[slot]
                if entry == 0:
                    code: Any = size
                    kinds[code] = kind
                    words[code] = word
                    size += 1
                    table[slot] = mixed << _HALF | U64(size)
                    break
                if entry >> _HALF == mixed:
                    code = np.int64(entry & _LOW) - 1
                    if kinds[code] == kind and words[code] == word:
                        break
                slot = (slot + U64(1)) & mask
            codes[i] = code
    return size


@njit(cache=True, nogil=True)
def encode_bytes(
    data: Any,
    data_place: int,
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
    table_place: int,
    shift: int,
    size: int,
    codes: Any,
) -> Any:
    """Codes of texts; gives the new sizes of the universe and of its bytes. There is room for every text."""
    mask = U64(len(table) - 1)
    hashes = np.empty(_BLOCK, np.uint64)
    for block in range(first, last, _BLOCK):
        stop_block = min(block + _BLOCK, last)
        for i in range(block, stop_block):
            mixed = _hash_text(kind, U64(data_place) + U64(offsets[i]), offsets[i + 1] - offsets[i])
            hashes[i - block] = mixed
            prefetch_u64(U64(table_place), mixed >> U64(shift))
        for i in range(block, stop_block):
            start, mixed = offsets[i], hashes[i - block]
            length = offsets[i + 1] - start
            slot = mixed >> U64(shift)
            while True:
                entry = table[slot]
                if entry == 0:
                    code: Any = size
                    kinds[code] = kind
                    words[code] = text_size
                    lengths[code] = length
                    for b in range(length):
                        texts[text_size + b] = data[start + b]
                    text_size += length
                    size += 1
                    table[slot] = mixed << _HALF | U64(size)
                    break
                if entry >> _HALF == mixed:
                    code = np.int64(entry & _LOW) - 1
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
def rehash(smaller: Any, table: Any, shift: int) -> None:
    """Fills an empty table with the constants of a smaller one."""
    mask = U64(len(table) - 1)
    for i in range(len(smaller)):
        entry = smaller[i]
        if entry != 0:
            slot = (entry >> _HALF) >> U64(shift)
            while table[slot] != 0:
                slot = (slot + U64(1)) & mask
            table[slot] = entry


@njit(cache=True, nogil=True)
def replace_codes(
    kinds: Any, words: Any, lengths: Any, texts_place: int, table: Any, shift: int, before: Any, after: Any
) -> None:
    """The constants of the codes `before` are found as `after` from now on."""
    mask = U64(len(table) - 1)
    for i in range(len(before)):
        code = before[i]
        kind = kinds[code]
        if kind >= _TERM:
            continue
        if kind < _INLINE_KINDS:
            mixed = hash_word(kind, words[code])
        else:
            length: Any = np.int64(lengths[code])
            mixed = _hash_text(kind, U64(texts_place) + U64(words[code]), length)
        slot = mixed >> U64(shift)
        while np.int64(table[slot] & _LOW) - 1 != code:
            slot = (slot + U64(1)) & mask
        table[slot] = mixed << _HALF | (U64(after[i]) + U64(1))


@njit(cache=True, nogil=True)
def gather(texts: Any, starts: Any, offsets: Any) -> Any:
    """The texts one after the other."""
    out = np.empty(offsets[-1], np.uint8)
    for i in range(len(starts)):
        place = offsets[i]
        for b in range(offsets[i + 1] - place):
            out[place + b] = texts[starts[i] + b]
    return out
