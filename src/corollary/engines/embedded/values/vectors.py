"""Columns of values for numpy and Arrow, made from codes and turned back into codes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from corollary.engines.embedded.relations.relation import Codes
from corollary.engines.embedded.values.decimals import Digits, TooLongError, Units, units_of_constant, units_of_texts
from corollary.engines.embedded.values.encoder import encode_decimals, text_buffers
from corollary.engines.embedded.values.moments import (
    Moments,
    NotReadError,
    Spans,
    moments_of_codes,
    moments_of_constant,
)
from corollary.engines.embedded.values.tables import text_column
from corollary.engines.embedded.values.universe import Kind, Universe
from corollary.program import Iri, Literal, Value
from corollary.program.patterns import MOST_CHARACTERS, check_characters

Array: TypeAlias = np.ndarray[Any, Any]


class NotVectorisedError(Exception):
    """Raised for a computation that must be done value by value."""


@dataclass(frozen=True)
class Vector:
    """Values of one kind: int64, float64 or bool arrays, or Arrow's strings for strings, IRIs and decimals.

    Computed decimals are `Units` or `Digits`; dates and times are `Moments`, computed durations are `Spans`.

    `valid` tells which rows have a value, None for all. A `constant` is the value of every row.
    """

    kind: Kind
    values: Any
    valid: Array | None = None
    constant: Value | None = None

    @property
    def is_number(self) -> bool:
        return self.kind in (Kind.INTEGER, Kind.DOUBLE, Kind.DECIMAL)

    def only(self, *others: Vector, where: Array | None = None) -> Vector:
        """Return these values, valid only where the others are valid, too."""
        masks = [one.valid for one in (self, *others) if one.valid is not None]
        masks += [where] if where is not None else []
        valid: Array | None = None
        for mask in masks:
            valid = mask if valid is None else valid & mask
        return replace(self, valid=valid)


def constant_vector(value: Value, count: int) -> Vector:
    if type(value) is int and abs(value) < 1 << 62:
        return Vector(Kind.INTEGER, np.full(count, value, np.int64), constant=value)
    if type(value) is float:
        return Vector(Kind.DOUBLE, np.full(count, value, np.float64), constant=value)
    if type(value) is bool:
        return Vector(Kind.BOOLEAN, np.full(count, value, np.bool_), constant=value)
    if isinstance(value, (str, Iri)):
        kind = Kind.IRI if isinstance(value, Iri) else Kind.STRING
        return Vector(kind, _Repeated(str(value), count), constant=value)
    if isinstance(value, Decimal):
        try:
            return Vector(Kind.DECIMAL, units_of_constant(value, count), constant=value)
        except TooLongError:
            raise NotVectorisedError from None
    if isinstance(value, Literal):
        try:
            return Vector(Kind.LITERAL, moments_of_constant(value, count), constant=value)
        except NotReadError:
            return Vector(Kind.LITERAL, _Repeated(value.lexical, count), constant=value)
    raise NotVectorisedError


class _Repeated:
    """One text for all rows, expanded to an array only on demand."""

    def __init__(self, text: str, count: int) -> None:
        self.text, self.count = text, count


def texts_of(vector: Vector) -> pa.Array:
    """Return the texts of strings, IRIs or decimals."""
    values = vector.values
    if isinstance(values, _Repeated):
        return pa.repeat(pa.scalar(values.text, pa.large_string()), values.count)
    if isinstance(values, Units):
        values = values.digits()
    return values.texts() if isinstance(values, Digits) else values


def units_of(vector: Vector) -> Units:
    """Return integers or decimals to compute with; raise if they have too many digits."""
    values = vector.values
    try:
        if vector.kind == Kind.INTEGER:
            return Units(values, 0)
        if vector.kind != Kind.DECIMAL:
            raise NotVectorisedError
        if isinstance(values, Units):
            return values
        return values.units() if isinstance(values, Digits) else units_of_texts(values)
    except TooLongError:
        raise NotVectorisedError from None


def vector_of_codes(codes: Codes, universe: Universe, valid: Array | None = None) -> Vector:
    """Return the values of a column if they are all of one kind that vectors support; otherwise raise."""
    kinds = universe.kinds[codes]
    if not len(kinds):
        return Vector(Kind.INTEGER, np.empty(0, np.int64), valid)
    kind = kinds[0]
    if not (kinds == kind).all():
        raise NotVectorisedError
    match kind:
        case Kind.INTEGER:
            return Vector(Kind.INTEGER, universe.words[codes], valid)
        case Kind.DOUBLE:
            return Vector(Kind.DOUBLE, universe.words[codes].view(np.float64), valid)
        case Kind.BOOLEAN:
            return Vector(Kind.BOOLEAN, universe.words[codes].astype(np.bool_), valid)
        case Kind.STRING | Kind.IRI | Kind.DECIMAL:
            return Vector(Kind(kind), text_column(universe, codes).cast(pa.large_string()), valid)
        case Kind.LITERAL:
            try:
                return Vector(Kind.LITERAL, moments_of_codes(codes, universe), valid)
            except NotReadError:
                raise NotVectorisedError from None
        case _:
            raise NotVectorisedError


def codes_of_vector(vector: Vector, count: int, universe: Universe) -> tuple[Codes, Array]:
    """Return the codes of the values, and which rows have one."""
    if vector.constant is not None and vector.valid is None:
        return np.full(count, universe.encode(vector.constant), np.uint32), np.ones(count, np.bool_)
    if vector.valid is None or vector.valid.all():
        return _encoded(vector.kind, _data(vector), universe), np.ones(count, np.bool_)
    codes = np.zeros(count, np.uint32)
    data = _data(vector)
    chosen = data.filter(pa.array(vector.valid)) if isinstance(data, pa.Array) else data[vector.valid]
    codes[vector.valid] = _encoded(vector.kind, chosen, universe)
    return codes, vector.valid


def _data(vector: Vector) -> Any:
    if isinstance(vector.values, Units):
        return vector.values.digits()
    return texts_of(vector) if vector.kind in (Kind.STRING, Kind.IRI) else vector.values


def _encoded(kind: Kind, data: Any, universe: Universe) -> Codes:
    match kind:
        case Kind.INTEGER:
            return universe.encode_integers(data)
        case Kind.DOUBLE:
            return universe.encode_doubles(data)
        case Kind.BOOLEAN:
            return universe.encode_booleans(data)
        case Kind.LITERAL:
            if not isinstance(data, (Moments, Spans)):
                raise NotVectorisedError
            return data.encoded(universe)
        case Kind.DECIMAL:
            return data.encoded(universe) if isinstance(data, Digits) else encode_decimals(universe, data)
        case _:
            bounds = text_buffers(data)
            if len(bounds[1]) > 1 and int(np.diff(bounds[1]).max()) > MOST_CHARACTERS:  # in bytes, as a first check
                check_characters(pc.max(pc.utf8_length(data)).as_py())
            return universe.encode_texts(kind, *bounds)
