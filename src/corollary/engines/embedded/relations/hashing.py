"""Hash sets of facts and hash indexes, as functions on addresses that the kernels share.

A fact of one or two columns, or of more columns that fit, is packed into one word, which is its own key. Where the columns do
not fit, the set is *wide*: a slot holds a part of the hash and the number of the row, and rows are compared. Many pairs over
few constants are kept in a *bitmap* instead: one bit a possible pair, nothing to hash and nothing that grows.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from corollary.engines.embedded.relations.memory import load_u32, load_u64, or_u64, store_u64, swap_u64

U64 = np.uint64
EMPTY = U64(0xFFFFFFFFFFFFFFFF)
NONE = np.uint32(0xFFFFFFFF)
BITMAP = 1  # in the place of the bits per column; the shift is then the width of a row of the bitmap
_GOLDEN = U64(0x9E3779B97F4A7C15)
_MIX = U64(0xD6E8FEB86659FD93)


@njit(inline="always")
def slot_of(key: Any, shift: Any) -> Any:
    """A multiplicative hash taken from the high bits; the middle bits are folded in, for packed keys end in zeros."""
    return ((key ^ (key >> U64(32))) * _GOLDEN) >> shift


@njit(inline="always")
def hash_row(state: Any, value: Any) -> Any:
    mixed = (state ^ value) * _MIX
    return mixed ^ (mixed >> U64(29))


@njit(inline="always")
def insert_key(table: Any, shift: Any, mask: Any, key: Any) -> bool:
    """Whether the key was new; it is in the table afterwards."""
    slot = slot_of(key, shift)
    while True:
        found = load_u64(table, slot)
        if found == key:
            return False
        if found == EMPTY:
            store_u64(table, slot, key)
            return True
        slot = (slot + U64(1)) & mask


@njit(inline="always")
def insert_key_shared(table: Any, shift: Any, mask: Any, key: Any) -> bool:
    """Like `insert_key`, while other threads insert as well: exactly one of those with the same key returns that it was new."""
    slot = slot_of(key, shift)
    while True:
        found = load_u64(table, slot)
        if found == EMPTY:
            found = swap_u64(table, slot, EMPTY, key)
            if found == EMPTY:
                return True
        if found == key:
            return False
        slot = (slot + U64(1)) & mask


@njit(inline="always")
def contains_key(table: Any, shift: Any, mask: Any, key: Any) -> bool:
    slot = slot_of(key, shift)
    while True:
        found = load_u64(table, slot)
        if found == key:
            return True
        if found == EMPTY:
            return False
        slot = (slot + U64(1)) & mask


@njit(inline="always")
def bit_of_pair(key: Any, stride: Any) -> Any:
    """The place of a packed pair in a bitmap whose rows have 2**stride bits."""
    return ((key & U64(0xFFFFFFFF)) << stride) | (key >> U64(32))


@njit(inline="always")
def insert_bit(table: Any, stride: Any, key: Any) -> bool:
    """Whether the pair was new; its bit is set afterwards."""
    place = bit_of_pair(key, stride)
    word, bit = load_u64(table, place >> U64(6)), U64(1) << (place & U64(63))
    if word & bit:
        return False
    store_u64(table, place >> U64(6), word | bit)
    return True


@njit(inline="always")
def insert_bit_shared(table: Any, stride: Any, key: Any) -> Any:
    """Like `insert_bit`, while other threads insert as well."""
    place = bit_of_pair(key, stride)
    word, bit = place >> U64(6), U64(1) << (place & U64(63))
    if load_u64(table, word) & bit:
        return False
    return (or_u64(table, word, bit) & bit) == U64(0)


@njit(inline="always")
def contains_bit(table: Any, stride: Any, key: Any) -> Any:
    place = bit_of_pair(key, stride)
    return ((load_u64(table, place >> U64(6)) >> (place & U64(63))) & U64(1)) == U64(1)


@njit(inline="always")
def insert_wide(
    table: Any, shift: Any, mask: Any, rows: Any, arity: Any, values: Any, at: Any, key: Any, row: Any
) -> Any:
    """For tables that hold numbers of rows: the number of the row, which is `row` when it is new."""
    slot = slot_of(key, shift)
    tag = (key >> U64(32)) << U64(32)
    while True:
        found = load_u64(table, slot)
        if found == EMPTY:
            store_u64(table, slot, tag | row)
            return row
        if (found >> U64(32)) << U64(32) == tag:
            other = (found & U64(0xFFFFFFFF)) * arity
            same = True
            for column in range(arity):
                if load_u32(rows, other + U64(column)) != load_u32(values, at + U64(column)):
                    same = False
                    break
            if same:
                return found & U64(0xFFFFFFFF)
        slot = (slot + U64(1)) & mask


@njit(inline="always")
def find_wide(table: Any, shift: Any, mask: Any, rows: Any, registers: Any, numbers: Any, at: Any, count: Any) -> Any:
    """The number of the row of the registers whose numbers stand from `at` on, or NONE."""
    key = U64(0)
    for i in range(count):
        key = hash_row(key, U64(load_u32(registers, load_u64(numbers, at + U64(i)))))
    slot = slot_of(key, shift)
    tag = (key >> U64(32)) << U64(32)
    while True:
        found = load_u64(table, slot)
        if found == EMPTY:
            return U64(NONE)
        if (found >> U64(32)) << U64(32) == tag:
            other = (found & U64(0xFFFFFFFF)) * count
            same = True
            for i in range(count):
                if load_u32(rows, other + U64(i)) != load_u32(registers, load_u64(numbers, at + U64(i))):
                    same = False
                    break
            if same:
                return found & U64(0xFFFFFFFF)
        slot = (slot + U64(1)) & mask


@njit(inline="always")
def find_group(keys: Any, groups: Any, shift: Any, mask: Any, key: Any) -> Any:
    """The group of a key in a hash index, or NONE."""
    slot = slot_of(key, shift)
    while True:
        found = load_u64(keys, slot)
        if found == key:
            return U64(load_u32(groups, slot))
        if found == EMPTY:
            return U64(NONE)
        slot = (slot + U64(1)) & mask
