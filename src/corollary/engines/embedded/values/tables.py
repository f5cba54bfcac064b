"""Columns from the universe: Arrow columns of the type that fits their constants, and columns of text."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Collection, Sequence
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from corollary.engines.embedded.relations.relation import Codes
from corollary.engines.embedded.values.universe import Kind, Universe
from corollary.language import print_value
from corollary.language.cells import IRIS, MEANING, TERMS
from corollary.program import Value
from corollary.program.python_values import from_python, to_python

# -- narrow tables -----------------------------------------------------------------------------------------------------

# Tables for stores with fewer types than Arrow: decimals of at most 38 digits, and no time of day.
#
# Delta and Spark are such stores. Columns that do not fit become text as programs write it, and their metadata says so,
# as for mixed columns.

WIDEST_DECIMAL = 38


def narrowed(table: pa.Table) -> pa.Table:
    """Return a table with the same constants, in columns of types that such a store has."""
    for place, field in enumerate(table.schema):
        if pa.types.is_time(field.type) or pa.types.is_decimal256(field.type):
            column = table.column(place)
            distinct = column.combine_chunks().dictionary_encode()
            texts = pa.array(
                [print_value(from_python(value)) for value in distinct.dictionary.to_pylist()], pa.string()
            )
            meaning = pa.field(field.name, pa.string(), metadata={MEANING: TERMS})
            table = table.set_column(place, meaning, texts.take(distinct.indices))
    return table


# -- tables ------------------------------------------------------------------------------------------------------------

_WHOLE = {Kind.INTEGER, Kind.LARGE_INTEGER, Kind.DECIMAL}
_LONGEST_DECIMAL = 76  # digits of Arrow's decimal256


def decode_table(universe: Universe, rows: Codes, names: Sequence[str]) -> pa.Table:
    """Return rows of codes as a table that `encode_table` reads back as the same constants.

    A column with one kind of constants has its natural type; mixed ones are texts as programs write them, with a note
    in the metadata of their field.
    """
    if not names:
        return pa.table({"": np.zeros(len(rows), np.int8)}).select([])
    columns = [_decode_column(universe, np.ascontiguousarray(rows[:, place])) for place in range(rows.shape[1])]
    fields = [
        pa.field(name, column.type, metadata={MEANING: meaning} if meaning else None)
        for name, (column, meaning) in zip(_distinct(names), columns, strict=True)
    ]
    return pa.Table.from_arrays([column for column, _ in columns], schema=pa.schema(fields))


def _distinct(names: Sequence[str]) -> list[str]:
    return [name if name not in names[:position] else f"{name}_{position}" for position, name in enumerate(names)]


def _decode_column(universe: Universe, codes: Codes) -> tuple[pa.Array, bytes | None]:
    kinds = kinds_of(universe, codes)
    if kinds == {Kind.INTEGER}:
        return pa.array(universe.words[codes]), None
    if kinds == {Kind.DOUBLE}:
        return pa.array(universe.words[codes].view(np.float64), from_pandas=False), None
    if kinds == {Kind.BOOLEAN}:
        return pa.array(universe.words[codes].astype(np.bool_)), None
    if not kinds or kinds == {Kind.STRING}:
        return text_column(universe, codes), None
    if kinds == {Kind.IRI}:
        return text_column(universe, codes), IRIS
    if kinds <= _WHOLE:
        decimals = by_code(universe, codes, _as_decimals)
        if decimals is not None:
            return decimals, None
    if kinds == {Kind.LITERAL}:
        times = by_code(universe, codes, _as_times)
        if times is not None:
            return times, None
    terms = by_code(universe, codes, lambda values: pa.array(map(print_value, values), pa.string()))
    return terms, TERMS


def kinds_of(universe: Universe, codes: Codes) -> set[Kind]:
    """Return the kinds of constants that occur."""
    counts = np.bincount(universe.kinds[codes], minlength=len(Kind))
    return {kind for kind in Kind if counts[kind]}


def text_column(universe: Universe, codes: Codes) -> pa.Array:
    """Return the texts of constants that are stored as text."""
    data, offsets = universe.text_column(codes)
    texts = pa.LargeStringArray.from_buffers(len(codes), pa.py_buffer(offsets), pa.py_buffer(data))
    return texts.cast(pa.string()) if len(data) < 1 << 31 else texts


def by_code(universe: Universe, codes: Codes, make: Callable[[list[Value]], Any]) -> Any:
    """Return a column made from the values of the distinct codes; None if `make` returns None."""
    distinct, places = np.unique(codes, return_inverse=True)
    made = make([universe.value(code) for code in distinct.tolist()])
    return None if made is None else made.take(pa.array(places))


def _as_decimals(values: list[Any]) -> pa.Array | None:
    """Return decimals with as many digits after the point as any of them needs; None if that is too many."""
    decimals = [Decimal(value) for value in values]
    scale = max(-int(value.as_tuple().exponent) for value in decimals)
    digits = max(len(str(abs(int(value)))) for value in decimals)
    scale = max(scale, 0)
    if digits + scale > _LONGEST_DECIMAL:
        return None
    kind = pa.decimal128(38, scale) if digits + scale <= 38 else pa.decimal256(_LONGEST_DECIMAL, scale)
    return pa.array(decimals, kind)


def _as_times(values: list[Value]) -> pa.Array | None:
    """Return dates, times, or points in time that Arrow can represent; None if the texts contain more."""
    found = [to_python(value) for value in values]
    kinds = set(map(type, found))
    if kinds == {dt.date}:
        return pa.array(found, pa.date32())
    if kinds == {dt.datetime} and all(value.tzinfo is None for value in found):
        return pa.array(found, pa.timestamp("us"))
    if kinds == {dt.datetime} and all(value.tzinfo is dt.UTC for value in found):
        return pa.array(found, pa.timestamp("us", "UTC"))
    if kinds == {dt.time} and all(value.tzinfo is None for value in found):
        return pa.array(found, pa.time64("us"))
    return None


def decode_texts(
    universe: Universe, codes: Codes, text_of: Callable[[Value], str], bare: Collection[Kind] = ()
) -> pa.Array:
    """Return one text per code: `text_of` of its value. With `bare`, texts of integers, strings and IRIs are returned
    as they are."""
    kinds = kinds_of(universe, codes)
    if kinds <= {Kind.STRING, Kind.IRI} & set(bare):
        return text_column(universe, codes)
    if kinds <= {Kind.INTEGER} & set(bare):
        return pc.cast(pa.array(universe.words[codes]), pa.string())
    return by_code(universe, codes, lambda values: pa.array(map(text_of, values), pa.string()))
