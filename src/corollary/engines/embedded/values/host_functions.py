"""Functions and aggregates of the host program on whole columns, as numpy or Arrow arrays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from corollary.diagnostics import Diagnostic, ProgramError, catalogue
from corollary.engines.embedded.relations.relation import Codes
from corollary.engines.embedded.values.universe import Kind, Universe
from corollary.engines.embedded.values.vectors import NotVectorisedError, Vector, texts_of, vector_of_codes
from corollary.program import EvaluationError
from corollary.program.host_functions import HOST_FUNCTIONS, HostFunction

Array: TypeAlias = np.ndarray[Any, Any]


def host_kernel(name: str) -> Callable[[Sequence[Vector]], Vector] | None:
    """Return a kernel that calls a vectorised function on vectors; None if there is none of that name."""
    host = HOST_FUNCTIONS.get(name)
    if host is None or host.vectorised is None:
        return None

    def kernel(arguments: Sequence[Vector]) -> Vector:
        if any(one.valid is not None for one in arguments):
            raise NotVectorisedError  # it must not get rows without a value
        count = max((_length(one) for one in arguments), default=0)
        try:
            found = host.function(*(_given(one, host) for one in arguments))
        except Exception as error:
            raise NotVectorisedError from error  # computing row by row finds out which rows have a value
        return _vector(found, count, host)

    return kernel


def reduce_by_host(host: HostFunction, column: Codes, starts: Array, universe: Universe) -> tuple[Codes, Array]:
    """Return the results of an aggregate, called once per group."""
    try:
        given: Any = _given(vector_of_codes(column, universe), host) if host.vectorised else None
    except NotVectorisedError:
        given = None
    stops = np.append(starts[1:], len(column))
    valid = np.zeros(len(starts), np.bool_)
    results = []
    for number, (start, stop) in enumerate(zip(starts.tolist(), stops.tolist(), strict=True)):
        try:
            if given is not None:
                results.append(host.result_of_group(given[start:stop]))
            else:
                results.append(host.apply_to_group(universe.values(column[start:stop].tolist())))
            valid[number] = True
        except EvaluationError:
            pass
    codes = np.zeros(len(starts), np.uint32)
    codes[valid] = universe.encode_values(results)
    return codes, valid


def _length(vector: Vector) -> int:
    return int(vector.values.count) if hasattr(vector.values, "text") else len(vector.values)


def _given(vector: Vector, host: HostFunction) -> Any:
    if vector.kind in (Kind.IRI, Kind.LITERAL):
        raise NotVectorisedError
    if vector.kind in (Kind.STRING, Kind.DECIMAL):
        texts = texts_of(vector)
        if vector.kind == Kind.DECIMAL:
            numbers = pc.cast(texts, pa.float64())
            return numbers if host.vectorised == "arrow" else numbers.to_numpy()
        return texts.cast(pa.string()) if host.vectorised == "arrow" else texts.to_numpy(zero_copy_only=False)
    return pa.array(vector.values) if host.vectorised == "arrow" else vector.values


def _vector(found: Any, count: int, host: HostFunction) -> Vector:
    array = found.combine_chunks() if isinstance(found, pa.ChunkedArray) else found
    if not isinstance(array, pa.Array):
        array = np.asarray(array)
        if array.dtype.kind in "fc":
            array = pa.array(array.astype(np.float64), from_pandas=False)
        elif array.ndim == 1:
            try:
                array = pa.array(array)
            except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError) as error:
                raise NotVectorisedError from error
    if len(array) != count:
        message = f"'{host.name}' gave {len(array):,} values for {count:,} rows"
        hint = "a vectorised function gives an array that is as long as those it got"
        raise ProgramError([Diagnostic(catalogue.BAD_FUNCTION, message, None, hint)])
    valid = None if not array.null_count else np.asarray(array.is_valid())
    kind = array.type
    if pa.types.is_boolean(kind):
        return Vector(Kind.BOOLEAN, _filled(array, False, np.bool_), valid)
    if pa.types.is_integer(kind) and kind != pa.uint64():
        return Vector(Kind.INTEGER, _filled(array, 0, np.int64), valid)
    if pa.types.is_floating(kind):
        return Vector(Kind.DOUBLE, _filled(array, 0.0, np.float64), valid)
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return Vector(Kind.STRING, array.fill_null("").cast(pa.large_string()), valid)
    raise NotVectorisedError


def _filled(array: pa.Array, filler: Any, kind: Any) -> Array:
    filled = array.fill_null(pa.scalar(filler, array.type)) if array.null_count else array
    found: Array = filled.to_numpy(zero_copy_only=False).astype(kind, copy=False)
    return found
