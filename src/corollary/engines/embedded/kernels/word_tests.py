"""Integer operations inside the join kernel: codes of computed integers, equality of constants, comparisons of terms."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from corollary.engines.embedded.relations.hashing import U64
from corollary.engines.embedded.relations.memory import (
    field,
    load_u8,
    load_u32,
    load_u64,
    register,
    store_u8,
    store_u32,
    store_u64,
)
from corollary.engines.embedded.values.term_table import hash_word

COMPARE_EQ, COMPARE_NE, COMPARE_LT, COMPARE_LE, COMPARE_GT, COMPARE_GE = 0, 1, 2, 3, 4, 5
# At the place of its keys, such a test has a program: PUSH of a register or a number, or an operation on what was pushed.
COMPUTE, SAME, ORDER = 13, 14, 20  # ORDER plus a comparison
PUSH_REGISTER, PUSH_NUMBER, ADD, SUBTRACT, MULTIPLY, NEGATE = 0, 1, 2, 3, 4, 5
# Fields of the universe while rounds run: arrays, the hash table, how many constants there are and may be, and why it stopped.
U_KINDS, U_WORDS, U_TABLE, U_SHIFT, U_MASK, U_SIZE, U_LIMIT, U_STOP = 0, 1, 2, 3, 4, 5, 6, 7
UNIVERSE_SIZE = 8
FAILS, HOLDS, STOP = 0, 1, 2
NOT_WORDS, NO_ROOM = 1, 2  # something else than small integers was met; the universe is full
_DOUBLE, _LITERAL, _OPAQUE, _INTEGER = 1, 7, 9, 0  # kinds of constants
_SMALL, _SMALL_FACTOR = 1 << 61, 1 << 30  # sums and products of these stay within 64 bits


@njit(cache=True, nogil=True)
def on_words(tests: Any, at: Any, universe: Any, operator: Any, registers: Any) -> int:
    """Computations and comparisons of integers; what cannot be done here stops the pipeline, and is done otherwise then."""
    if load_u64(universe, U64(U_STOP)) != U64(0):
        return STOP
    kinds = load_u64(universe, U64(U_KINDS))
    if operator == U64(SAME):
        left, right = U64(register(tests, at, registers)), U64(register(tests, at + U64(1), registers))
        for code in (left, right):
            kind = load_u8(kinds, code)
            if kind in (_DOUBLE, _LITERAL, _OPAQUE):
                store_u64(universe, U64(U_STOP), U64(NOT_WORDS))
                return STOP
        return HOLDS if left == right else FAILS
    # Where the program ends, where it keeps what was pushed, and the register that gets the result.
    stop, stack, target, checks = (
        field(tests, at),
        field(tests, at + U64(1)),
        field(tests, at + U64(2)),
        field(tests, at + U64(3)),
    )
    step, top = at + U64(4), stack
    while step < stop:
        action, operand = field(tests, step), field(tests, step + U64(1))
        step += U64(2)
        if action == U64(PUSH_REGISTER):
            code = U64(load_u32(registers, operand))
            if load_u8(kinds, code) != _INTEGER:
                store_u64(universe, U64(U_STOP), U64(NOT_WORDS))
                return STOP
            store_u64(tests, top, load_u64(load_u64(universe, U64(U_WORDS)), code))
            top += U64(1)
        elif action == U64(PUSH_NUMBER):
            store_u64(tests, top, operand)
            top += U64(1)
        else:
            second = np.int64(load_u64(tests, top - U64(1)))
            if action == U64(NEGATE):
                first = np.int64(0)
            else:
                top -= U64(1)
                first = np.int64(load_u64(tests, top - U64(1)))
            most = _SMALL_FACTOR if action == U64(MULTIPLY) else _SMALL
            if first > most or first < -most or second > most or second < -most:
                store_u64(universe, U64(U_STOP), U64(NOT_WORDS))
                return STOP
            if action == U64(ADD):
                found = first + second
            elif action == U64(MULTIPLY):
                found = first * second
            else:
                found = first - second
            store_u64(tests, top - U64(1), U64(found))
    last = np.int64(load_u64(tests, top - U64(1)))
    if operator >= U64(ORDER):
        before = np.int64(load_u64(tests, top - U64(2)))
        if operator == U64(ORDER + COMPARE_EQ):
            return HOLDS if before == last else FAILS
        if operator == U64(ORDER + COMPARE_NE):
            return HOLDS if before != last else FAILS
        if operator == U64(ORDER + COMPARE_LT):
            return HOLDS if before < last else FAILS
        if operator == U64(ORDER + COMPARE_LE):
            return HOLDS if before <= last else FAILS
        if operator == U64(ORDER + COMPARE_GT):
            return HOLDS if before > last else FAILS
        return HOLDS if before >= last else FAILS
    # The code of the result, which it gets now if it has none.
    table, mask, words = (
        load_u64(universe, U64(U_TABLE)),
        load_u64(universe, U64(U_MASK)),
        load_u64(universe, U64(U_WORDS)),
    )
    mixed = hash_word(_INTEGER, last)
    slot = mixed >> load_u64(universe, U64(U_SHIFT))
    while True:
        entry = load_u64(table, slot)
        if entry == U64(0):
            size = load_u64(universe, U64(U_SIZE))
            if size >= load_u64(universe, U64(U_LIMIT)):
                store_u64(universe, U64(U_STOP), U64(NO_ROOM))
                return STOP
            code = size
            store_u8(kinds, code, np.uint8(_INTEGER))
            store_u64(words, code, U64(last))
            store_u64(universe, U64(U_SIZE), size + U64(1))
            store_u64(table, slot, mixed << U64(32) | (size + U64(1)))
            break
        if entry >> U64(32) == mixed:
            code = (entry & U64(0xFFFFFFFF)) - U64(1)
            if load_u8(kinds, code) == _INTEGER and load_u64(words, code) == U64(last):
                break
        slot = (slot + U64(1)) & mask
    if checks == U64(1):
        return HOLDS if U64(load_u32(registers, target)) == code else FAILS
    store_u32(registers, target, np.uint32(code))
    return HOLDS
