"""Memory inside kernels: words by address, hash sets and indexes made of them, and the limits of their numbers.

A join touches a number of relations that is known only at run time. Passing their arrays to a kernel as such would
compile one kernel per number and kind of arrays; passing addresses lets one compiled kernel serve every rule. The
caller keeps the arrays alive, and passes new addresses whenever an array has grown.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic

from corollary.diagnostics import Diagnostic, ProgramError, catalogue

# -- bounds ------------------------------------------------------------------------------------------------------------

# The limits of the embedded engine's numbers. Reaching one is an error that says so.
#
# Everything else that kernels hold (levels, registers, columns, stacks, buffers) has no limit: it is as long as a rule
# needs it.

MOST_ROWS = (1 << 32) - 1
"""Rows of one relation: row numbers have 32 bits, and all ones mean no row."""
MOST_CODES = (1 << 33) // 3
"""Constants: codes have 32 bits, and the table that finds them is at most two thirds full and has 32-bit slots."""
MOST_COUNTED = (1 << 32) - 1
"""How often one owner may derive one fact."""
MOST_TEXT = (1 << 32) - 1
"""Bytes of one text."""
MOST_NUMBERED_FACTS = (1 << 31) - 1
"""Facts that a stream's marking keeps: their numbers are signed 32-bit integers."""


def _check(wanted: int, most: int, message: str) -> None:
    """Raise if `wanted` is more than `most`; the message may name both."""
    if wanted > most:
        raise ProgramError([Diagnostic(catalogue.TOO_LARGE, message.format(wanted=wanted, most=most))])


def check_rows(wanted: int) -> None:
    """Raise if a relation would have more rows than there are row numbers."""
    _check(wanted, MOST_ROWS, "a relation would have {wanted:,} facts, and the embedded engine holds {most:,}")


def check_codes(wanted: int) -> None:
    """Raise if there would be more constants than there are codes."""
    _check(wanted, MOST_CODES, "there would be {wanted:,} constants, and the embedded engine holds {most:,}")


def check_text(length: int) -> None:
    """Raise if a text is longer than the field for its length allows."""
    _check(length, MOST_TEXT, "a text has {wanted:,} bytes, and the embedded engine holds {most:,}")


def check_counts(highest: int) -> None:
    """Raise if a fact would be derived more often than can be counted."""
    _check(highest, MOST_COUNTED, "one fact is derived {wanted:,} times by one rule, and {most:,} can be counted")


def check_numbered(wanted: int) -> None:
    """Raise if a stream would keep more facts than marking has numbers."""
    _check(
        wanted, MOST_NUMBERED_FACTS, "a stream would keep {wanted:,} facts, and the embedded engine numbers {most:,}"
    )


# -- memory by address -------------------------------------------------------------------------------------------------


def address(array: np.ndarray[Any, Any]) -> int:
    place: int = array.__array_interface__["data"][0]
    return place


def _intrinsic(function: Callable[..., Any]) -> Any:
    """Return an intrinsic as a function with the arguments that kernels pass, for mypy."""
    return intrinsic(function)


def _loader(number_type: Any, ir_type: ir.Type, *, at_byte: bool = False) -> Any:
    def load(context: Any, base: Any, index: Any) -> Any:
        def generate(_: Any, builder: Any, __: Any, arguments: Any) -> Any:
            if at_byte:
                place = builder.add(arguments[0], arguments[1])
                return builder.load(builder.inttoptr(place, ir_type.as_pointer()), align=1)
            pointer = builder.inttoptr(arguments[0], ir_type.as_pointer())
            return builder.load(builder.gep(pointer, [arguments[1]]))

        return number_type(types.uint64, types.uint64), generate

    return _intrinsic(load)


def _storer(number_type: Any, ir_type: ir.Type) -> Any:
    def store(context: Any, base: Any, index: Any, value: Any) -> Any:
        def generate(target: Any, builder: Any, __: Any, arguments: Any) -> Any:
            pointer = builder.inttoptr(arguments[0], ir_type.as_pointer())
            builder.store(arguments[2], builder.gep(pointer, [arguments[1]]))
            return target.get_dummy_value()

        return types.void(types.uint64, types.uint64, number_type), generate

    return _intrinsic(store)


load_u8 = _loader(types.uint8, ir.IntType(8))
load_u32 = _loader(types.uint32, ir.IntType(32))
load_u64 = _loader(types.uint64, ir.IntType(64))
load_u64_at_byte = _loader(types.uint64, ir.IntType(64), at_byte=True)
load_f64 = _loader(types.float64, ir.DoubleType())
store_u8 = _storer(types.uint8, ir.IntType(8))
store_u32 = _storer(types.uint32, ir.IntType(32))
store_u64 = _storer(types.uint64, ir.IntType(64))


