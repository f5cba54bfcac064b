"""Arithmetic and comparison of whole columns. What numpy cannot do exactly is left to be done value by value."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from corollary.engines.embedded.universe import Kind
from corollary.engines.embedded.vectors import NotVectorisedError, Vector, texts_of
from corollary.program.arithmetic import DIVISION_DIGITS

Array: TypeAlias = np.ndarray[Any, Any]

_SAFE = float(1 << 62)  # results below this, as doubles see them, are surely within 64 bits
_EXACT = {"+": np.add, "-": np.subtract, "*": np.multiply}
_HALF_DIGITS = 10 ** (DIVISION_DIGITS // 2)


def negative(vector: Vector) -> Vector:
    if not vector.is_number:
        raise NotVectorisedError
    checked(vector.values)
    return Vector(vector.kind, -vector.values, vector.valid)


def calculated(operator: str, left: Vector, right: Vector) -> Vector:
    """`left operator right`, row by row."""
    if not (left.is_number and right.is_number):
        raise NotVectorisedError
    with np.errstate(all="ignore"):
        if Kind.DOUBLE in (left.kind, right.kind):
            found = _doubles(operator, left.values.astype(np.float64), right.values.astype(np.float64))
        else:
            found = _integers(operator, left.values, right.values)
    return found.only(left, right)


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
    """Integers where all quotients are whole; otherwise the digits of decimals, rounded, a half to the even neighbour."""
    quotient, rest = np.divmod(np.abs(left), np.abs(divisor))
    negative_sign = (left < 0) != (divisor < 0)
    if not rest.any():
        return Vector(Kind.INTEGER, np.where(negative_sign, -quotient, quotient), valid)
    if int(np.abs(divisor).max()) > (1 << 62) // _HALF_DIGITS:
        raise NotVectorisedError
    size = np.abs(divisor)
    high, rest = np.divmod(rest * _HALF_DIGITS, size)
    low, rest = np.divmod(rest * _HALF_DIGITS, size)
    fraction = high * _HALF_DIGITS + low
    fraction += (rest * 2 > size) | ((rest * 2 == size) & (fraction % 2 == 1))
    carried = fraction == _HALF_DIGITS * _HALF_DIGITS
    quotient, fraction = quotient + carried, np.where(carried, 0, fraction)
    sign = pa.array(np.where(negative_sign & ((quotient != 0) | (fraction != 0)), "-", "")).cast(pa.large_string())
    whole = pc.cast(pa.array(quotient), pa.large_string())
    digits = pc.utf8_lpad(pc.cast(pa.array(fraction), pa.large_string()), DIVISION_DIGITS, "0")
    point, nothing = (pa.scalar(text, pa.large_string()) for text in (".", ""))
    return Vector(Kind.DECIMAL, pc.binary_join_element_wise(sign, whole, point, digits, nothing), valid)


def _doubles(operator: str, left: Array, right: Array) -> Vector:
    match operator:
        case "+" | "-" | "*":
            return Vector(Kind.DOUBLE, _EXACT[operator](left, right))
        case "/":
            return Vector(Kind.DOUBLE, left / right)
        case "%":
            return Vector(Kind.DOUBLE, np.fmod(left, right))
        case _:
            quotient = np.trunc(left / right)
            valid = (right != 0) & np.isfinite(left) & ~np.isnan(right)
            whole = np.where(valid, quotient, 0.0)
            checked(np.empty(0, np.int64), whole)
            return Vector(Kind.INTEGER, whole.astype(np.int64), valid)


def _is_small(left: Array, right: Array, operator: str) -> bool:
    """Whether no result can leave 64 bits, from the greatest of each side: cheaper than a look at each result."""
    if not len(left):
        return True
    greatest = [max(-int(side.min()), int(side.max())) for side in (left, right)]
    return (greatest[0] * greatest[1] if operator == "*" else greatest[0] + greatest[1]) < 1 << 62


def checked(result: Array, rough: Array | None = None) -> Array:
    """Raises where integers could be out of their 64 bits."""
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
    """For which rows `left operator right` holds."""
    if left.is_number and right.is_number:
        if left.kind != right.kind and _beyond_doubles(left, right):
            raise NotVectorisedError
        holds = _NUMPY[operator](left.values, right.values)
    elif left.kind == right.kind == Kind.BOOLEAN:
        holds = _NUMPY[operator](left.values, right.values)
    elif left.kind == right.kind and left.kind in (Kind.STRING, Kind.IRI):
        sides = (pa.scalar(str(one.constant), pa.large_string()) if one.constant is not None else texts_of(one)
                 for one in (left, right))  # fmt: skip
        found = _ARROW[operator](*sides)
        holds = np.full(_length(left), found.as_py()) if isinstance(found, pa.Scalar) else as_bools(found)
    elif operator in ("=", "!=") and Kind.DECIMAL not in (left.kind, right.kind):
        holds = np.full(_length(left), operator == "!=")
    else:
        raise NotVectorisedError
    return Vector(Kind.BOOLEAN, holds).only(left, right)


def as_bools(array: pa.Array) -> Array:
    found: Array = array.to_numpy(zero_copy_only=False).astype(np.bool_, copy=False)
    return found


def _length(vector: Vector) -> int:
    return int(getattr(vector.values, "count", 0)) if hasattr(vector.values, "text") else len(vector.values)


def _beyond_doubles(*vectors: Vector) -> bool:
    """Whether numpy's conversion of integers to doubles could lose something in a mixed comparison."""
    return any(
        one.kind == Kind.INTEGER and len(one.values) and np.abs(one.values.astype(np.float64)).max() > 2**53
        for one in vectors
    )
