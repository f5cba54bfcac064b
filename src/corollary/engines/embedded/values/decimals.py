"""Columns of decimals: as integers of a small unit to compute with, and as digits to write.

The universe has decimals as texts in canonical form. Those of up to 18 digits are computed here; longer ones are
computed value by value.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
from numba import njit

from corollary.engines.embedded.relations.relation import Codes
from corollary.engines.embedded.values.encoder import text_buffers
from corollary.engines.embedded.values.universe import Kind, Universe

Array: TypeAlias = np.ndarray[Any, Any]

MOST_DIGITS = 18
LARGEST = 1 << 62
_WIDEST = 40  # bytes of a sign, 19 digits, a point and 18 digits
_MINUS, _POINT, _ZERO = 45, 46, 48


class TooLongError(Exception):
    """Raised for a number with more digits than fit into a word."""


@dataclass(frozen=True)
class Units:
    """Decimals as integers: each number is this many times `10 ** -scale`."""

    numbers: Array
    scale: int

    def __len__(self) -> int:
        return len(self.numbers)

    def __getitem__(self, rows: Array) -> Units:
        return Units(self.numbers[rows], self.scale)

    def at_scale(self, scale: int) -> Array:
        """Return the numbers in smaller units; raise `TooLongError` if they get too large."""
        if scale == self.scale:
            return self.numbers
        if scale > MOST_DIGITS or greatest(self.numbers) >= LARGEST // 10 ** (scale - self.scale):
            raise TooLongError
        found: Array = self.numbers * 10 ** (scale - self.scale)
        return found

    def whole_parts(self) -> Array:
        """Return the numbers rounded down."""
        found: Array = self.numbers // 10**self.scale
        return found

    def as_doubles(self) -> Array:
        """Return the nearest doubles, each from one division of two numbers that are exact as doubles."""
        if greatest(self.numbers) > 1 << 53:
            raise TooLongError
        found: Array = self.numbers.astype(np.float64) / np.float64(10**self.scale)
        return found

    def digits(self) -> Digits:
        sizes = np.abs(self.numbers)
        whole = sizes // 10**self.scale
        return Digits(self.numbers < 0, whole, sizes - whole * 10**self.scale, self.scale)


@dataclass(frozen=True)
class Digits:
    """Decimals as sign, whole part and the first `scale` digits after the point."""

    negative: Array
    whole: Array
    fraction: Array
    scale: int

    def __len__(self) -> int:
        return len(self.whole)

    def __getitem__(self, rows: Array) -> Digits:
        return Digits(self.negative[rows], self.whole[rows], self.fraction[rows], self.scale)

    def units(self) -> Units:
        if greatest(self.whole) >= LARGEST // 10**self.scale:
            raise TooLongError
        sizes = self.whole * 10**self.scale + self.fraction
        return Units(np.where(self.negative, -sizes, sizes), self.scale)

    def buffers(self) -> tuple[Array, Array]:
        """Return bytes and offsets of the canonical texts."""
        data, offsets = np.empty(len(self) * _WIDEST, np.uint8), np.zeros(len(self) + 1, np.int64)
        _write(self.negative, self.whole, self.fraction, self.scale, data, offsets)
        return data[: offsets[-1]], offsets

    def texts(self) -> pa.Array:
        data, offsets = self.buffers()
        return pa.LargeStringArray.from_buffers(len(self), pa.py_buffer(offsets), pa.py_buffer(data))

    def encoded(self, universe: Universe) -> Codes:
        """Return the codes; numbers without a fraction are integers."""
        is_whole = self.fraction == 0
        if not is_whole.any():
            return universe.encode_texts(Kind.DECIMAL, *self.buffers())
        codes = np.empty(len(self), np.uint32)
        sizes = self.whole[is_whole]
        codes[is_whole] = universe.encode_integers(np.where(self.negative[is_whole], -sizes, sizes))
        if not is_whole.all():
            codes[~is_whole] = universe.encode_texts(Kind.DECIMAL, *self[~is_whole].buffers())
        return codes


def greatest(numbers: Array) -> int:
    """Return the greatest absolute value."""
    return max(-int(numbers.min()), int(numbers.max())) if len(numbers) else 0


def units_of_constant(value: Decimal, count: int) -> Units:
    sign, digits, exponent = value.as_tuple()
    if not isinstance(exponent, int) or exponent > 0 or len(digits) > MOST_DIGITS or -exponent > MOST_DIGITS:
        raise TooLongError
    number = int("".join(map(str, digits)))
    return Units(np.full(count, -number if sign else number, np.int64), -exponent)


def units_of_texts(texts: pa.Array) -> Units:
    """Return decimals from the texts of the universe; raise `TooLongError` if one has too many digits."""
    data, offsets = text_buffers(texts)
    numbers, scales = np.empty(len(texts), np.int64), np.empty(len(texts), np.int64)
    if not _read(data, offsets, numbers, scales):
        raise TooLongError
    if not len(scales):
        return Units(numbers, 0)
    scale, least = int(scales.max()), int(scales.min())
    if scale != least:
        if greatest(numbers) >= LARGEST // 10 ** (scale - least):
            raise TooLongError
        numbers *= _POWERS[scale - scales]
    return Units(numbers, scale)


_POWERS = 10 ** np.arange(MOST_DIGITS + 1, dtype=np.int64)


@njit(cache=True, nogil=True)
def _read(data: Any, offsets: Any, numbers: Any, scales: Any) -> bool:
    for i in range(len(numbers)):
        at, stop = offsets[i], offsets[i + 1]
        negative = at < stop and data[at] == _MINUS
        if negative:
            at += 1
        if stop - at > MOST_DIGITS + 1 or at == stop:
            return False
        number: Any = 0
        scale = -1
        while at < stop:
            sign = data[at]
            if sign == _POINT:
                scale = 0
            else:
                number = number * 10 + (np.int64(sign) - _ZERO)
                if scale >= 0:
                    scale += 1
            at += 1
        numbers[i] = -number if negative else number
        scales[i] = max(scale, 0)
    return True


@njit(cache=True, nogil=True)
def _write(negative: Any, whole: Any, fraction: Any, scale: int, data: Any, offsets: Any) -> None:
    at = 0
    for i in range(len(whole)):
        rest, digits = np.uint64(fraction[i]), scale
        while digits > 0 and rest % np.uint64(10) == 0:
            rest //= np.uint64(10)
            digits -= 1
        number = np.uint64(whole[i])
        if negative[i] and (number != 0 or digits > 0):
            data[at] = _MINUS
            at += 1
        size, width = number // np.uint64(10), 1
        while size > 0:
            size //= np.uint64(10)
            width += 1
        for place in range(at + width - 1, at - 1, -1):
            data[place] = _ZERO + number % np.uint64(10)
            number //= np.uint64(10)
        at += width
        if digits > 0:
            data[at] = _POINT
            for place in range(at + digits, at, -1):
                data[place] = _ZERO + rest % np.uint64(10)
                rest //= np.uint64(10)
            at += digits + 1
        offsets[i + 1] = at
