"""Many lists of numbers in one array, each of which grows and shrinks: the edges of a graph that changes.

A pair (owner, value) travels as one key, owner << 32 | value; keys come grouped by owner, so that a list is gone over once,
however many of its values change.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias, TypeVar

import numpy as np
from numba import njit

Array: TypeAlias = np.ndarray[Any, Any]

Function = TypeVar("Function", bound=Callable[..., Any])


def kernel_part(function: Function) -> Function:
    """For what only kernels call: without a way in from Python it compiles sooner."""
    options: dict[str, Any] = {"cache": True, "nogil": True, "no_cpython_wrapper": True, "no_cfunc_wrapper": True}
    compiled: Any = njit(**options)(function)
    return compiled  # type: ignore[no-any-return]


_HALF = np.uint64(32)
_LOW = np.uint64(0xFFFFFFFF)


class Lists(NamedTuple):
    """The form in which kernels see lists: list i is pool[start[i] : start[i] + length[i]], with space for room[i] values."""

    start: Array
    length: Array
    room: Array
    pool: Array
    used: Array  # of the pool


class GrowingLists:
    """`arrays` is valid until the next call of `grow`, `add` or `append`."""

    def __init__(self, owners: Array, values: Array, capacity: int) -> None:
        start, length = np.zeros(capacity, np.int64), np.zeros(capacity, np.int64)
        pool = np.empty(len(values), np.uint32)
        _fill(owners, values, start, length, pool)
        self.arrays = Lists(start, length, length.copy(), pool, np.array([len(values)]))
        _drop_duplicates(self.arrays)

    def reversed(self) -> GrowingLists:
        """Lists of the owners of each value; there are as many of them as there are of these."""
        owners, values = self.pairs()
        return GrowingLists(values, owners, len(self.arrays.start))

    def pairs(self) -> tuple[Array, Array]:
        """All owners and values."""
        owners = np.repeat(np.arange(len(self.arrays.length)), self.arrays.length)
        return owners, _flatten(self.arrays, len(owners))

    def grow(self, capacity: int) -> None:
        """Makes empty lists, up to that many."""
        lists = self.arrays
        self.arrays = lists._replace(
            start=enlarge(lists.start, capacity, 0),
            length=enlarge(lists.length, capacity, 0),
            room=enlarge(lists.room, capacity, 0),
        )

    def remove(self, keys: Array, mark: Array) -> Array:
        """Removes what is there of the keys; gives what was there. `mark` is zero for every value, and stays so."""
        if not len(keys):
            return keys
        gone = np.empty(len(keys), np.uint64)
        return gone[: _remove(self.arrays, keys, mark, gone)]

    def add(self, keys: Array, mark: Array) -> Array:
        """Adds what is not there yet of the keys; gives what was new."""
        if not len(keys):
            return keys
        self._reserve(keys)
        new = np.empty(len(keys), np.uint64)
        return new[: _add(self.arrays, keys, mark, new)]

    def append(self, keys: Array) -> None:
        """Adds keys that are known to be distinct and not there."""
        if len(keys):
            self._reserve(keys)
            _append(self.arrays, keys)

    def _reserve(self, keys: Array) -> None:
        missing = _reserve(self.arrays, keys)
        if missing:
            pool = self.arrays.pool
            self.arrays = self.arrays._replace(pool=enlarge(pool, len(pool) + max(missing, len(pool) // 2), 0))
            _reserve(self.arrays, keys)


def enlarge(array: Array, capacity: int, fill: int) -> Array:
    """The array with that many items; the new ones are `fill`."""
    grown = np.full(capacity, fill, array.dtype)
    grown[: len(array)] = array
    return grown


def keys_of(owners: Array, values: Array, count: int) -> Array:
    """Keys of pairs, grouped by owner, of which there are `count`."""
    return _grouped((owners.astype(np.uint64) << _HALF) | values, count)


def reversed_keys(keys: Array, count: int) -> Array:
    """Keys of the exchanged pairs, grouped by owner."""
    return _grouped((keys >> _HALF) | (keys << _HALF), count) if len(keys) else keys


def _grouped(keys: Array, count: int) -> Array:
    """Equal owners side by side: many keys are dealt out to their owners, which beats sorting them."""
    return np.sort(keys) if len(keys) * 8 < count else _deal_out(keys, count)


def pairs_of(keys: Array) -> tuple[Array, Array]:
    return (keys >> _HALF).astype(np.int64), (keys & _LOW).astype(np.int64)


def without(keys: Array, others: Array) -> Array:
    """The keys that are not among the others."""
    if not len(keys) or not len(others):
        return keys
    others = np.sort(others)
    places = np.minimum(np.searchsorted(others, keys), len(others) - 1)
    return keys[others[places] != keys]  # type: ignore[no-any-return]


# -- kernels -----------------------------------------------------------------------------------------------------------


@kernel_part
def owner_of(key: Any) -> Any:
    return np.int64(key >> np.uint64(32))


@kernel_part
def value_of(key: Any) -> Any:
    return np.int64(key & np.uint64(0xFFFFFFFF))


@njit(cache=True, nogil=True)
def _fill(owners: Any, values: Any, start: Any, length: Any, pool: Any) -> None:
    for i in range(len(owners)):
        length[owners[i]] += 1
    at = 0
    for owner in range(len(start)):
        start[owner] = at
        at += length[owner]
        length[owner] = 0
    for i in range(len(owners)):
        owner = owners[i]
        pool[start[owner] + length[owner]] = values[i]
        length[owner] += 1


@njit(cache=True, nogil=True)
def _deal_out(keys: Any, count: int) -> Any:
    place = np.zeros(count + 1, np.int64)
    for key in keys:
        place[owner_of(key) + 1] += 1
    for owner in range(count):
        place[owner + 1] += place[owner]
    grouped = np.empty(len(keys), np.uint64)
    for key in keys:
        grouped[place[owner_of(key)]] = key
        place[owner_of(key)] += 1
    return grouped


@njit(cache=True, nogil=True)
def _drop_duplicates(lists: Lists) -> None:
    seen = np.zeros(len(lists.start), np.int64)
    for owner in range(len(lists.start)):
        start = lists.start[owner]
        kept = start
        for place in range(start, start + lists.length[owner]):
            value = lists.pool[place]
            if seen[value] != owner + 1:
                seen[value] = owner + 1
                lists.pool[kept] = value
                kept += 1
        lists.length[owner] = kept - start


@njit(cache=True, nogil=True)
def _flatten(lists: Lists, count: int) -> Any:
    values = np.empty(count, np.uint32)
    at = 0
    for owner in range(len(lists.start)):
        start = lists.start[owner]
        for place in range(start, start + lists.length[owner]):
            values[at] = lists.pool[place]
            at += 1
    return values


@njit(cache=True, nogil=True)
def _remove(lists: Lists, keys: Any, mark: Any, gone: Any) -> int:
    count, first = 0, 0
    while first < len(keys):
        owner = owner_of(keys[first])
        last = first
        while last < len(keys) and owner_of(keys[last]) == owner:
            mark[value_of(keys[last])] = 1
            last += 1
        start = lists.start[owner]
        kept = start
        for place in range(start, start + lists.length[owner]):
            value = lists.pool[place]
            if mark[value] == 1:
                mark[value] = 0
                gone[count] = (np.uint64(owner) << np.uint64(32)) | np.uint64(value)
                count += 1
            else:
                lists.pool[kept] = value
                kept += 1
        lists.length[owner] = kept - start
        for i in range(first, last):
            mark[value_of(keys[i])] = 0
        first = last
    return count


@njit(cache=True, nogil=True)
def _add(lists: Lists, keys: Any, mark: Any, new: Any) -> int:
    count, first = 0, 0
    while first < len(keys):
        owner = owner_of(keys[first])
        last = first
        while last < len(keys) and owner_of(keys[last]) == owner:
            mark[value_of(keys[last])] = 1
            last += 1
        start = lists.start[owner]
        for place in range(start, start + lists.length[owner]):
            mark[lists.pool[place]] = 0
        for i in range(first, last):
            value = value_of(keys[i])
            if mark[value] == 1:
                mark[value] = 0
                lists.pool[start + lists.length[owner]] = value
                lists.length[owner] += 1
                new[count] = keys[i]
                count += 1
        first = last
    return count


@njit(cache=True, nogil=True)
def _append(lists: Lists, keys: Any) -> None:
    for i in range(len(keys)):
        owner = owner_of(keys[i])
        lists.pool[lists.start[owner] + lists.length[owner]] = value_of(keys[i])
        lists.length[owner] += 1


@njit(cache=True, nogil=True)
def _reserve(lists: Lists, keys: Any) -> Any:
    """Gives every list space for its keys; where the pool is too small, does nothing and gives what is missing."""
    for move in (False, True):
        first, wanted = 0, lists.used[0]
        while first < len(keys):
            owner = owner_of(keys[first])
            last = first
            while last < len(keys) and owner_of(keys[last]) == owner:
                last += 1
            length = lists.length[owner]
            if length + last - first > lists.room[owner]:
                room = 2 * (length + last - first)
                if move:
                    start = lists.start[owner]
                    for i in range(length):
                        lists.pool[wanted + i] = lists.pool[start + i]
                    lists.start[owner] = wanted
                    lists.room[owner] = room
                wanted += room
            first = last
        if wanted > len(lists.pool):
            return wanted - len(lists.pool)
        if move:
            lists.used[0] = wanted
    return 0
