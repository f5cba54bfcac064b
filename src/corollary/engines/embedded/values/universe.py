"""The universe: every constant that the knowledge base has seen, each with a dense code.

Codes are numbers from 0 on, so that pairs pack into one word and indexes need no hashing. An integer that fits into 64
bits, a double and a boolean are stored inline; every other constant has its kind and its canonical text in one long
array of bytes. Kernels encode and decode whole columns; no Python object is made for a cell on the way in. An *opaque*
constant is known only by a number from outside: it equals only itself, and has no value until it is revealed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from decimal import Decimal
from enum import IntEnum
from typing import TYPE_CHECKING, Any

import numpy as np
from numba import njit

from corollary.engines.embedded.relations import memory
from corollary.engines.embedded.relations.memory import address, load_u8, load_u64_at_byte, prefetch_u64
from corollary.engines.embedded.relations.relation import Codes
from corollary.program import Constant, Iri, Literal, Structure, Value, canonical
from corollary.settings import DEEPEST

if TYPE_CHECKING:
    from corollary.engines.embedded.values.ordering import ValueKeys
    from corollary.engines.embedded.values.structures import Structures

# -- term table --------------------------------------------------------------------------------------------------------

# Kernels of the universe: one hash table over all constants, inline ones by their word and the others by their bytes.
#
# A slot of the table contains 32 bits of a constant's hash and its code plus one; an empty slot is 0. The first of
# these bits are the slot, so that a table grows in one pass in order, and a slot with other bits is skipped without
# reading its constant. The hashes of a block of constants are computed before the first look-up: while one waits for
# memory, the slots of the next ones are being fetched.

U64 = np.uint64
_INLINE_KINDS = 3  # kinds below this number store their value in the word itself
_TERM = 8  # constants of this kind and above are not in the table: they are found by other means
_GOLDEN = U64(0x9E3779B97F4A7C15)
_MIX = U64(0xD6E8FEB86659FD93)
_HALF = U64(32)
_LOW = U64(0xFFFFFFFF)
_BLOCK = 64


@njit(inline="always")
def hash_word(kind: int, word: Any) -> Any:
    """Return 32 bits of the hash of an inline constant; the first of them are its slot in the table."""
    mixed = (U64(word) ^ (U64(kind) << U64(61))) * _GOLDEN
    mixed = (mixed ^ (mixed >> _HALF)) * _MIX
    return mixed >> _HALF


@njit(inline="always")
def _hash_text(kind: int, place: Any, length: int) -> Any:
    """Return the hash of bytes at an address, eight by eight; the last eight may overlap the previous ones."""
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
    """Encode inline constants; return the new size of the universe, which must have room for every value."""
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
    """Encode texts; return the new sizes of the universe and of its bytes, which must have room for every text."""
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
    """Fill an empty table with the constants of a smaller one."""
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
    """Let look-ups of the constants with the codes `before` return `after` from now on."""
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
    """Return the texts as consecutive bytes."""
    out = np.empty(offsets[-1], np.uint8)
    for i in range(len(starts)):
        place = offsets[i]
        for b in range(offsets[i + 1] - place):
            out[place + b] = texts[starts[i] + b]
    return out


# -- universe ----------------------------------------------------------------------------------------------------------

_FIRST = 1024
_PIECE = 1 << 20


class Kind(IntEnum):
    """The kind of a constant; the numbers are part of the encoding."""

    INTEGER = 0
    DOUBLE = 1
    BOOLEAN = 2
    STRING = 3
    IRI = 4
    DECIMAL = 5
    LARGE_INTEGER = 6
    LITERAL = 7
    TERM = 8
    OPAQUE = 9


EQUAL_BY_VALUE = (Kind.DOUBLE, Kind.LITERAL, Kind.TERM)
"""Kinds of constants whose equality is not identity: 1.0e0 equals 1, moments equal those in other zones, NaN nothing."""


def may_equal_others(kinds: np.ndarray[Any, Any]) -> bool:
    """Return whether `=` may differ from identity for constants of these kinds."""
    return bool(np.isin(kinds, EQUAL_BY_VALUE).any())


OPAQUE = "\0opaque"
"""The name of the structure that represents the value of an opaque constant."""


class Universe:
    """The constants; there are `size`; `kinds[code]` is the kind of one, `words[code]` its value or the position of its
    text."""

    def __init__(self) -> None:
        self.size = 0
        self.kinds = np.empty(_FIRST, np.uint8)
        self.words = np.empty(_FIRST, np.int64)
        self.lengths = np.empty(_FIRST, np.uint32)
        self._texts = np.empty(1 << 16, np.uint8)
        self._text_size = 0
        self._table = np.zeros(_FIRST * 2, np.uint64)
        self._terms: list[Value | None] = []  # None for a term whose value was never used
        self._term_codes: dict[object, int] = {}
        self.structures: Structures | None = None  # the parts of terms, once they are needed
        self.value_keys: ValueKeys | None = None  # the value keys of constants, once they are needed
        self.deepest = DEEPEST  # how deep the terms that rules make may be nested
        self.revealed = 0  # how many opaque constants have got values, for caches of values by code

    @property
    def texts(self) -> np.ndarray[Any, np.dtype[np.uint8]]:
        """The bytes of all texts, one after the other."""
        return self._texts

    @property
    def _shift(self) -> int:
        """The number of bits by which a hash is longer than a slot number."""
        return 33 - len(self._table).bit_length()

    @property
    def code_bits(self) -> int:
        """The number of bits that holds every code and leaves the all-ones pattern free."""
        return int(self.size + 1).bit_length()

    # -- encoding ----------------------------------------------------------------------------------------------------

    def encode_integers(self, values: np.ndarray[Any, np.dtype[np.int64]]) -> Codes:
        return self._encode_words(Kind.INTEGER, np.ascontiguousarray(values, np.int64))

    def encode_doubles(self, values: np.ndarray[Any, np.dtype[np.float64]]) -> Codes:
        doubles = np.ascontiguousarray(values, np.float64).copy()
        doubles[np.isnan(doubles)] = np.nan  # one NaN, whatever its bits
        return self._encode_words(Kind.DOUBLE, doubles.view(np.int64))

    def encode_booleans(self, values: np.ndarray[Any, np.dtype[np.bool_]]) -> Codes:
        return self._encode_words(Kind.BOOLEAN, np.ascontiguousarray(values, np.int64))

    def encode_identities(self, numbers: np.ndarray[Any, np.dtype[np.int64]]) -> Codes:
        """Return codes of things that are known by a number and equal only themselves."""
        return self._encode_words(Kind.OPAQUE, np.ascontiguousarray(numbers, np.int64))

    def encode_texts(self, kind: Kind, data: np.ndarray[Any, Any], offsets: np.ndarray[Any, Any]) -> Codes:
        """Return the codes of texts in Arrow's form: bytes and n + 1 offsets."""
        count = len(offsets) - 1
        codes = np.empty(count, np.uint32)
        for start in range(0, count, _PIECE):
            stop = min(count, start + _PIECE)
            size = int(offsets[stop] - offsets[start])
            if size > memory.MOST_TEXT:
                memory.check_text(int(np.diff(offsets[start : stop + 1]).max()))
            self._reserve(stop - start, size)
            self.size, self._text_size = encode_bytes(
                data, address(data), offsets, start, stop, int(kind), self.kinds, self.words, self.lengths, self._texts,
                self._text_size, self._table, address(self._table), self._shift, self.size, codes,
            )  # fmt: skip
        return codes

    def _encode_words(self, kind: Kind, values: np.ndarray[Any, np.dtype[np.int64]]) -> Codes:
        codes = np.empty(len(values), np.uint32)
        for start in range(0, len(values), _PIECE):
            stop = min(len(values), start + _PIECE)
            self._reserve(stop - start, 0)
            self.size = encode_words(
                values[start:stop], int(kind), self.kinds, self.words, self._table, address(self._table), self._shift,
                self.size, codes[start:stop],
            )  # fmt: skip
        return codes

    def encode_values(self, values: Sequence[Value]) -> Codes:
        """Return the codes of Python values of any kinds; for constants of programs and small inputs."""
        codes = np.empty(len(values), np.uint32)
        if values and all(type(value) is int and -(1 << 63) <= value < 1 << 63 for value in values):
            return self.encode_integers(np.array(values, np.int64))
        if values and all(type(value) is str for value in values):
            return self._encode_texts_of(Kind.STRING, [value.encode() for value in values])  # type: ignore[union-attr]
        for position, value in enumerate(values):
            codes[position] = self.encode(value)
        return codes

    def encode(self, value: Value) -> int:
        """Return the code of one constant, adding it if it is new."""
        value = canonical(value)
        if isinstance(value, (Structure, tuple)):
            return self._encode_term(value)
        if isinstance(value, bool):
            return int(self.encode_booleans(np.array([value]))[0])
        if isinstance(value, int) and -(1 << 63) <= value < 1 << 63:
            return int(self.encode_integers(np.array([value], np.int64))[0])
        if isinstance(value, float):
            return int(self.encode_doubles(np.array([value]))[0])
        kind, text = _as_text(value)
        return int(self._encode_texts_of(kind, [text])[0])

    def _encode_texts_of(self, kind: Kind, texts: list[bytes]) -> Codes:
        offsets = np.zeros(len(texts) + 1, np.int64)
        np.cumsum([len(text) for text in texts], out=offsets[1:])
        return self.encode_texts(kind, np.frombuffer(b"".join(texts) or b"\0", np.uint8), offsets)

    @property
    def is_complete(self) -> bool:
        """Whether every constant has its value, so that terms are identified by the codes of their parts."""
        return type(self) is Universe

    def add_terms(self, count: int) -> Codes:
        """Return new codes for terms whose parts `structures` knows."""
        self._reserve(count, 0)
        codes = np.arange(self.size, self.size + count, dtype=np.uint32)
        self.kinds[codes] = Kind.TERM
        self.words[codes] = np.arange(len(self._terms), len(self._terms) + count)
        self._terms += [None] * count
        self.size += count
        return codes

    def has_value(self, code: int) -> bool:
        return self.kinds[code] != Kind.TERM or self._terms[self.words[code]] is not None

    def set_value(self, code: int, value: Value) -> None:
        self._terms[self.words[code]] = value

    def _encode_term(self, value: Value) -> int:
        if self.is_complete:
            from corollary.engines.embedded.values.structures import structures_of

            return structures_of(self).encode(value)
        key = Constant(value)
        code = self._term_codes.get(key)
        if code is None:
            self._reserve(1, 0)
            code = self.size
            self.kinds[code], self.words[code] = Kind.TERM, len(self._terms)
            self.size += 1
            self._terms.append(value)
            self._term_codes[key] = code
        return code

    def add_opaque(self, numbers: np.ndarray[Any, np.dtype[np.int64]]) -> Codes:
        """Return new codes for constants known only by these numbers, which cannot be looked up."""
        self._reserve(len(numbers), 0)
        codes = np.arange(self.size, self.size + len(numbers), dtype=np.uint32)
        self.kinds[codes], self.words[codes], self.lengths[codes] = Kind.OPAQUE, numbers, 0
        self.size += len(numbers)
        return codes

    def reveal(self, opaque: Codes, made: Codes) -> None:
        """Identify opaque constants with those that have just got the last codes, which become free again."""
        assert (np.sort(made) == np.arange(self.size - len(made), self.size)).all(), "only the last codes can move"
        replace_codes(
            self.kinds, self.words, self.lengths, address(self._texts), self._table, self._shift, made, opaque
        )
        terms = self.kinds[made] == Kind.TERM
        for word, code in zip(self.words[made[terms]].tolist(), opaque[terms].tolist(), strict=True):
            self._term_codes[Constant(self._terms[word])] = code
        for array in (self.kinds, self.words, self.lengths):
            array[opaque] = array[made]
        self.size -= len(made)
        self.revealed += len(made)

    def make_room(self, entries: int) -> None:
        """Make room for this many new inline constants."""
        self._reserve(entries, 0)

    @property
    def table_fields(self) -> tuple[int, int, int, int, int]:
        """Return the fields that a kernel needs to find and add integers: addresses of kinds, words and table, shift
        and mask."""
        return address(self.kinds), address(self.words), address(self._table), self._shift, len(self._table) - 1

    def _reserve(self, entries: int, text: int) -> None:
        wanted = self.size + entries
        memory.check_codes(wanted)
        if wanted > len(self.kinds):
            room = max(wanted, len(self.kinds) * 2)
            self.kinds = _grown(self.kinds, room)
            self.words = _grown(self.words, room)
            self.lengths = _grown(self.lengths, room)
        if self._text_size + text > len(self._texts):
            self._texts = _grown(self._texts, max(self._text_size + text, len(self._texts) * 2))
        if wanted * 3 > len(self._table) * 2:
            smaller, self._table = self._table, np.zeros(1 << (wanted * 3 // 2).bit_length(), np.uint64)
            rehash(smaller, self._table, self._shift)

    # -- decoding ----------------------------------------------------------------------------------------------------

    def value(self, code: int) -> Value:
        kind, word = Kind(self.kinds[code]), int(self.words[code])
        match kind:
            case Kind.INTEGER:
                return word
            case Kind.DOUBLE:
                return float(self.words[code : code + 1].view(np.float64)[0])
            case Kind.BOOLEAN:
                return bool(word)
            case Kind.TERM:
                term = self._terms[word]
                return self.structures.value_of(code) if term is None and self.structures is not None else term  # type: ignore[return-value]
            case Kind.OPAQUE:
                return Structure(OPAQUE, (word,))
            case _:
                text = self._texts[word : word + int(self.lengths[code])].tobytes().decode("utf-8", "surrogatepass")
                return _from_text(kind, text)

    def values(self, codes: Iterable[int]) -> list[Value]:
        """Return the values of many codes; each distinct code is decoded once."""
        known: dict[int, Value] = {}
        found: list[Value] = []
        for code in codes:
            if code not in known:
                known[code] = self.value(code)
            found.append(known[code])
        return found

    def text_column(self, codes: Codes) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
        """Return bytes and offsets of constants with a text, ready for Arrow."""
        lengths = self.lengths[codes].astype(np.int64)
        offsets = np.zeros(len(codes) + 1, np.int64)
        np.cumsum(lengths, out=offsets[1:])
        return gather(self._texts, self.words[codes], offsets), offsets

    @property
    def nbytes(self) -> int:
        arrays = (self.kinds, self.words, self.lengths, self._texts, self._table)
        return sum(array.nbytes for array in arrays)


def _grown(array: np.ndarray[Any, Any], room: int) -> np.ndarray[Any, Any]:
    grown = np.empty(room, array.dtype)
    grown[: len(array)] = array
    return grown


def _as_text(value: Value) -> tuple[Kind, bytes]:
    match value:
        case str():
            return Kind.STRING, value.encode("utf-8", "surrogatepass")
        case Iri():
            return Kind.IRI, value.value.encode("utf-8", "surrogatepass")
        case int():
            return Kind.LARGE_INTEGER, hex(value).encode()
        case Decimal():
            return Kind.DECIMAL, format(value, "f").encode()
        case Literal():
            parts = (value.datatype, value.language or "", value.lexical)
            return Kind.LITERAL, "\0".join(parts).encode("utf-8", "surrogatepass")
        case _:
            raise AssertionError(f"{value!r} has no text")


def _from_text(kind: Kind, text: str) -> Value:
    match kind:
        case Kind.STRING:
            return text
        case Kind.IRI:
            return Iri(text)
        case Kind.LARGE_INTEGER:
            return int(text, 16)
        case Kind.DECIMAL:
            return Decimal(text)
        case _:
            datatype, language, lexical = text.split("\0", 2)
            return Literal(lexical, datatype, language or None)
