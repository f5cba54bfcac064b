"""Ids of constants on Spark: 64 bits that mean the same on every machine, so that any task can make one by itself.

The two low bits are a tag. Most numbers and the booleans are their own ids (inline); every other constant is hashed,
and needs a row in the universe. The next three bits of a hashed id contain the kind of its constant, so that no join
with the universe is needed to see that a column holds only strings. Ids of integers are ordered like the integers, and
those of doubles like the doubles (`double_ids`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from enum import IntEnum
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
from numba import njit

from corollary.engines.embedded.relations.relation import Codes
from corollary.engines.embedded.values.encoder import encode_constants
from corollary.engines.embedded.values.universe import Kind, Universe
from corollary.engines.spark.terms.double_ids import (
    NOT_INLINE,
    double_id,
    doubles_of_ids,
    inline_double_ids,
    value_of_double_id,
)
from corollary.engines.spark.terms.forms import codes_of_forms, form_table, term_text
from corollary.program import Value, canonical
from corollary.settings import DEEPEST

# -- xxhash ------------------------------------------------------------------------------------------------------------

# XXH64 as a kernel. Spark's function `xxhash64` gives the same numbers, so that Spark can make ids without Python.

U64 = np.uint64
SPARK_SEED = 42  # the seed of Spark's function
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
    """Return the hash of the eight bytes of a number."""
    state = seed + _P5 + U64(8)
    state = _rotated(state ^ _round(U64(0), word), 27) * _P1 + _P4
    return _mixed(state)


@njit
def hash_bytes(data: Any, start: Any, stop: Any, seed: Any) -> Any:
    """Return the hash of `data[start:stop]`."""
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
    """Return the seeds with which Spark continues after these numbers, in `xxhash64(number, text)`."""
    seeds = np.empty(len(words), np.uint64)
    for i in range(len(words)):
        seeds[i] = hash_word(U64(words[i]), U64(SPARK_SEED))
    return seeds


# -- ids ---------------------------------------------------------------------------------------------------------------

# The numbers of `Kind` and `Tag`, because numba accepts only plain numbers.
_INTEGER, _DOUBLE, _BOOLEAN, _STRING, _DECIMAL, _TERM, _OPAQUE = 0, 1, 2, 3, 5, 8, 9
_HASHED = U64(2)
_LEAST, _BEYOND = -(1 << 61), 1 << 61
_MANTISSA = 1 << 55
_MINUS, _POINT = 45, 46
_NOT_INLINE = -1  # not an id: its tag is that of doubles, none of which is so close to 0


@njit(inline="always")
def _hashed(digest: Any, kind: int, mask: Any) -> Any:
    number = U64(kind) if kind != _TERM else U64(_BOOLEAN)
    return np.int64((((digest & mask) << U64(3) | number) << U64(2)) | _HASHED)


@njit(inline="always")
def _word_id(kind: int, word: Any, seeds: Any, mask: Any) -> Any:
    if kind == _INTEGER and _LEAST <= word < _BEYOND:
        return np.int64(word << 2)
    if kind == _BOOLEAN:
        return np.int64((word << 8) | 1)
    if kind == _DOUBLE:
        number = double_id(word)
        if number != _NOT_INLINE:
            return number
    return _hashed(hash_word(U64(word), seeds[kind]), kind, mask)


@njit(inline="always")
def _decimal_id(data: Any, start: Any, stop: Any) -> Any:
    """Return the inline id of a decimal, from its canonical text."""
    negative = data[start] == _MINUS
    at = start + 1 if negative else start
    if stop - at > 66:
        return _NOT_INLINE
    mantissa, scale = np.int64(0), 0
    pointed = False
    while at < stop:
        byte = data[at]
        if byte == _POINT:
            pointed = True
        else:
            mantissa = mantissa * 10 + (np.int64(byte) - 48)
            if mantissa > _MANTISSA:
                return _NOT_INLINE
            scale += pointed
        at += 1
    if negative:
        mantissa = -mantissa
    if scale < 1 or scale > 63 or mantissa < -_MANTISSA or mantissa >= _MANTISSA:
        return _NOT_INLINE
    return np.int64((((mantissa << 6) | scale) << 2) | 1)


@njit(inline="always")
def _text_id(kind: int, data: Any, start: Any, stop: Any, seeds: Any, mask: Any) -> Any:
    if kind == _DECIMAL:
        number = _decimal_id(data, start, stop)
        if number != _NOT_INLINE:
            return number
    return _hashed(hash_bytes(data, start, stop, seeds[kind]), kind, mask)


@njit(cache=True, nogil=True)
def ids_of_codes(codes: Any, kinds: Any, words: Any, lengths: Any, texts: Any, seeds: Any, mask: Any) -> Any:
    """Return the ids of codes of a universe; those of structures and lists are left as 0."""
    ids = np.zeros(len(codes), np.int64)
    for i in range(len(codes)):
        code = codes[i]
        kind = kinds[code]
        if kind < _STRING:
            ids[i] = _word_id(kind, words[code], seeds, mask)
        elif kind < _TERM:
            start = words[code]
            ids[i] = _text_id(kind, texts, start, start + np.int64(lengths[code]), seeds, mask)
        elif kind == _OPAQUE:
            ids[i] = words[code]
    return ids


@njit(cache=True, nogil=True)
def ids_of_texts(kind: int, data: Any, offsets: Any, seeds: Any, mask: Any) -> Any:
    ids = np.empty(len(offsets) - 1, np.int64)
    for i in range(len(ids)):
        ids[i] = _text_id(kind, data, offsets[i], offsets[i + 1], seeds, mask)
    return ids


@njit(cache=True, nogil=True)
def ids_of_words(kind: int, words: Any, seeds: Any, mask: Any) -> Any:
    ids = np.empty(len(words), np.int64)
    for i in range(len(words)):
        ids[i] = _word_id(kind, words[i], seeds, mask)
    return ids


@njit(cache=True, nogil=True)
def decimal_texts(ids: Any) -> Any:
    """Return the bytes and offsets of the canonical texts of inline decimals."""
    data = np.empty(len(ids) * 24 + 64, np.uint8)
    offsets = np.zeros(len(ids) + 1, np.int64)
    digits = np.empty(80, np.uint8)
    size = 0
    for i in range(len(ids)):
        scale = (ids[i] >> 2) & 63
        mantissa = ids[i] >> 8
        if size + 80 > len(data):
            grown = np.empty(len(data) * 2 + 80, np.uint8)
            grown[:size] = data[:size]
            data = grown
        if mantissa < 0:
            data[size] = _MINUS
            size += 1
            mantissa = -mantissa
        count = 0
        while mantissa > 0 or count <= scale:
            digits[count] = 48 + mantissa % 10
            mantissa //= 10
            count += 1
        for place in range(count - 1, -1, -1):
            data[size] = digits[place]
            size += 1
            if place == scale:
                data[size] = _POINT
                size += 1
        offsets[i + 1] = size
    return data[:size], offsets


Ids: TypeAlias = np.ndarray[Any, np.dtype[np.int64]]

HASH_BITS = 59


class Tag(IntEnum):
    """The low bits of an id."""

    INTEGER = 0
    DECIMAL = 1
    """Decimals with at least one digit after the point; without any, a boolean."""
    HASHED = 2
    DOUBLE = 3


IS_BOOLEAN = 255, 1
"""A mask for the low bits of booleans, and their value; the next bit is the boolean's value."""


