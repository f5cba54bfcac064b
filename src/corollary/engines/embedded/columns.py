"""Arrow columns in and out of the universe.

What a column holds follows from its Arrow type, unless the metadata of its field says more: `corollary: cells` are texts in
which numbers and booleans are recognised cell by cell, `corollary: terms` are texts in the notation of programs
(`<http://…>`, `"chat"@fr`), as RDF files give them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from corollary.engines.embedded.cells import parse_integers
from corollary.engines.embedded.relation import Codes
from corollary.engines.embedded.universe import Kind, Universe
from corollary.program import Value

CELLS, TERMS = b"cells", b"terms"


class UnsupportedColumn(ValueError):
    """A column of a type that has no constants in the language; the text is for people."""


def encode_table(universe: Universe, table: pa.Table) -> Codes:
    """The rows of a table as codes. Raises `UnsupportedColumn` for a type or a null that has no constant."""
    rows = np.empty((table.num_rows, table.num_columns), np.uint32)
    for position, field in enumerate(table.schema):
        column = table.column(position)
        if column.null_count:
            raise UnsupportedColumn(f"column '{field.name}' has {column.null_count} empty (null) values")
        meaning = (field.metadata or {}).get(b"corollary")
        start = 0
        for chunk in column.chunks:
            rows[start : start + len(chunk), position] = _encode_array(universe, chunk, meaning)
            start += len(chunk)
    return rows


def _encode_array(universe: Universe, array: pa.Array, meaning: bytes | None) -> Codes:
    kind = array.type
    if pa.types.is_dictionary(kind):
        codes: Codes = _encode_array(universe, array.dictionary, meaning)[array.indices.to_numpy(zero_copy_only=False)]
        return codes
    if meaning == TERMS:
        return _encode_distinct(universe, array, _term_value)
    if meaning == CELLS:
        return _encode_cells(universe, array)
    if pa.types.is_boolean(kind):
        return universe.encode_booleans(array.to_numpy(zero_copy_only=False))
    if pa.types.is_uint64(kind):
        return universe.encode_values(array.to_pylist())
    if pa.types.is_integer(kind):
        return universe.encode_integers(array.to_numpy(zero_copy_only=False).astype(np.int64))
    if pa.types.is_floating(kind):
        return universe.encode_doubles(array.to_numpy(zero_copy_only=False).astype(np.float64))
    if pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
        return universe.encode_texts(Kind.STRING, *text_buffers(array))
    if pa.types.is_decimal(kind):
        return _encode_distinct(universe, array, lambda value: value)
    if pa.types.is_temporal(kind):
        from corollary.program.python_values import from_python

        return _encode_distinct(universe, array, from_python)
    raise UnsupportedColumn(f"there are no constants of the Arrow type {kind}")


def text_buffers(array: pa.Array) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Bytes and offsets of a string array, without copying where it is possible."""
    if not (pa.types.is_string(array.type) or pa.types.is_large_string(array.type)):
        array = array.cast(pa.large_string())
    width = np.int64 if pa.types.is_large_string(array.type) else np.int32
    _, offsets, data = array.buffers()
    numbers = np.frombuffer(offsets, width)[array.offset : array.offset + len(array) + 1]
    return np.frombuffer(data, np.uint8) if data is not None and data.size else np.zeros(1, np.uint8), numbers


def _encode_cells(universe: Universe, array: pa.Array) -> Codes:
    data, offsets = text_buffers(array)
    integers, is_integer = parse_integers(data, offsets)
    if is_integer.all():
        return universe.encode_integers(integers)
    codes = np.empty(len(array), np.uint32)
    codes[is_integer] = universe.encode_integers(integers[is_integer])
    others = array.filter(pa.array(~is_integer))
    # Digits first: only a cell that starts like a number or is a boolean can be anything but a string.
    special = pc.match_substring_regex(others, r"^(-?[0-9.]|true$|false$|INF$|-INF$|NaN$)")
    is_special = special.to_numpy(zero_copy_only=False).astype(np.bool_)
    rest = np.empty(len(others), np.uint32)
    rest[~is_special] = universe.encode_texts(Kind.STRING, *text_buffers(others.filter(pa.array(~is_special))))
    rest[is_special] = _encode_distinct(universe, others.filter(pa.array(is_special)), _cell_value)
    codes[~is_integer] = rest
    return codes


def _encode_distinct(universe: Universe, array: pa.Array, value_of: Any) -> Codes:
    encoded = array.dictionary_encode()
    codes = universe.encode_values([value_of(value) for value in encoded.dictionary.to_pylist()])
    taken: Codes = codes[encoded.indices.to_numpy(zero_copy_only=False)]
    return taken


def _cell_value(text: str) -> Value:
    from corollary.language.cells import cell_value

    return cell_value(text)


def _term_value(text: str) -> Value:
    from corollary.language.cells import term_value

    return term_value(text)


# -- out ---------------------------------------------------------------------------------------------------------------


def decode_table(universe: Universe, rows: Codes, names: Sequence[str]) -> pa.Table:
    """Rows of codes as a table: a column of one kind of constants has its natural type, others are texts of programs."""
    columns = [_decode_column(universe, np.ascontiguousarray(rows[:, place])) for place in range(rows.shape[1])]
    return pa.table(columns, names=list(names)) if names else pa.table({}).slice(0, 0)


def _decode_column(universe: Universe, codes: Codes) -> pa.Array:
    kinds = set(np.unique(universe.kinds[codes]).tolist())
    if kinds <= {Kind.INTEGER} and kinds:
        return pa.array(universe.words[codes])
    if kinds == {Kind.DOUBLE}:
        return pa.array(universe.words[codes].view(np.float64))
    if kinds == {Kind.BOOLEAN}:
        return pa.array(universe.words[codes].astype(np.bool_))
    if kinds in ({Kind.STRING}, {Kind.IRI}):
        data, offsets = universe.text_column(codes)
        return pa.LargeStringArray.from_buffers(len(codes), pa.py_buffer(offsets), pa.py_buffer(data)).cast(pa.string())
    values = universe.values(codes.tolist())
    if kinds and kinds <= {Kind.INTEGER, Kind.LARGE_INTEGER, Kind.DECIMAL}:
        return pa.array(values)
    from corollary.language import print_value

    return pa.array([value if isinstance(value, str) else print_value(value) for value in values], pa.string())
