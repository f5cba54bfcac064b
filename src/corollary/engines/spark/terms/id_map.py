"""A hash map from hashed ids to codes; ids of that tag are never 0, which marks a free slot."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from corollary.engines.embedded.relations.relation import Codes

NOT_FOUND = np.uint32(0xFFFFFFFF)
_U64 = np.uint64
_GOLDEN = _U64(0x9E3779B97F4A7C15)


class IdMap:
    """The first code that an id got stays."""

    def __init__(self) -> None:
        self._size = 0
        self._bits = 10
        self._keys = np.zeros(1 << self._bits, np.int64)
        self._codes = np.empty(1 << self._bits, np.uint32)

    def find(self, ids: np.ndarray[Any, np.dtype[np.int64]]) -> Codes:
        """The codes of ids, or `NOT_FOUND`."""
        found: Codes = _find(self._keys, self._codes, 64 - self._bits, np.ascontiguousarray(ids))
        return found

    def add(self, ids: np.ndarray[Any, np.dtype[np.int64]], codes: Codes) -> None:
        self._reserve(len(ids))
        self._size += _add(self._keys, self._codes, 64 - self._bits, np.ascontiguousarray(ids), codes)

    def number(self, ids: np.ndarray[Any, np.dtype[np.int64]], first: int) -> np.ndarray[Any, np.dtype[np.int64]]:
        """Gives the codes from `first` on to ids that have none; those ids, in the order of their codes."""
        self._reserve(len(ids))
        new: np.ndarray[Any, np.dtype[np.int64]] = _number(self._keys, self._codes, 64 - self._bits, ids, first)
        self._size += len(new)
        return new

    def _reserve(self, more: int) -> None:
        wanted = (self._size + more) * 2
        if wanted > len(self._keys):
            taken = self._keys != 0
            before = self._keys[taken], self._codes[taken]
            self._bits = int(wanted).bit_length()
            self._keys, self._codes = np.zeros(1 << self._bits, np.int64), np.empty(1 << self._bits, np.uint32)
            _add(self._keys, self._codes, 64 - self._bits, *before)


@njit(cache=True, nogil=True)
def _find(keys: Any, codes: Any, shift: int, ids: Any) -> Any:
    mask = _U64(len(keys) - 1)
    found = np.empty(len(ids), np.uint32)
    for i in range(len(ids)):
        slot = (_U64(ids[i]) * _GOLDEN) >> _U64(shift)
        while keys[slot] != 0 and keys[slot] != ids[i]:
            slot = (slot + _U64(1)) & mask
        found[i] = codes[slot] if keys[slot] != 0 else NOT_FOUND
    return found


@njit(cache=True, nogil=True)
def _add(keys: Any, codes: Any, shift: int, ids: Any, values: Any) -> Any:
    mask = _U64(len(keys) - 1)
    added = 0
    for i in range(len(ids)):
        slot = (_U64(ids[i]) * _GOLDEN) >> _U64(shift)
        while keys[slot] != 0 and keys[slot] != ids[i]:
            slot = (slot + _U64(1)) & mask
        if keys[slot] == 0:
            keys[slot] = ids[i]
            codes[slot] = values[i]
            added += 1
    return added


@njit(cache=True, nogil=True)
def _number(keys: Any, codes: Any, shift: int, ids: Any, first: int) -> Any:
    mask = _U64(len(keys) - 1)
    new = np.empty(len(ids), np.int64)
    count = 0
    for i in range(len(ids)):
        slot = (_U64(ids[i]) * _GOLDEN) >> _U64(shift)
        while keys[slot] != 0 and keys[slot] != ids[i]:
            slot = (slot + _U64(1)) & mask
        if keys[slot] == 0:
            keys[slot] = ids[i]
            codes[slot] = first + count
            new[count] = ids[i]
            count += 1
    return new[:count].copy()