_CLASS_OF_TERMS = 2  # the kind number of booleans, which are never hashed; every other kind has its own number
HASHED_CLASSES: dict[Kind, int] = {
    Kind.INTEGER: Kind.INTEGER,
    Kind.DOUBLE: Kind.DOUBLE,
    Kind.TERM: _CLASS_OF_TERMS,
    Kind.STRING: Kind.STRING,
    Kind.IRI: Kind.IRI,
    Kind.DECIMAL: Kind.DECIMAL,
    Kind.LARGE_INTEGER: Kind.LARGE_INTEGER,
    Kind.LITERAL: Kind.LITERAL,
}
"""The classes in the three bits after the tag of a hashed id; integers there are those of 62 to 64 bits."""
_KIND_OF_CLASS = np.array(
    [kind for _, kind in sorted((number, kind) for kind, number in HASHED_CLASSES.items())], np.uint8
)


@dataclass(frozen=True)
class CollisionTable:
    """How to make ids: the width of the hashes, and the constants whose plain hash another constant had first.

    `salts` has the salt of such a constant by its datatype and canonical text.
    """

    salts: Mapping[tuple[str, str], int] = field(default_factory=dict)
    hash_bits: int = HASH_BITS
    deepest: int = DEEPEST
    """How deep the function terms and lists that rules make may be nested."""

    def with_salts(self, salts: Mapping[tuple[str, str], int]) -> CollisionTable:
        return replace(self, salts={**self.salts, **salts})


