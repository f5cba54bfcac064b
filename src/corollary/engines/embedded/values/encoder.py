"""Facts from Python as rows of codes: sequences of rows, Arrow tables, pandas frames, numpy arrays."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from decimal import Decimal
from itertools import compress
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numba import njit

from corollary.engines.embedded.relations.relation import Codes
from corollary.engines.embedded.values.universe import Kind, Universe, gather
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
from corollary.program import Iri, Literal, Value, canonical
from corollary.program.python_values import NoConstant, from_python
from corollary.program.values import RDF

# -- constants ---------------------------------------------------------------------------------------------------------

# Columns of Python constants into the universe: those of one kind are encoded together.


def encode_constants(universe: Universe, values: Sequence[Value]) -> Codes:
    """Return the codes of constants of any kinds; those of one kind are encoded together."""
    types = set(map(type, values))
    if types in ({int}, {str}):
        with suppress(OverflowError):  # an integer beyond 63 bits
            return _encode_kind(universe, _KINDS[types.pop()], list(values))
    if Decimal in types:
        values = [canonical(value) for value in values]
    kinds = np.fromiter(map(_kind_of, values), np.uint8, len(values))
    codes = np.empty(len(values), np.uint32)
    for kind in np.unique(kinds).tolist():
        chosen = kinds == kind
        part: list[Any] = list(values) if chosen.all() else list(compress(values, chosen.tolist()))
        codes[chosen] = _encode_kind(universe, kind, part)
    return codes


_OTHER = 255


def _kind_of(value: Value) -> int:
    kind = _KINDS.get(type(value), _OTHER)
    if kind == Kind.INTEGER and not -(1 << 63) <= value < 1 << 63:  # type: ignore[operator]
        return _OTHER
    return kind


_KINDS: dict[type, int] = {
    int: Kind.INTEGER,
    float: Kind.DOUBLE,
    bool: Kind.BOOLEAN,
    str: Kind.STRING,
    Iri: Kind.IRI,
    Decimal: Kind.DECIMAL,
    Literal: Kind.LITERAL,
}


def _encode_kind(universe: Universe, kind: int, values: list[Any]) -> Codes:
    match kind:
        case Kind.INTEGER:
            return universe.encode_integers(np.array(values, np.int64))
        case Kind.DOUBLE:
            return universe.encode_doubles(np.array(values, np.float64))
        case Kind.BOOLEAN:
            return universe.encode_booleans(np.array(values, np.bool_))
        case Kind.STRING:
            texts = values
        case Kind.IRI:
            texts = [iri.value for iri in values]
        case Kind.DECIMAL:
            texts = [format(value, "f") for value in values]
        case Kind.LITERAL:
            texts = ["\0".join((value.datatype, value.language or "", value.lexical)) for value in values]
        case _:
            return np.fromiter(map(universe.encode, values), np.uint32, len(values))
    return universe.encode_texts(Kind(kind), *text_buffers(pa.array(texts, pa.large_string())))


def text_buffers(array: pa.Array) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, np.dtype[np.int64]]]:
    """Return bytes and offsets of a string array; the bytes are copied only if necessary."""
    if not (pa.types.is_string(array.type) or pa.types.is_large_string(array.type)):
        array = array.cast(pa.large_string())
    width = np.int64 if pa.types.is_large_string(array.type) else np.int32
    _, offsets, data = array.buffers()
    if not len(array):
        return np.zeros(1, np.uint8), np.zeros(1, np.int64)
    numbers = np.frombuffer(offsets, width)[array.offset : array.offset + len(array) + 1].astype(np.int64)
    return np.frombuffer(data, np.uint8) if data is not None and data.size else np.zeros(1, np.uint8), numbers


# -- columns -----------------------------------------------------------------------------------------------------------

# Arrow columns into the universe, each encoded as a whole.
#
# The type of an Arrow column tells what it holds, unless the metadata of its field says more (`corollary.language.cells`).

Mask: TypeAlias = np.ndarray[Any, np.dtype[np.bool_]]
_SPECIAL = r"^(?:-?[0-9]|true$|false$|-?INF$|NaN$)"


class UnsupportedColumn(ValueError):
    """Raised for a column of a type without constants in the language; the text is for people."""


def encode_table(universe: Universe, table: pa.Table) -> Codes:
    """Return the rows of a table as codes. Raise `UnsupportedColumn` for a type or a null without a constant."""
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
    if getattr(array.type, "unit", None) == "ns":  # dates and times of Python have no nanoseconds
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
    """Encodes a column part by part: each step takes some of the remaining cells."""

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
    # Only a cell that starts like a number, or is one of a few words, can be anything but a string.
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
    """Return the codes of decimals as texts (of integers, if the column's scale is 0), without trailing zeros."""
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
    """Return the texts without their first and last bytes."""
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
    """Return the values of the texts that are canonical integers (no plus sign, no leading zeros) of up to 18 digits,
    and which texts are."""
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


# -- encoder -----------------------------------------------------------------------------------------------------------


class Encoder:
    """Encodes facts for one universe. Facts that do not fit raise a `ValueError` with a text for people."""

    def __init__(self, universe: Universe) -> None:
        self._universe = universe

    def facts(self, facts: Any, arity: int | None) -> Codes:
        """Return facts of any form as codes, with `arity` columns if that is known. An object with `codes_in` encodes
        itself."""
        if hasattr(facts, "codes_in"):
            codes: Codes = facts.codes_in(self._universe)
            if arity is not None and codes.shape[1] != arity:
                raise ValueError(f"there are {codes.shape[1]} columns, expected {arity}")
            return codes
        if isinstance(facts, np.ndarray) and facts.ndim == 2:
            facts = pa.table({f"a{place}": facts[:, place] for place in range(facts.shape[1])})
        table = _as_table(facts)
        if table is not None:
            if arity is not None and table.num_columns != arity:
                raise ValueError(f"there are {table.num_columns} columns, expected {arity}")
            return self.table(table)
        return self._python_rows(facts, arity)

    def table(self, table: pa.Table) -> Codes:
        return encode_table(self._universe, table)

    def rows(self, rows: Sequence[Sequence[Value]], arity: int) -> Codes:
        """Return rows of constants as codes; all must have the given length."""
        codes = np.empty((len(rows), arity), np.uint32)
        for place, column in enumerate(zip(*rows, strict=True)):
            codes[:, place] = encode_constants(self._universe, column)
        return codes

    def _python_rows(self, facts: Iterable[Any], arity: int | None) -> Codes:
        if not isinstance(facts, Iterable):
            raise TypeError(f"facts are a collection of rows, and not a value of type {type(facts).__name__}")
        rows = [row if isinstance(row, (tuple, list)) else _as_row(row) for row in facts]
        expected = arity if arity is not None else len(rows[0]) if rows else 0
        if set(map(len, rows)) - {expected}:
            number, row = next((number, row) for number, row in enumerate(rows, 1) if len(row) != expected)
            raise ValueError(f"row {number} has {len(row)} values, expected {expected}")
        codes = np.empty((len(rows), expected), np.uint32)
        for place, column in enumerate(zip(*rows, strict=True)):
            codes[:, place] = self._column(column)
        return codes

    def _column(self, column: Sequence[Any]) -> Codes:
        if set(map(type, column)) <= {int, float, bool, str}:
            return encode_constants(self._universe, column)  # an invalid text is a ValueError, too
        try:
            return encode_constants(self._universe, [from_python(value) for value in column])
        except RecursionError:
            raise NoConstant("a term is nested too deeply to be a constant") from None


def _as_row(row: Any) -> Sequence[Any]:
    """Return a row as a sequence; a single value is a row of one, and a row of a numpy array stays as it is."""
    return tuple(row.tolist()) if isinstance(row, np.ndarray) and row.ndim == 1 else (row,)


def _as_table(facts: Any) -> pa.Table | None:
    if isinstance(facts, pa.Table):
        return facts
    if isinstance(facts, pa.RecordBatch):
        return pa.Table.from_batches([facts])
    if type(facts).__module__.partition(".")[0] == "pandas":
        return _of_pandas(facts)
    if hasattr(facts, "__arrow_c_stream__"):
        return pa.table(facts)
    return None


def _of_pandas(frame: Any) -> pa.Table | None:
    """Return a frame as a table; None if a column of objects has no single Arrow type, and must be read row by row."""
    try:
        return pa.Table.from_pandas(frame, preserve_index=False)
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        return None
