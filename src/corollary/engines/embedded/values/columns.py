"""Arrow columns into the universe, each encoded as a whole.

What an Arrow column holds follows from its type, unless the metadata of its field says more (`corollary.language.cells`).
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numba import njit

from corollary.engines.embedded.relations.relation import Codes
from corollary.engines.embedded.values.constants import encode_constants, text_buffers
from corollary.engines.embedded.values.term_table import gather
from corollary.engines.embedded.values.universe import Kind, Universe
from corollary.language.cells import (
    CELLS,
    DECIMAL,
    DOUBLE,
    IRIS,
    MAX_NUMBER_LENGTH,
    MEANING,
    SMALL_INTEGER,
    TERMS,
    cell_value,
    term_value,
)
from corollary.program import Value
from corollary.program.python_values import NoConstant, from_python
from corollary.program.values import RDF

Mask: TypeAlias = np.ndarray[Any, np.dtype[np.bool_]]
_SPECIAL = r"^(?:-?[0-9]|true$|false$|-?INF$|NaN$)"


class UnsupportedColumn(ValueError):
    """A column of a type that has no constants in the language; the text is for people."""


def encode_table(universe: Universe, table: pa.Table) -> Codes:
    """The rows of a table as codes. Raises `UnsupportedColumn` for a type or a null that has no constant."""
    rows = np.empty((table.num_rows, table.num_columns), np.uint32)
    for position, field in enumerate(table.schema):
        column = table.column(position)
        if column.null_count:
            raise UnsupportedColumn(f"column '{field.name}' has {column.null_count:,} empty (null) values")
        meaning = (field.metadata or {}).get(MEANING)
        start = 0
        for chunk in column.chunks:
            rows[start : start + len(chunk), position] = _encode_array(universe, chunk, meaning)
            start += len(chunk)
    return rows


def _encode_array(universe: Universe, array: pa.Array, meaning: bytes | None) -> Codes:
    kind = array.type
    if pa.types.is_dictionary(kind):
        indices = array.indices.to_numpy(zero_copy_only=False)
        codes: Codes = _encode_array(universe, array.dictionary, meaning)[indices]
        return codes
    if pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
        if meaning == CELLS:
            return _encode_cells(universe, array)
        if meaning == TERMS:
            return _encode_terms(universe, array)
        return _encode_texts(universe, Kind.IRI if meaning == IRIS else Kind.STRING, array)
    if pa.types.is_boolean(kind):
        return universe.encode_booleans(array.to_numpy(zero_copy_only=False))
    if pa.types.is_integer(kind):
        return _encode_integers(universe, array)
    if pa.types.is_floating(kind):
        return universe.encode_doubles(array.to_numpy(zero_copy_only=False).astype(np.float64))
    if pa.types.is_decimal(kind):
        return encode_decimals(universe, pc.cast(array, pa.string()))
    if pa.types.is_temporal(kind) and not pa.types.is_duration(kind):
        return _encode_temporal(universe, array)
    raise UnsupportedColumn(f"there are no constants of the Arrow type {kind}")


def _encode_integers(universe: Universe, array: pa.Array) -> Codes:
    try:
        return universe.encode_integers(array.cast(pa.int64()).to_numpy(zero_copy_only=False))
    except pa.ArrowInvalid:  # beyond 63 bits
        return encode_constants(universe, array.to_pylist())


def _encode_temporal(universe: Universe, array: pa.Array) -> Codes:
    if getattr(array.type, "unit", None) == "ns":  # Python's own dates and times have no nanoseconds
        kind = array.type
        coarser = pa.timestamp("us", kind.tz) if pa.types.is_timestamp(kind) else pa.time64("us")
        try:
            array = array.cast(coarser)
        except pa.ArrowInvalid:
            raise UnsupportedColumn("there are no constants with nanoseconds: round to microseconds") from None
    try:
        return _encode_distinct(universe, array, from_python)
    except (NoConstant, ValueError, OverflowError) as error:
        raise UnsupportedColumn(str(error)) from None


def _encode_distinct(universe: Universe, array: pa.Array, value_of: Callable[[Any], Value]) -> Codes:
    encoded = array.dictionary_encode()
    codes = encode_constants(universe, [value_of(value) for value in encoded.dictionary.to_pylist()])
    taken: Codes = codes[encoded.indices.to_numpy(zero_copy_only=False)]
    return taken


# -- texts -------------------------------------------------------------------------------------------------------------


def _encode_texts(universe: Universe, kind: Kind, array: pa.Array) -> Codes:
    return universe.encode_texts(kind, *text_buffers(array))


class _ColumnEncoder:
    """Encodes a column part by part: each step takes some of the cells that are left."""

    def __init__(self, universe: Universe, array: pa.Array) -> None:
        self.universe = universe
        self.left = array
        self._codes = np.empty(len(array), np.uint32)
        self._places = np.arange(len(array))

    def take(self, mask: pa.Array | Mask, encode: Callable[[Universe, pa.Array], Codes]) -> None:
        chosen = mask if isinstance(mask, np.ndarray) else mask.to_numpy(zero_copy_only=False).astype(np.bool_)
        if not len(chosen):
            return
        if chosen.all():
            part, self.left = self.left, self.left.slice(0, 0)
        elif chosen.any():
            part, self.left = self.left.filter(pa.array(chosen)), self.left.filter(pa.array(~chosen))
        else:
            return
        self._codes[self._places[chosen]] = encode(self.universe, part)
        self._places = self._places[~chosen]

    def finish(self, encode: Callable[[Universe, pa.Array], Codes]) -> Codes:
        self.take(np.ones(len(self.left), np.bool_), encode)
        return self._codes


def _encode_cells(universe: Universe, array: pa.Array) -> Codes:
    integers, is_integer = parse_integers(*text_buffers(array))
    if is_integer.all():
        return universe.encode_integers(integers)
    parts = _ColumnEncoder(universe, array)
    parts.take(is_integer, lambda universe, _: universe.encode_integers(integers[is_integer]))
    # Only a cell that starts like a number or is one of a few words can be anything but a string.
    parts.take(pc.invert(pc.match_substring_regex(parts.left, _SPECIAL)), _as_strings)
    short = pc.less_equal(pc.binary_length(parts.left), MAX_NUMBER_LENGTH)
    parts.take(pc.and_(short, pc.match_substring_regex(parts.left, f"^(?:{DECIMAL})$")), encode_decimals)
    short = pc.less_equal(pc.binary_length(parts.left), MAX_NUMBER_LENGTH)
    parts.take(pc.and_(short, pc.match_substring_regex(parts.left, f"^(?:{DOUBLE})$")), _encode_doubles)
    return parts.finish(lambda universe, rest: _encode_distinct(universe, rest, cell_value))


def _as_strings(universe: Universe, array: pa.Array) -> Codes:
    return _encode_texts(universe, Kind.STRING, array)


def _encode_doubles(universe: Universe, array: pa.Array) -> Codes:
    return universe.encode_doubles(pc.cast(array, pa.float64()).to_numpy(zero_copy_only=False))


def encode_decimals(universe: Universe, array: pa.Array) -> Codes:
    """Texts of decimals, or of integers where the column's scale is 0: without zeros at the end, which mean nothing."""
    if pc.any(pc.match_substring_regex(array, "[eE]")).as_py():  # Arrow writes very small decimals with an exponent
        return _encode_distinct(universe, array, Decimal)
    pointed = pc.match_substring(array, ".")
    texts = pc.if_else(pointed, pc.utf8_rtrim(array, "0"), array)
    parts = _ColumnEncoder(universe, texts)
    parts.take(pc.invert(pc.or_(pc.ends_with(texts, "."), pc.invert(pointed))), _as_decimals)
    return parts.finish(_encode_whole_decimals)