NO_COLLISIONS = CollisionTable()


def tag(ids: Ids) -> Ids:
    """Return the tags of ids."""
    return ids & 3


def is_hashed(ids: Ids) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """Return which ids are hashed, so that they need the universe."""
    hashed: np.ndarray[Any, np.dtype[np.bool_]] = tag(ids) == Tag.HASHED
    return hashed


def kinds(ids: Ids) -> np.ndarray[Any, np.dtype[np.uint8]]:
    """Return the kinds of constants from their ids alone."""
    inline = np.array([Kind.INTEGER, Kind.DECIMAL, 0, Kind.DOUBLE], np.uint8)
    found: np.ndarray[Any, np.dtype[np.uint8]] = np.where(
        is_hashed(ids), _KIND_OF_CLASS[(ids >> 2) & 7], inline[tag(ids)]
    )
    found[are_booleans(ids)] = Kind.BOOLEAN
    return found


def are_booleans(ids: Ids) -> np.ndarray[Any, np.dtype[np.bool_]]:
    mask, value = IS_BOOLEAN
    found: np.ndarray[Any, np.dtype[np.bool_]] = ids & mask == value
    return found


def ids_of_universe(universe: Universe, codes: Codes, collisions: CollisionTable = NO_COLLISIONS) -> Ids:
    """Return the ids of codes of an embedded universe."""
    codes = np.ascontiguousarray(codes, np.uint32)
    ids: Ids = ids_of_codes(
        codes, universe.kinds, universe.words, universe.lengths, universe.texts, _seeds(0), _mask(collisions)
    )
    for place in np.flatnonzero(universe.kinds[codes] == Kind.TERM).tolist():
        ids[place] = _term_id(universe.value(int(codes[place])), 0, collisions)
    if collisions.salts:
        _salt(universe, codes, ids, collisions)
    return ids


def ids_of_encoded_texts(
    kind: Kind, data: np.ndarray[Any, Any], offsets: np.ndarray[Any, Any], collisions: CollisionTable = NO_COLLISIONS
) -> Ids:
    """Return the ids of texts as `Universe.encode_texts` accepts them."""
    if collisions.salts:
        scratch = Universe()
        return ids_of_universe(scratch, scratch.encode_texts(kind, data, offsets), collisions)
    ids: Ids = ids_of_texts(int(kind), data, offsets, _seeds(0), _mask(collisions))
    return ids


def ids_of_integers(values: Ids, collisions: CollisionTable = NO_COLLISIONS) -> Ids:
    if collisions.salts:
        scratch = Universe()
        return ids_of_universe(scratch, scratch.encode_integers(values), collisions)
    ids: Ids = ids_of_words(int(Kind.INTEGER), values, _seeds(0), _mask(collisions))
    return ids


def ids_of_doubles(values: np.ndarray[Any, np.dtype[np.float64]], collisions: CollisionTable = NO_COLLISIONS) -> Ids:
    values = np.ascontiguousarray(values, np.float64)
    ids: Ids = inline_double_ids(values.view(np.int64))
    others = ids == NOT_INLINE
    if others.any():
        scratch = Universe()
        ids[others] = ids_of_universe(scratch, scratch.encode_doubles(values[others]), collisions)
    return ids


def ids_of(values: Sequence[Value], collisions: CollisionTable = NO_COLLISIONS) -> Ids:
    """Return the ids of some constants, which need not be in the universe yet."""
    universe = Universe()
    return ids_of_universe(universe, encode_constants(universe, values), collisions)


def id_of(value: Value, collisions: CollisionTable = NO_COLLISIONS) -> int:
    """Return the id of one constant, such as one in a rule.

    >>> id_of(3), inline_value(id_of(3))
    (12, 3)
    """
    value = canonical(value)
    if type(value) is int and -(1 << 61) <= value < 1 << 61:
        return value << 2
    return int(ids_of([value], collisions)[0])


