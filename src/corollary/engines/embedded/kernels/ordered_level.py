"""A level of the join kernel that goes over rows in order: those between two ends, then those that are not in order yet."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from corollary.engines.embedded.relations.hashing import NONE, U64
from corollary.engines.embedded.relations.memory import field, load_f64, load_u8, load_u32, register

# Its fields, after those that every level has: the rows in order of the values of a term, and how many of them have one; from a
# row on they are not in order yet.
L_ORDERED, L_VALUED, L_TAIL = 20, 21, 22
# Where the codes of the values are, and kind and rank of every code.
L_CODES, L_STRIDE, L_OFFSET, L_KINDS, L_RANKS = 23, 24, 25, 26, 27
# Both ends of the range, each followed by its register; whether one row is as good as many.
L_LOWER, L_UPPER, L_ONCE = 28, 30, 32
# The key column that comes first in the order: 0 or its rows, their arity, the column, its register.
L_PREFIXES, L_ARITY_OF_PREFIX, L_COLUMN, L_PREFIX_AT = 33, 34, 35, 36
ORDERED_SIZE = 17
NO_END, OPEN, CLOSED = 0, 1, 2


@njit(cache=True, nogil=True)
def _first_beyond(levels: Any, base: Any, prefix: Any, kind: Any, rank: Any, passes_equal: Any) -> Any:
    """The first place in order whose value is larger than one of this kind and rank, or as large where equal ones do not pass."""
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
    """The places of an index in order between the ends of a range, or the rows that are not in order yet where there are none."""
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
    if kind == U64(0) or not lowest <= highest:  # values without an order, NaN, or ends the wrong way round
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
    """Whether a row that is not in order yet lies in the range."""
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