def _as_decimals(universe: Universe, array: pa.Array) -> Codes:
    return _encode_texts(universe, Kind.DECIMAL, array)


def _encode_whole_decimals(universe: Universe, array: pa.Array) -> Codes:
    whole = pc.utf8_rtrim(array, ".")
    return _encode_cells(universe, pc.if_else(pc.equal(whole, "-0"), "0", whole))


def _encode_terms(universe: Universe, array: pa.Array) -> Codes:
    data, offsets = text_buffers(array)
    first, last = data[offsets[:-1]], data[offsets[1:] - 1]
    escaped = pc.match_substring(array, "\\").to_numpy(zero_copy_only=False).astype(np.bool_)
    kinds = np.select(
        [escaped, (first == ord("<")) & (last == ord(">")), first == ord("_"), (first == ord('"')) & (last == first)],
        [0, 1, 2, 3],
    )
    parts = _ColumnEncoder(universe, array)
    for kind, encode in ((1, _encode_bracketed), (2, _encode_blank), (3, _encode_quoted)):
        parts.take(kinds == kind, encode)
        kinds = kinds[kinds != kind]
    parts.take(pc.match_substring_regex(parts.left, r'^"[^"\\]*"@[A-Za-z0-9-]+$'), _encode_tagged)
    parts.take(pc.match_substring_regex(parts.left, SMALL_INTEGER), _encode_typed_integers)
    return parts.finish(lambda universe, rest: _encode_distinct(universe, rest, term_value))