def inline_value(number: int) -> Value | None:
    """Return the constant of an inline id; None for hashed ones."""
    match Tag(number & 3):
        case Tag.INTEGER:
            return number >> 2
        case Tag.DECIMAL:
            mantissa = number >> 8
            if number & IS_BOOLEAN[0] == IS_BOOLEAN[1]:
                return bool(mantissa)
            return Decimal((mantissa < 0, tuple(map(int, str(abs(mantissa)))), -((number >> 2) & 63)))
        case Tag.DOUBLE:
            return value_of_double_id(number)
        case _:
            return None


def boolean_sql(column: str) -> str:
    """Return an expression for the value of a column of booleans."""
    return f"(shiftright({column}, 8) <> 0L)"


def codes_of_inline(universe: Universe, number: Tag, ids: Ids) -> Codes:
    """Return the codes of inline ids with the same tag; new constants are added to the universe."""
    if number == Tag.INTEGER:
        return universe.encode_integers(ids >> 2)
    if number == Tag.DOUBLE:
        return universe.encode_doubles(doubles_of_ids(ids))
    booleans = are_booleans(ids)
    codes = np.empty(len(ids), np.uint32)
    codes[booleans] = universe.encode_booleans((ids[booleans] >> 8).astype(np.bool_))
    codes[~booleans] = universe.encode_texts(Kind.DECIMAL, *decimal_texts(ids[~booleans]))
    return codes


def salted_id(universe: Universe, code: int, salt: int, collisions: CollisionTable) -> int:
    """Return the id of a hashed constant with another salt."""
    if universe.kinds[code] == Kind.TERM:
        return _term_id(universe.value(code), salt, collisions)
    one = np.array([code], np.uint32)
    arrays = (universe.kinds, universe.words, universe.lengths, universe.texts)
    return int(ids_of_codes(one, *arrays, _seeds(salt), _mask(collisions))[0])


def _salt(universe: Universe, codes: Codes, ids: Ids, collisions: CollisionTable) -> None:
    """Replace the ids of the constants that the table names; they are few, and so are those with the same plain hash."""
    suspects = np.flatnonzero(is_hashed(ids) & np.isin(ids, _crowded(collisions)))
    if not len(suspects):
        return
    distinct, places = np.unique(codes[suspects], return_inverse=True)
    forms = form_table(universe, distinct)
    pairs = zip(forms["datatype"].to_pylist(), forms["canonical"].to_pylist(), strict=True)
    chosen = np.empty(len(distinct), np.int64)
    for place, (code, form) in enumerate(zip(distinct.tolist(), pairs, strict=True)):
        salt = collisions.salts.get(form, 0)
        chosen[place] = salted_id(universe, code, salt, collisions)
    ids[suspects] = chosen[places]


_CROWDED: dict[int, tuple[CollisionTable, Ids]] = {}


def _crowded(collisions: CollisionTable) -> Ids:
    """Return the plain hashes that more than one constant has, computed once per table."""
    known = _CROWDED.get(id(collisions))
    if known is None or known[0] is not collisions:
        universe = Universe()
        datatypes, canonicals = (pa.array(part, pa.string()) for part in zip(*collisions.salts, strict=True))
        codes = codes_of_forms(universe, canonicals, datatypes)
        known = (collisions, ids_of_universe(universe, codes, CollisionTable(hash_bits=collisions.hash_bits)))
        _CROWDED.clear()
        _CROWDED[id(collisions)] = known
    return known[1]


def _term_id(value: Value, salt: int, collisions: CollisionTable) -> int:
    text = term_text(value).encode("utf-8", "surrogatepass")
    offsets = np.array([0, len(text)], np.int64)
    return int(ids_of_texts(int(Kind.TERM), np.frombuffer(text, np.uint8), offsets, _seeds(salt), _mask(collisions))[0])


_SEEDS: dict[int, Any] = {}


def _seeds(salt: int) -> Any:
    """Return the seeds of all kinds. A text then has the hash `xxhash64(salt << 8 | kind, text)` of Spark."""
    if salt not in _SEEDS:
        _SEEDS[salt] = seeds_of(np.array([salt << 8 | kind for kind in range(len(Kind))], np.int64))
    return _SEEDS[salt]


def _mask(collisions: CollisionTable) -> np.uint64:
    return np.uint64((1 << collisions.hash_bits) - 1)
