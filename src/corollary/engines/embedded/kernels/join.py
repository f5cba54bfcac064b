"""The join kernel: one compiled loop that runs the join pipeline of any rule, from the first row to the inserted head.

A pipeline is a list of *levels*. A level visits rows of a relation (all rows of a range, or those that an index finds
for the registers bound so far), binds registers, and has *tests* that a row must pass before the next level is entered.
The registers of the head are inserted into the head's relation, and a duplicate is recognised before it is stored. Keys
wait in a small buffer between computing their slot in the hash table and looking there, which hides the latency of
memory.

The kernel stops when the head's relation is full, when its budget of rule instances is spent or when the pipeline is
done, and continues from its state in the next call. The scan of the outermost level is divided into pieces: several
threads can share the pieces of one pipeline, each with its own state and its own area for new rows.

All arrays are passed as addresses and read without bounds checks: that way one compiled kernel serves every rule, and
the inner loop has nothing but the loads that the join needs.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from corollary.engines.embedded.relations.memory import (
    BITMAP,
    NONE,
    U64,
    add_u64,
    bit_of_pair,
    contains_bit,
    contains_key,
    field,
    find_group,
    find_wide,
    hash_row,
    insert_bit,
    insert_bit_shared,
    insert_key,
    insert_key_shared,
    insert_wide,
    load_f64,
    load_u8,
    load_u32,
    load_u64,
    prefetch_u64,
    register,
    slot_of,
    store_u8,
    store_u32,
    store_u64,
)
from corollary.engines.embedded.relations.memory import field as _field
from corollary.engines.embedded.relations.memory import register as _register
from corollary.engines.embedded.values.universe import hash_word

# -- word tests --------------------------------------------------------------------------------------------------------

# Integer operations inside the join kernel: codes of computed integers, equality of constants, comparisons of terms.

COMPARE_EQ, COMPARE_NE, COMPARE_LT, COMPARE_LE, COMPARE_GT, COMPARE_GE = 0, 1, 2, 3, 4, 5
# Instead of keys, such a test has a program: PUSH of a register or a number, or an operation on the pushed values.
COMPUTE, SAME, ORDER = 13, 14, 20  # ORDER plus a comparison operator
PUSH_REGISTER, PUSH_NUMBER, ADD, SUBTRACT, MULTIPLY, NEGATE = 0, 1, 2, 3, 4, 5
# Fields of the universe during rounds: arrays, the hash table, the number of constants and its maximum, and why it stopped.
U_KINDS, U_WORDS, U_TABLE, U_SHIFT, U_MASK, U_SIZE, U_LIMIT, U_STOP = 0, 1, 2, 3, 4, 5, 6, 7
UNIVERSE_SIZE = 8
FAILS, HOLDS, STOP = 0, 1, 2
NOT_WORDS, NO_ROOM = 1, 2  # anything but small integers occurred; the universe is full
_DOUBLE, _LITERAL, _OPAQUE, _INTEGER = 1, 7, 9, 0  # kinds of constants
_SMALL, _SMALL_FACTOR = 1 << 61, 1 << 30  # sums and products of numbers up to these stay within 64 bits


@njit(cache=True, nogil=True)
def on_words(tests: Any, at: Any, universe: Any, operator: Any, registers: Any) -> int:
    """Compute or compare integers; if that is not possible here, the pipeline stops and is run in the ordinary way."""
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
    # Where the program ends, where its stack is, and the register for the result.
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
    # The code of the result; a new constant is added to the universe.
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


# -- ordered level -----------------------------------------------------------------------------------------------------

# A level that visits rows in order: those between two ends, then those that are not ordered yet.

# Its fields, after those of every level: the rows in order of the values of a term, and how many of them have a value;
# rows from a number on are not ordered yet.
L_ORDERED, L_VALUED, L_TAIL = 20, 21, 22
# Where the codes of the values are, and kind and rank of every code.
L_CODES, L_STRIDE, L_OFFSET, L_KINDS, L_RANKS = 23, 24, 25, 26, 27
# Both ends of the range, each followed by its register; whether one matching row is enough.
L_LOWER, L_UPPER, L_ONCE = 28, 30, 32
# The key column that comes first in the order: 0 or its rows, their arity, the column, its register.
L_PREFIXES, L_ARITY_OF_PREFIX, L_COLUMN, L_PREFIX_AT = 33, 34, 35, 36
ORDERED_SIZE = 17
NO_END, OPEN, CLOSED = 0, 1, 2


@njit(cache=True, nogil=True)
def _first_beyond(levels: Any, base: Any, prefix: Any, kind: Any, rank: Any, passes_equal: Any) -> Any:
    """Return the first position in order with a value larger than one of this kind and rank (or equal, unless
    `passes_equal`)."""
    ordered, kinds, ranks = (
        field(levels, base + L_ORDERED),
        field(levels, base + L_KINDS),
        field(levels, base + L_RANKS),
    )
    codes, stride, offset = (
        field(levels, base + L_CODES),
        field(levels, base + L_STRIDE),
        field(levels, base + L_OFFSET),
    )
    prefixes, arity, column = (
        field(levels, base + L_PREFIXES),
        field(levels, base + L_ARITY_OF_PREFIX),
        field(levels, base + L_COLUMN),
    )
    low, high = U64(0), field(levels, base + L_VALUED)
    while low < high:
        middle = (low + high) >> U64(1)
        row = U64(load_u32(ordered, middle))
        code = U64(load_u32(codes, row * stride + offset))
        one_prefix = U64(0) if prefixes == U64(0) else U64(load_u32(prefixes, row * arity + column))
        one_kind, one_rank = U64(load_u8(kinds, code)), load_f64(ranks, code)
        if one_prefix != prefix:
            passes = one_prefix < prefix
        elif one_kind != kind:
            passes = one_kind < kind
        elif one_rank == rank:
            passes = passes_equal
        else:
            passes = one_rank < rank
        if passes:
            low = middle + U64(1)
        else:
            high = middle
    return low


@njit(cache=True, nogil=True)
def range_of(levels: Any, base: Any, size: Any, registers: Any) -> Any:
    """Return the positions of an ordered index between the ends of a range; the unordered rows if there are none."""
    kinds, ranks = field(levels, base + L_KINDS), field(levels, base + L_RANKS)
    lower, upper = field(levels, base + L_LOWER), field(levels, base + L_UPPER)
    lowest, highest = -np.inf, np.inf
    kind = U64(0)
    if upper != U64(NO_END):
        code = U64(register(levels, base + L_UPPER + 1, registers))
        kind, highest = U64(load_u8(kinds, code)), load_f64(ranks, code)
    if lower != U64(NO_END):
        code = U64(register(levels, base + L_LOWER + 1, registers))
        other, lowest = U64(load_u8(kinds, code)), load_f64(ranks, code)
        if upper != U64(NO_END) and other != kind:
            return U64(0), U64(0)
        kind = other
    if kind == U64(0) or not lowest <= highest:  # values without an order, NaN, or an empty range
        return U64(0), U64(0)
    prefix = U64(0)
    if field(levels, base + L_PREFIXES) != U64(0):
        prefix = U64(register(levels, base + L_PREFIX_AT, registers))
    first, last = U64(0), U64(0)
    if field(levels, base + L_VALUED) != U64(0):
        first = _first_beyond(levels, base, prefix, kind, lowest, lower == U64(OPEN))
        last = _first_beyond(levels, base, prefix, kind, highest, upper != U64(OPEN))
    if first < last:
        return first, last
    tail = field(levels, base + L_TAIL)
    return (tail, size) if tail < size else (U64(0), U64(0))


@njit(cache=True, nogil=True)
def is_in_range(levels: Any, base: Any, row: Any, registers: Any) -> bool:
    """Return whether a row that is not ordered yet lies in the range."""
    prefixes = field(levels, base + L_PREFIXES)
    if prefixes != U64(0):
        key = load_u32(prefixes, row * field(levels, base + L_ARITY_OF_PREFIX) + field(levels, base + L_COLUMN))
        if key != register(levels, base + L_PREFIX_AT, registers):
            return False
    code = load_u32(
        field(levels, base + L_CODES), row * field(levels, base + L_STRIDE) + field(levels, base + L_OFFSET)
    )
    if code == NONE:
        return False
    kinds, ranks = field(levels, base + L_KINDS), field(levels, base + L_RANKS)
    kind, rank = load_u8(kinds, U64(code)), load_f64(ranks, U64(code))
    lower, upper = field(levels, base + L_LOWER), field(levels, base + L_UPPER)
    if lower != U64(NO_END):
        end = U64(register(levels, base + L_LOWER + 1, registers))
        if load_u8(kinds, end) != kind or not (
            rank > load_f64(ranks, end) or (lower == U64(CLOSED) and rank == load_f64(ranks, end))
        ):
            return False
    if upper != U64(NO_END):
        end = U64(register(levels, base + L_UPPER + 1, registers))
        if load_u8(kinds, end) != kind or not (
            rank < load_f64(ranks, end) or (upper == U64(CLOSED) and rank == load_f64(ranks, end))
        ):
            return False
    return True


# -- join --------------------------------------------------------------------------------------------------------------

# The fields of a level. Its actions on columns (column, kind, register) and its key registers are stored after all
# levels, at offsets in two of its fields, so that neither the width of a relation nor the length of a rule is limited.
L_OP, L_ARITY, L_LOW, L_HIGH = 0, 1, 2, 3
L_ROWS, L_ENTRIES, L_NEXT, L_HASHED, L_KEYS, L_GROUPS, L_SHIFT, L_MASK = 4, 5, 6, 7, 8, 9, 10, 11  # fields of an index
L_ACTIONS, L_KEY_COUNT, L_FIRST_TEST, L_LAST_TEST = 12, 13, 14, 15
L_ACTION_AT, L_KEY_AT, L_FLAGS, L_HIDDEN = 16, 17, 18, 19  # rows with a hidden flag are skipped
# After them, the fields of an ordered index: see above.
LEVEL_SIZE = 20 + ORDERED_SIZE
ACTION_SIZE = 3
LEAST_ACTIONS = 2  # the kernel reads two actions of a level before it knows their number

# How a level visits rows: all rows; a range of clustered rows; a chain of rows; a range of ordered rows, then the
# unordered ones.
SCAN, RANGE, CHAIN, ORDERED = 0, 1, 2, 3
BIND, CHECK = 0, 1

# The fields of a test. The registers of its key or arguments are stored after all tests.
T_OP, T_NEGATED, T_CHAIN, T_KEY_COUNT, T_CLASS, T_ORDER = 0, 1, 2, 3, 4, 5
T_TABLE, T_ROWS, T_SHIFT, T_MASK, T_BITS = 6, 7, 8, 9, 10  # fields of a set
T_INDEX, T_ENTRIES, T_HASHED, T_KEYS = 11, 12, 14, 15  # fields of an index, in the order of a level
T_KEY_AT, T_FLAGS, T_HIDDEN = 19, 20, 21
TEST_SIZE = 22
LEAST_KEYS = 2  # likewise two key registers of a test

MEMBER, EXISTS = 10, 11
VALUE = 12  # binds a register to the value key of another one, and fails if there is none

# Scalars of the state.
S_DEPTH, S_BUFFERED, S_SIZE, S_INSTANCES, S_STARTED = 0, 1, 2, 3, 4
# Scalars of the head: fields of its set, what to do with a row, and whether a count exceeded 32 bits.
H_TABLE, H_ROWS, H_SHIFT, H_MASK, H_BITS, H_ARITY, H_LIMIT, H_INSERTS, H_COUNTS, H_SHARED = 0, 1, 2, 3, 4, 5, 6, 7, 8, 9
H_OVERFLOWN = 10
HEAD_SIZE = 11
# The pieces of the outermost scan: where the next one starts, and their length.
P_NEXT, P_LENGTH = 0, 1

BUFFER = 64
DONE, FULL, YIELDED = 0, 1, 2

# Levels, tests and registers are addresses here, because indexing an array would check every index for being negative.


@njit(inline="always")
def _key_of(fields: Any, at: Any, count: Any, registers: Any) -> Any:
    """Return the key of registers: exact for up to two; otherwise a hash, and the level compares the columns."""
    if count == U64(1):
        return U64(_register(fields, at, registers))
    if count == U64(2):
        return (U64(_register(fields, at, registers)) << U64(32)) | U64(_register(fields, at + U64(1), registers))
    key = U64(0)
    for i in range(count):
        key = hash_row(key, U64(_register(fields, at + U64(i), registers)))
    return key & U64(0x7FFFFFFFFFFFFFFF)


@njit(inline="always")
def _entry(fields: Any, base: Any, hashed: Any, key: Any) -> Any:
    """Return the entry of an index for a key, or NONE."""
    if hashed == U64(0):
        return key
    keys, groups = _field(fields, base), _field(fields, base + 1)
    return find_group(keys, groups, _field(fields, base + 2), _field(fields, base + 3), key)


@njit(inline="always")
def _compare(tests: Any, t: Any, operator: Any, registers: Any) -> Any:
    at = _field(tests, t + T_KEY_AT)
    left, right = U64(_register(tests, at, registers)), U64(_register(tests, at + U64(1), registers))
    kinds, order = _field(tests, t + T_CLASS), _field(tests, t + T_ORDER)
    if kinds == U64(0):  # no number in the universe equals one of another type: equality is identity
        return (left == right) == (operator == U64(COMPARE_EQ))
    left_kind, right_kind = load_u8(kinds, left), load_u8(kinds, right)
    if operator <= U64(COMPARE_NE):
        if left_kind == right_kind and (left_kind == 1 or left_kind > 4):  # kinds of numbers and moments
            return (load_f64(order, left) == load_f64(order, right)) == (operator == U64(COMPARE_EQ))
        return (left == right) == (operator == U64(COMPARE_EQ))
    if left_kind != right_kind or left_kind == 0:
        return False
    a, b = load_f64(order, left), load_f64(order, right)
    if operator == U64(COMPARE_LT):
        return a < b
    if operator == U64(COMPARE_LE):
        return a <= b
    if operator == U64(COMPARE_GT):
        return a > b
    return a >= b


@njit(inline="always")
def _passes(tests: Any, first: Any, last: Any, registers: Any) -> bool:
    for number in range(first, last):
        t = number * TEST_SIZE
        operator = _field(tests, t + T_OP)
        if operator < U64(MEMBER):
            holds = _compare(tests, t, operator, registers)
        elif operator == U64(MEMBER):
            holds = _is_member(tests, t, registers)
        elif operator == U64(VALUE):
            holds = _takes_value(tests, t, registers)
        elif operator > U64(VALUE):
            found = on_words(tests, _field(tests, t + T_KEY_AT), _field(tests, t + T_TABLE), operator, registers)
            if found == STOP:
                return False
            holds = found == HOLDS
        else:
            holds = _exists(tests, t, registers)
        if holds == (_field(tests, t + T_NEGATED) == U64(1)):
            return False
    return True


@njit(inline="always")
def _takes_value(tests: Any, t: Any, registers: Any) -> Any:
    at = _field(tests, t + T_KEY_AT)
    key = load_u32(_field(tests, t + T_CLASS), U64(_register(tests, at, registers)))
    store_u32(registers, _field(tests, at + U64(1)), key)
    return key != NONE


@njit(inline="always")
def _is_member(tests: Any, t: Any, registers: Any) -> Any:
    """Return whether the fact with these registers is in the set of a relation."""
    count, bits, at = _field(tests, t + T_KEY_COUNT), _field(tests, t + T_BITS), _field(tests, t + T_KEY_AT)
    table, shift, mask = _field(tests, t + T_TABLE), _field(tests, t + T_SHIFT), _field(tests, t + T_MASK)
    if bits == U64(0):
        row = find_wide(table, shift, mask, _field(tests, t + T_ROWS), registers, tests, at, count)
        if row == U64(NONE):
            return False
        flags = _field(tests, t + T_FLAGS)
        return flags == U64(0) or (U64(load_u8(flags, row)) & _field(tests, t + T_HIDDEN)) == U64(0)
    if bits == U64(BITMAP):
        pair = U64(_register(tests, at, registers))
        pair |= U64(_register(tests, at + U64(1), registers)) << U64(32)
        return contains_bit(table, shift, pair)
    key = U64(0)
    for i in range(count):
        key |= U64(_register(tests, at + U64(i), registers)) << (bits * U64(i))
    return contains_key(table, shift, mask, key)


@njit(inline="always")
def _exists(tests: Any, t: Any, registers: Any) -> Any:
    """Return whether an index has an entry for these registers (two at most)."""
    key = _key_of(tests, _field(tests, t + T_KEY_AT), _field(tests, t + T_KEY_COUNT), registers)
    entry = _entry(tests, t + T_KEYS, _field(tests, t + T_HASHED), key)
    if entry == U64(NONE):
        return False
    entries = _field(tests, t + T_ENTRIES)
    if _field(tests, t + T_CHAIN) == U64(1):
        return load_u32(entries, entry) != NONE
    return load_u32(entries, entry) < load_u32(entries, entry + U64(1))


@njit(inline="always")
def _enter(levels: Any, depth: Any, registers: Any, current: Any, end: Any) -> None:
    base = depth * LEVEL_SIZE
    operator = _field(levels, base + L_OP)
    if operator == U64(SCAN):
        current[depth] = _field(levels, base + L_LOW)
        end[depth] = _field(levels, base + L_HIGH)
        return
    if operator == U64(ORDERED):
        current[depth], end[depth] = range_of(levels, base, _field(levels, base + L_HIGH), registers)
        return
    key = _key_of(levels, _field(levels, base + L_KEY_AT), _field(levels, base + L_KEY_COUNT), registers)
    entry = _entry(levels, base + L_KEYS, _field(levels, base + L_HASHED), key)
    entries = _field(levels, base + L_ENTRIES)
    if operator == U64(RANGE):
        if entry == U64(NONE):
            current[depth] = U64(0)
            end[depth] = U64(0)
        else:
            current[depth] = U64(load_u32(entries, entry))
            end[depth] = U64(load_u32(entries, entry + U64(1)))
        return
    row = U64(NONE)
    if entry != U64(NONE):
        row = U64(load_u32(entries, entry))
    high = _field(levels, base + L_HIGH)
    while row != U64(NONE) and row >= high:  # the chain starts with the newest rows
        row = U64(load_u32(_field(levels, base + L_NEXT), row))
    current[depth] = row


@njit(inline="always")
def _take_piece(levels: Any, pieces: Any, current: Any, end: Any) -> bool:
    """Continue with the next piece of the outermost scan that no thread has taken; return False if none is left."""
    length, high = load_u64(pieces, U64(P_LENGTH)), _field(levels, L_HIGH)
    low = add_u64(pieces, U64(P_NEXT), length)
    if low >= high:
        return False
    current[0] = low
    end[0] = min(low + length, high)
    return True


@njit(inline="always")
def _accept(levels: Any, base: Any, row: Any, registers: Any) -> bool:
    """Bind the registers of a level to a row; return False if the row does not match."""
    rows, arity = _field(levels, base + L_ROWS), _field(levels, base + L_ARITY)
    start = _field(levels, base + L_ACTION_AT)
    for action in range(_field(levels, base + L_ACTIONS)):
        a = start + U64(action) * U64(ACTION_SIZE)
        value = load_u32(rows, row * arity + _field(levels, a))
        register = _field(levels, a + U64(2))
        if _field(levels, a + U64(1)) == U64(BIND):
            store_u32(registers, register, value)
        elif load_u32(registers, register) != value:
            return False
    return True


@njit(inline="always")
def _only_binds(levels: Any, base: Any) -> Any:
    """Return whether a level binds one or two registers and compares nothing."""
    actions, kinds = _field(levels, base + L_ACTIONS), _field(levels, base + L_ACTION_AT) + U64(1)
    first, second = _field(levels, kinds) == U64(BIND), _field(levels, kinds + U64(ACTION_SIZE)) == U64(BIND)
    return (actions == U64(1) and first) or (actions == U64(2) and first and second)


@njit(inline="always")
def _tests_a_bit(tests: Any, t: Any) -> Any:
    """Return whether a test looks up a pair in a bitmap."""
    is_positive = _field(tests, t + T_NEGATED) == U64(0)
    return is_positive and _field(tests, t + T_OP) == U64(MEMBER) and _field(tests, t + T_BITS) == U64(BITMAP)


@njit(inline="always")
def _flush(head: Any, keys: Any, waiting: Any, count: Any, size: Any) -> Any:
    """Insert the buffered heads; return the new size of the relation."""
    rows, arity = U64(head[H_ROWS]), U64(head[H_ARITY])
    table, shift, mask, bits = U64(head[H_TABLE]), U64(head[H_SHIFT]), U64(head[H_MASK]), U64(head[H_BITS])
    shared = head[H_SHARED] == 1
    if bits == U64(0):
        counts = U64(head[H_COUNTS])
        for i in range(count):
            at = U64(i) * arity
            row = insert_wide(table, shift, mask, rows, arity, waiting, at, load_u64(keys, U64(i)), size)
            if row == size:
                for column in range(arity):
                    store_u32(rows, size * arity + U64(column), load_u32(waiting, at + U64(column)))
                size += U64(1)
            if counts != U64(0):
                known = load_u32(counts, row)
                if known == NONE:
                    head[H_OVERFLOWN] = 1
                store_u32(counts, row, known + np.uint32(1))
    elif bits == U64(BITMAP):
        for i in range(count):
            key = load_u64(keys, U64(i))
            if insert_bit_shared(table, shift, key) if shared else insert_bit(table, shift, key):
                store_u64(rows, size, key)
                size += U64(1)
    elif arity == U64(2):
        for i in range(count):
            key = load_u64(keys, U64(i))
            if insert_key_shared(table, shift, mask, key) if shared else insert_key(table, shift, mask, key):
                store_u64(rows, size, key)  # a packed pair has the same bytes as its row
                size += U64(1)
    else:
        field = (U64(1) << bits) - U64(1)
        for i in range(count):
            key = load_u64(keys, U64(i))
            if insert_key_shared(table, shift, mask, key) if shared else insert_key(table, shift, mask, key):
                for column in range(arity):
                    value = (key >> (bits * U64(column))) & field
                    store_u32(rows, size * arity + U64(column), np.uint32(value))
                size += U64(1)
    return size


@njit(cache=True, nogil=True, boundscheck=False)
def run_pipeline(
    level_fields: Any,
    test_fields: Any,
    head: Any,
    head_registers: Any,
    register_values: Any,
    current: Any,
    end: Any,
    key_buffer: Any,
    row_buffer: Any,
    state: Any,
    piece_fields: Any,
    level_count: int,
    budget: int,
) -> int:
    """Start or continue a pipeline and return DONE, FULL or YIELDED; the module describes the arrays."""
    levels, tests = U64(level_fields.ctypes.data), U64(test_fields.ctypes.data)
    registers, heads = U64(register_values.ctypes.data), U64(head_registers.ctypes.data)
    keys, waiting = U64(key_buffer.ctypes.data), U64(row_buffer.ctypes.data)
    pieces, in_pieces = U64(piece_fields.ctypes.data), _field(levels, L_OP) == U64(SCAN)
    last = level_count - 1
    depth, buffered = state[S_DEPTH], U64(state[S_BUFFERED])
    size, instances = U64(state[S_SIZE]), U64(0)
    arity, bits = U64(head[H_ARITY]), U64(head[H_BITS])
    rows, table, shift = U64(head[H_ROWS]), U64(head[H_TABLE]), U64(head[H_SHIFT])
    limit, inserts, is_bitmap = U64(head[H_LIMIT]), head[H_INSERTS] == 1, head[H_BITS] == BITMAP
    is_pair = head[H_ARITY] == 2 and head[H_BITS] in (32, BITMAP)
    first_register, second_register = load_u64(heads, U64(0)), load_u64(heads, arity - U64(1))
    status = DONE
    if state[S_STARTED] == 0:
        state[S_STARTED] = 1
        if in_pieces:
            depth = -1
        else:
            _enter(levels, 0, registers, current, end)
    if buffered == U64(BUFFER):  # it stopped with a full buffer, and now there is room
        size = _flush(head, keys, waiting, buffered, size)
        buffered = U64(0)
    while status == DONE:
        if depth < 0:
            if not in_pieces or not _take_piece(levels, pieces, current, end):
                break
            depth = 0
        base = depth * LEVEL_SIZE
        is_chain = _field(levels, base + L_OP) == U64(CHAIN)
        is_ordered = _field(levels, base + L_OP) == U64(ORDERED)
        is_plain = not is_chain and not is_ordered
        once = _field(levels, base + L_ONCE) != U64(0)
        ordered, tail, high = (
            _field(levels, base + L_ORDERED),
            _field(levels, base + L_TAIL),
            _field(levels, base + L_HIGH),
        )
        following = _field(levels, base + L_NEXT)
        first_test, last_test = (
            np.int64(_field(levels, base + L_FIRST_TEST)),
            np.int64(_field(levels, base + L_LAST_TEST)),
        )
        row = current[depth]
        stop = U64(NONE) if is_chain else end[depth]
        source, source_arity = _field(levels, base + L_ROWS), _field(levels, base + L_ARITY)
        # Most levels bind one or two columns and compare nothing; they skip reading the fields of actions for each row.
        action = _field(levels, base + L_ACTION_AT)
        other = action + (U64(ACTION_SIZE) if _field(levels, base + L_ACTIONS) == U64(2) else U64(0))
        column, target = _field(levels, action), _field(levels, action + U64(2))
        other_column, other_target = _field(levels, other), _field(levels, other + U64(2))
        only_binds = _only_binds(levels, base)
        has_tests = first_test < last_test
        flags, hidden = _field(levels, base + L_FLAGS), _field(levels, base + L_HIDDEN)
        if depth < last:
            inner_is_chain = _field(levels, base + LEVEL_SIZE + L_OP) == U64(CHAIN)
            entered = False
            while row != stop:
                this = row
                if is_plain:
                    row = row + U64(1)
                elif is_chain:
                    row = U64(load_u32(following, row))
                else:
                    row = row + U64(1)
                    if this >= tail:
                        if not is_in_range(levels, base, this, registers):
                            continue
                    else:
                        this = U64(load_u32(ordered, this))
                        if row == stop and tail < high:  # now those that are not ordered yet
                            row, stop = tail, high
                            end[depth] = stop
                        if this >= high:  # newer than the rows of this version
                            continue
                if flags != U64(0) and (U64(load_u8(flags, this)) & hidden) != U64(0):
                    continue
                if only_binds:
                    store_u32(registers, target, load_u32(source, this * source_arity + column))
                    store_u32(registers, other_target, load_u32(source, this * source_arity + other_column))
                elif not _accept(levels, base, this, registers):
                    continue
                if once:
                    row = stop
                if has_tests and not _passes(tests, first_test, last_test, registers):
                    continue
                _enter(levels, depth + 1, registers, current, end)
                if current[depth + 1] != (U64(NONE) if inner_is_chain else end[depth + 1]):
                    entered = True
                    break
            current[depth] = row
            depth += 1 if entered else -1
            continue
        # The innermost level takes most of the time. Often its only test looks up a pair in a bitmap, which is done inline.
        t = first_test * TEST_SIZE
        tests_a_bit = last_test == first_test + 1 and _tests_a_bit(tests, t)
        bitmap, stride = _field(tests, t + T_TABLE), _field(tests, t + T_SHIFT)
        key_at = _field(tests, t + T_KEY_AT)
        bit_first, bit_second = _field(tests, key_at), _field(tests, key_at + U64(1))
        while row != stop:
            this = here = row
            here_stop = stop
            if is_plain:
                row = row + U64(1)
            elif is_chain:
                row = U64(load_u32(following, row))
            else:
                row = row + U64(1)
                if this >= tail:
                    if not is_in_range(levels, base, this, registers):
                        continue
                else:
                    this = U64(load_u32(ordered, this))
                    if row == stop and tail < high:
                        row, stop = tail, high
                        end[depth] = stop
                    if this >= high:
                        continue
            if flags != U64(0) and (U64(load_u8(flags, this)) & hidden) != U64(0):
                continue
            if only_binds:
                store_u32(registers, target, load_u32(source, this * source_arity + column))
                store_u32(registers, other_target, load_u32(source, this * source_arity + other_column))
            elif not _accept(levels, base, this, registers):
                continue
            if once:
                row = stop
            if tests_a_bit:
                pair = U64(load_u32(registers, bit_first)) | (U64(load_u32(registers, bit_second)) << U64(32))
                if not contains_bit(bitmap, stride, pair):
                    continue
            elif has_tests and not _passes(tests, first_test, last_test, registers):
                continue
            if not inserts:
                if size == limit:  # continue with this row when there is room
                    row = here
                    if is_ordered:
                        end[depth] = here_stop
                    status = FULL
                    break
                instances += U64(1)
                for c in range(arity):
                    store_u32(rows, size * arity + U64(c), load_u32(registers, load_u64(heads, U64(c))))
                size += U64(1)
                continue
            instances += U64(1)
            key = U64(0)
            if is_pair:
                key = U64(load_u32(registers, first_register)) | (U64(load_u32(registers, second_register)) << U64(32))
            elif bits == U64(0):
                for c in range(arity):
                    value = load_u32(registers, load_u64(heads, U64(c)))
                    store_u32(waiting, buffered * arity + U64(c), value)
                    key = hash_row(key, U64(value))
            else:
                for c in range(arity):
                    key |= U64(load_u32(registers, load_u64(heads, U64(c)))) << (bits * U64(c))
            prefetch_u64(table, bit_of_pair(key, shift) >> U64(6) if is_bitmap else slot_of(key, shift))
            store_u64(keys, buffered, key)
            buffered += U64(1)
            if buffered == U64(BUFFER):
                if size + U64(BUFFER) > limit:
                    status = FULL
                    break
                size = _flush(head, keys, waiting, buffered, size)
                buffered = U64(0)
                if instances > U64(budget):
                    status = YIELDED
                    break
        current[depth] = row
        if status == DONE:
            depth -= 1
    if status == DONE and buffered > U64(0):
        if size + buffered > limit:
            status = FULL
        else:
            size = _flush(head, keys, waiting, buffered, size)
            buffered = U64(0)
    state[S_DEPTH] = depth
    state[S_BUFFERED] = np.int64(buffered)
    state[S_SIZE] = np.int64(size)
    state[S_INSTANCES] += np.int64(instances)
    return status
