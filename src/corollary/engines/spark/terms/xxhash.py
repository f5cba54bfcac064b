"""XXH64 as a kernel. Spark's function `xxhash64` gives the same numbers, so that Spark can make ids without Python."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

U64 = np.uint64
SPARK_SEED = 42  # with which Spark's function starts
_P1 = U64(0x9E3779B185EBCA87)
_P2 = U64(0xC2B2AE3D27D4EB4F)
_P3 = U64(0x165667B19E3779F9)
_P4 = U64(0x85EBCA77C2B2AE63)
_P5 = U64(0x27D4EB2F165667C5)


@njit(inline="always")
def _rotated(word: Any, bits: int) -> Any:
    return (word << U64(bits)) | (word >> U64(64 - bits))


@njit(inline="always")
def _round(state: Any, word: Any) -> Any:
    return _rotated(state + word * _P2, 31) * _P1


@njit(inline="always")
def _merged(state: Any, lane: Any) -> Any:
    return (state ^ _round(U64(0), lane)) * _P1 + _P4


@njit(inline="always")
def _mixed(state: Any) -> Any:
    state = (state ^ (state >> U64(33))) * _P2
    state = (state ^ (state >> U64(29))) * _P3
    return state ^ (state >> U64(32))


@njit(inline="always")
def _word(data: Any, at: Any, width: int) -> Any:
    word = U64(0)
    for i in range(width):
        word |= U64(data[at + i]) << U64(8 * i)
    return word


@njit(inline="always")
def hash_word(word: Any, seed: Any) -> Any:
    """The hash of the eight bytes of a number."""
    state = seed + _P5 + U64(8)
    state = _rotated(state ^ _round(U64(0), word), 27) * _P1 + _P4
    return _mixed(state)


@njit
def hash_bytes(data: Any, start: Any, stop: Any, seed: Any) -> Any:
    """The hash of `data[start:stop]`."""
    at, length = start, stop - start
    if length >= 32:
        one, two, three, four = seed + _P1 + _P2, seed + _P2, seed, seed - _P1
        while at + 32 <= stop:
            one = _round(one, _word(data, at, 8))
            two = _round(two, _word(data, at + 8, 8))
            three = _round(three, _word(data, at + 16, 8))
            four = _round(four, _word(data, at + 24, 8))
            at += 32
        state = _rotated(one, 1) + _rotated(two, 7) + _rotated(three, 12) + _rotated(four, 18)
        state = _merged(_merged(_merged(_merged(state, one), two), three), four)
    else:
        state = seed + _P5
    state += U64(length)
    while at + 8 <= stop:
        state = _rotated(state ^ _round(U64(0), _word(data, at, 8)), 27) * _P1 + _P4
        at += 8
    if at + 4 <= stop:
        state = _rotated(state ^ (_word(data, at, 4) * _P1), 23) * _P2 + _P3
        at += 4
    while at < stop:
        state = _rotated(state ^ (U64(data[at]) * _P5), 11) * _P1
        at += 1
    return _mixed(state)


@njit(cache=True)
def seeds_of(words: Any) -> Any:
    """The seeds that Spark goes on with after these numbers, in `xxhash64(number, text)`."""
    seeds = np.empty(len(words), np.uint64)
    for i in range(len(words)):
        seeds[i] = hash_word(U64(words[i]), U64(SPARK_SEED))
    return seeds
