"""Arithmetic and comparison of whole columns. What numpy cannot do exactly is computed value by value."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from corollary.engines.embedded.values.decimals import MOST_DIGITS, Digits, TooLongError, Units, greatest
from corollary.engines.embedded.values.moments import Moments
from corollary.engines.embedded.values.universe import Kind
from corollary.engines.embedded.values.vectors import NotVectorisedError, Vector, texts_of, units_of
from corollary.program.arithmetic import DIVISION_DIGITS

Array: TypeAlias = np.ndarray[Any, Any]

_SAFE = float(1 << 62)  # results below this, computed as doubles, certainly fit into 64 bits
_WHOLE = float(1 << 51)  # below this, a quotient with two rounding errors is next to the exact one
_EXACT = {"+": np.add, "-": np.subtract, "*": np.multiply}
_HALF_DIGITS = 10 ** (DIVISION_DIGITS // 2)


def negative(vector: Vector) -> Vector:
    if not vector.is_number:
        raise NotVectorisedError
    if vector.kind == Kind.DECIMAL:
        units = units_of(vector)
        return Vector(vector.kind, Units(-units.numbers, units.scale), vector.valid)
    checked(vector.values)
    return Vector(vector.kind, -vector.values, vector.valid)


def calculated(operator: str, left: Vector, right: Vector) -> Vector:
    """Return `left operator right`, row by row."""
    if not (left.is_number and right.is_number):
        raise NotVectorisedError
    with np.errstate(all="ignore"):
        if Kind.DOUBLE in (left.kind, right.kind):
            found = _doubles(operator, as_doubles(left), as_doubles(right))
        elif Kind.DECIMAL in (left.kind, right.kind):
            found = _decimals(operator, units_of(left), units_of(right))
        else:
            found = _integers(operator, left.values, right.values)
    return found.only(left, right)


def as_doubles(vector: Vector) -> Array:
    """Return numbers of any kind as the nearest doubles."""
    if vector.kind != Kind.DECIMAL:
        found: Array = vector.values.astype(np.float64)
        return found
    try:
        return units_of(vector).as_doubles()
    except TooLongError:
        raise NotVectorisedError from None


def aligned(left: Units, right: Units) -> tuple[Array, Array, int]:
    """Return both columns in the smaller of their units, with its scale."""
    scale = max(left.scale, right.scale)
    try:
        return left.at_scale(scale), right.at_scale(scale), scale
    except TooLongError:
        raise NotVectorisedError from None


def _decimals(operator: str, left: Units, right: Units) -> Vector:
    if operator == "*":
        if left.scale + right.scale > MOST_DIGITS or not _is_small(left.numbers, right.numbers, operator):
            raise NotVectorisedError
        return Vector(Kind.DECIMAL, Units(left.numbers * right.numbers, left.scale + right.scale))
    here, there, scale = aligned(left, right)
    if operator in _EXACT:
        if not _is_small(here, there, operator):
            raise NotVectorisedError
        return Vector(Kind.DECIMAL, Units(_EXACT[operator](here, there), scale))
    found = _integers(operator, here, there)  # the ratio of two numbers of units is that of the numbers
    return Vector(Kind.DECIMAL, Units(found.values, scale), found.valid) if operator == "%" else found


def _integers(operator: str, left: Array, right: Array) -> Vector:
    if operator in _EXACT:
        result = _EXACT[operator](left, right)
        if not _is_small(left, right, operator):
            rough = _EXACT[operator](left.astype(np.float64), right.astype(np.float64))
            checked(result, rough)
        return Vector(Kind.INTEGER, result)
    checked(left)
    checked(right)
    valid = right != 0
    divisor = np.where(valid, right, 1)
    where = None if valid.all() else valid
    if operator == "/":
        return _ratio(left, divisor, where)
    quotient = left // divisor
    quotient += (quotient < 0) & (quotient * divisor != left)  # towards zero
    return Vector(Kind.INTEGER, quotient if operator == "div" else left - quotient * divisor, where)


def _ratio(left: Array, divisor: Array, valid: Array | None) -> Vector:
    """Return integers if all quotients are integers; otherwise decimals, rounded half to even."""
    quotient, rest = np.divmod(np.abs(left), np.abs(divisor))
    negative_sign = (left < 0) != (divisor < 0)
    if not rest.any():
        return Vector(Kind.INTEGER, np.where(negative_sign, -quotient, quotient), valid)
    if int(np.abs(divisor).max()) > (1 << 62) // _HALF_DIGITS:
        raise NotVectorisedError
    size = np.abs(divisor)
    high, rest = np.divmod(rest * _HALF_DIGITS, size)
    if not rest.any():
        return Vector(Kind.DECIMAL, Digits(negative_sign, quotient, high, DIVISION_DIGITS // 2), valid)
    low, rest = np.divmod(rest * _HALF_DIGITS, size)
    fraction = high * _HALF_DIGITS + low
    fraction += (rest * 2 > size) | ((rest * 2 == size) & (fraction % 2 == 1))
    carried = fraction == _HALF_DIGITS * _HALF_DIGITS
    quotient, fraction = quotient + carried, np.where(carried, 0, fraction)
    return Vector(Kind.DECIMAL, Digits(negative_sign, quotient, fraction, DIVISION_DIGITS), valid)


def _doubles(operator: str, left: Array, right: Array) -> Vector:
    match operator:
        case "+" | "-" | "*":
            return Vector(Kind.DOUBLE, _EXACT[operator](left, right))
        case "/":
            return Vector(Kind.DOUBLE, left / right)
        case "%":
            return Vector(Kind.DOUBLE, np.fmod(left, right))
        case _:
            valid = (right != 0) & np.isfinite(left) & ~np.isnan(right)
            whole = np.where(valid, np.rint((left - np.fmod(left, right)) / right), 0.0)
            if len(whole) and np.abs(whole).max() >= _WHOLE:
                raise NotVectorisedError
            return Vector(Kind.INTEGER, whole.astype(np.int64), valid)


def _is_small(left: Array, right: Array, operator: str) -> bool:
    """Return whether no result can exceed 64 bits, judging by the greatest value of each side: cheaper than checking
    each result."""
    here, there = greatest(left), greatest(right)
    return (here * there if operator == "*" else here + there) < 1 << 62


def checked(result: Array, rough: Array | None = None) -> Array:
    """Return the result; raise if integers may have exceeded 64 bits."""
    if result.dtype == np.int64:
        sizes = result.astype(np.float64) if rough is None else rough
        if len(sizes) and not np.abs(sizes).max() < _SAFE:
            raise NotVectorisedError
    return result


# -- comparison --------------------------------------------------------------------------------------------------------

_NUMPY: dict[str, Callable[[Array, Array], Array]] = {
    "=": np.equal,
    "!=": np.not_equal,
    "<": np.less,
    "<=": np.less_equal,
    ">": np.greater,
    ">=": np.greater_equal,
}
_ARROW = {
    "=": pc.equal,
    "!=": pc.not_equal,
    "<": pc.less,
    "<=": pc.less_equal,
    ">": pc.greater,
    ">=": pc.greater_equal,
}


def compared(operator: str, left: Vector, right: Vector) -> Vector:
    """Return in which rows `left operator right` holds."""
    if left.is_number and right.is_number and Kind.DECIMAL in (left.kind, right.kind):
        holds = _compared_decimals(operator, left, right)
    elif left.is_number and right.is_number:
        if left.kind != right.kind and _beyond_doubles(left, right):
            raise NotVectorisedError
        holds = _NUMPY[operator](left.values, right.values)
    elif Kind.LITERAL in (left.kind, right.kind):
        holds = _compared_moments(operator, left, right)
    elif left.kind == right.kind == Kind.BOOLEAN:
        holds = _NUMPY[operator](left.values, right.values)
    elif left.kind == right.kind and left.kind in (Kind.STRING, Kind.IRI):
        sides = (pa.scalar(str(one.constant), pa.large_string()) if one.constant is not None else texts_of(one)
                 for one in (left, right))  # fmt: skip
        found = _ARROW[operator](*sides)
        holds = np.full(_length(left), found.as_py()) if isinstance(found, pa.Scalar) else as_bools(found)
    elif operator in ("=", "!="):
        holds = np.full(_length(left), operator == "!=")
    else:
        raise NotVectorisedError
    return Vector(Kind.BOOLEAN, holds).only(left, right)


def _compared_decimals(operator: str, left: Vector, right: Vector) -> Array:
    if Kind.DOUBLE not in (left.kind, right.kind):
        here, there, _ = aligned(units_of(left), units_of(right))
        return _NUMPY[operator](here, there)
    nearest, others = as_doubles(left), as_doubles(right)
    if (nearest == others).any():
        raise NotVectorisedError  # the double may be next to the decimal
    return _NUMPY[operator](nearest, others)


def _compared_moments(operator: str, left: Vector, right: Vector) -> Array:
    """Return the comparison of moments of one datatype on the time line; others are never equal."""
    known = [isinstance(one.values, Moments) for one in (left, right)]
    if all(known) and left.values.name == right.values.name:
        return _NUMPY[operator](left.values.places(), right.values.places())
    is_other = left.kind != right.kind and any(known)
    if operator not in ("=", "!=") or not (all(known) or is_other):
        raise NotVectorisedError
    return np.full(_length(left), operator == "!=")


def as_bools(array: pa.Array) -> Array:
    found: Array = array.to_numpy(zero_copy_only=False).astype(np.bool_, copy=False)
    return found


def _length(vector: Vector) -> int:
    return int(getattr(vector.values, "count", 0)) if hasattr(vector.values, "text") else len(vector.values)


def _beyond_doubles(*vectors: Vector) -> bool:
    """Return whether converting integers to doubles could lose precision in a mixed comparison."""
    return any(
        one.kind == Kind.INTEGER and len(one.values) and np.abs(one.values.astype(np.float64)).max() >= 2**53
        for one in vectors
    )