def _encode_bracketed(universe: Universe, array: pa.Array) -> Codes:
    return universe.encode_texts(Kind.IRI, *_inside(array))


def _encode_blank(universe: Universe, array: pa.Array) -> Codes:
    return _encode_texts(universe, Kind.IRI, array)


def _encode_quoted(universe: Universe, array: pa.Array) -> Codes:
    return universe.encode_texts(Kind.STRING, *_inside(array))


def _inside(array: pa.Array) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """The texts without their first and last byte."""
    data, offsets = text_buffers(array)
    inside = np.zeros(len(offsets), np.int64)
    np.cumsum(np.diff(offsets) - 2, out=inside[1:])
    return gather(data, offsets[:-1] + 1, inside), inside


def _encode_typed_integers(universe: Universe, array: pa.Array) -> Codes:
    texts = pc.list_element(pc.split_pattern(array, '"'), 1)
    return universe.encode_integers(pc.cast(texts, pa.int64()).to_numpy(zero_copy_only=False))


def _encode_tagged(universe: Universe, array: pa.Array) -> Codes:
    found = pc.extract_regex(array, r'^"(?P<lexical>[^"\\]*)"@(?P<tag>[A-Za-z0-9-]+)$')
    lexical, tag = found.field("lexical"), pc.utf8_lower(found.field("tag"))
    kind, separator = pa.scalar(RDF + "langString", tag.type), pa.scalar("\0", tag.type)
    texts = pc.binary_join_element_wise(kind, tag, lexical, separator)
    return _encode_texts(universe, Kind.LITERAL, texts)


@njit(cache=True, nogil=True)
def parse_integers(data: Any, offsets: Any) -> Any:
    """The values of the texts that are canonical integers (no plus sign, no leading zeros) of up to 18 digits, and which are."""
    count = len(offsets) - 1
    values = np.zeros(count, np.int64)
    is_integer = np.zeros(count, np.bool_)
    for i in range(count):
        at, stop = offsets[i], offsets[i + 1]
        negative = at < stop and data[at] == 45
        if negative:
            at += 1
        digits = stop - at
        if digits < 1 or digits > 18:
            continue
        if data[at] == 48 and (digits > 1 or negative):
            continue
        value = np.int64(0)
        valid = True
        for b in range(at, stop):
            digit = np.int64(data[b]) - 48
            if digit < 0 or digit > 9:
                valid = False
                break
            value = value * 10 + digit
        if valid:
            values[i] = -value if negative else value
            is_integer[i] = True
    return values, is_integer
