"""Columns of constants, as Python has them, into the universe: those of one kind together."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from decimal import Decimal
from itertools import compress
from typing import Any

import numpy as np
import pyarrow as pa

from corollary.engines.embedded.relations.relation import Codes
from corollary.engines.embedded.values.universe import Kind, Universe
from corollary.program import Iri, Literal, Value, canonical


def encode_constants(universe: Universe, values: Sequence[Value]) -> Codes:
    """Constants of any kinds; those of one kind are encoded together."""
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
    """Bytes and offsets of a string array; the bytes are not copied where it is possible."""
    if not (pa.types.is_string(array.type) or pa.types.is_large_string(array.type)):
        array = array.cast(pa.large_string())
    width = np.int64 if pa.types.is_large_string(array.type) else np.int32
    _, offsets, data = array.buffers()
    if not len(array):
        return np.zeros(1, np.uint8), np.zeros(1, np.int64)
    numbers = np.frombuffer(offsets, width)[array.offset : array.offset + len(array) + 1].astype(np.int64)
    return np.frombuffer(data, np.uint8) if data is not None and data.size else np.zeros(1, np.uint8), numbers