def _compare_and_swap(context: Any, base: Any, index: Any, expected: Any, value: Any) -> Any:
    """Write a word if it still has the expected value; return the old value, atomically."""

    def generate(_: Any, builder: Any, __: Any, arguments: Any) -> Any:
        pointer = builder.gep(builder.inttoptr(arguments[0], ir.IntType(64).as_pointer()), [arguments[1]])
        return builder.extract_value(builder.cmpxchg(pointer, arguments[2], arguments[3], "monotonic"), 0)

    return types.uint64(types.uint64, types.uint64, types.uint64, types.uint64), generate


def _updater(operation: str) -> Any:
    """Return an intrinsic that changes a word atomically and returns its old value."""

    def update(context: Any, base: Any, index: Any, value: Any) -> Any:
        def generate(_: Any, builder: Any, __: Any, arguments: Any) -> Any:
            pointer = builder.gep(builder.inttoptr(arguments[0], ir.IntType(64).as_pointer()), [arguments[1]])
            return builder.atomic_rmw(operation, pointer, arguments[2], "monotonic")

        return types.uint64(types.uint64, types.uint64, types.uint64), generate

    return _intrinsic(update)


swap_u64: Any = _intrinsic(_compare_and_swap)
add_u64 = _updater("add")
or_u64 = _updater("or")


def _prefetch(context: Any, base: Any, index: Any) -> Any:
    """Request the cache line of a word that will be needed soon: a hash table is larger than any cache."""

    def generate(target: Any, builder: Any, __: Any, arguments: Any) -> Any:
        byte_pointer = ir.IntType(8).as_pointer()
        word = ir.IntType(32)
        pointer = builder.inttoptr(arguments[0], ir.IntType(64).as_pointer())
        place = builder.bitcast(builder.gep(pointer, [arguments[1]]), byte_pointer)
        signature = ir.FunctionType(ir.VoidType(), [byte_pointer, word, word, word])
        function = builder.module.declare_intrinsic("llvm.prefetch", [byte_pointer], signature)
        builder.call(function, [place, ir.Constant(word, 1), ir.Constant(word, 3), ir.Constant(word, 1)])
        return target.get_dummy_value()

    return types.void(types.uint64, types.uint64), generate


prefetch_u64: Any = _intrinsic(_prefetch)


@njit(inline="always")
def field(fields: Any, index: Any) -> Any:
    return load_u64(fields, np.uint64(index))


@njit(inline="always")
def register(fields: Any, index: Any, registers: Any) -> Any:
    """Return the value of the register whose number is in a field."""
    return load_u32(registers, load_u64(fields, np.uint64(index)))


# -- hash sets ---------------------------------------------------------------------------------------------------------

# Hash sets of facts and hash indexes, as functions on addresses that the kernels share.
#
# A fact whose columns fit into one word is packed into it, and is its own key. If the columns do not fit, the set is
# *wide*: a slot holds a part of the hash and the number of the row, and rows are compared. Many pairs over few
# constants are kept in a *bitmap* instead: one bit for each possible pair, without hashing and without growing.

U64 = np.uint64
EMPTY = U64(0xFFFFFFFFFFFFFFFF)
NONE = np.uint32(0xFFFFFFFF)
BITMAP = 1  # in place of the bits per column; the shift is then the width of a row of the bitmap
_GOLDEN = U64(0x9E3779B97F4A7C15)
_MIX = U64(0xD6E8FEB86659FD93)


@njit(inline="always")
def slot_of(key: Any, shift: Any) -> Any:
    """Return a multiplicative hash, its high bits; the middle bits are folded in, because packed keys end in zeros."""
    return ((key ^ (key >> U64(32))) * _GOLDEN) >> shift


@njit(inline="always")
def hash_row(state: Any, value: Any) -> Any:
    mixed = (state ^ value) * _MIX
    return mixed ^ (mixed >> U64(29))


@njit(inline="always")
def insert_key(table: Any, shift: Any, mask: Any, key: Any) -> bool:
    """Insert a key; return whether it was new."""
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
    """Like `insert_key`, while other threads insert, too: for equal keys, exactly one of them returns that it was new."""
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
    """Return the position of a packed pair in a bitmap whose rows have 2**stride bits."""
    return ((key & U64(0xFFFFFFFF)) << stride) | (key >> U64(32))


@njit(inline="always")
def insert_bit(table: Any, stride: Any, key: Any) -> bool:
    """Insert a pair; return whether it was new."""
    place = bit_of_pair(key, stride)
    word, bit = load_u64(table, place >> U64(6)), U64(1) << (place & U64(63))
    if word & bit:
        return False
    store_u64(table, place >> U64(6), word | bit)
    return True


@njit(inline="always")
def insert_bit_shared(table: Any, stride: Any, key: Any) -> Any:
    """Like `insert_bit`, while other threads insert, too."""
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
    """Insert a row into a table of row numbers; return its number, which is `row` if it is new."""
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
    """Return the number of the row with the values of registers, whose numbers are stored from `at` on; or NONE."""
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
    """Return the group of a key in a hash index, or NONE."""
    slot = slot_of(key, shift)
    while True:
        found = load_u64(keys, slot)
        if found == key:
            return U64(load_u32(groups, slot))
        if found == EMPTY:
            return U64(NONE)
        slot = (slot + U64(1)) & mask
