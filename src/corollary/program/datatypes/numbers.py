"""The numeric datatypes of XML Schema, and xsd:float, whose values are literals with a number inside."""

from __future__ import annotations

import math
import re
import struct
from decimal import Decimal

INTEGER_RANGES: dict[str, tuple[int | None, int | None]] = {
    "integer": (None, None),
    "long": (-(2**63), 2**63 - 1),
    "int": (-(2**31), 2**31 - 1),
    "short": (-(2**15), 2**15 - 1),
    "byte": (-128, 127),
    "nonNegativeInteger": (0, None),
    "positiveInteger": (1, None),
    "nonPositiveInteger": (None, 0),
    "negativeInteger": (None, -1),
    "unsignedLong": (0, 2**64 - 1),
    "unsignedInt": (0, 2**32 - 1),
    "unsignedShort": (0, 2**16 - 1),
    "unsignedByte": (0, 255),
}
_INTEGER = re.compile(r"[+-]?[0-9]{1,4000}")
_DECIMAL = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)")
_DOUBLE = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|[+-]?INF|NaN")
_GREATEST_FLOAT = struct.unpack("<f", b"\xff\xff\x7f\x7f")[0]


def parse_integer(lexical: str) -> int | None:
    return int(lexical) if _INTEGER.fullmatch(lexical) else None


def parse_decimal(lexical: str) -> Decimal | None:
    return Decimal(lexical) if _DECIMAL.fullmatch(lexical) else None


def parse_double(lexical: str) -> float | None:
    return float(lexical) if _DOUBLE.fullmatch(lexical) else None


def is_in_range(value: int, name: str) -> bool:
    low, high = INTEGER_RANGES[name]
    return (low is None or value >= low) and (high is None or value <= high)


def to_single(value: float) -> float:
    """Return the nearest number of xsd:float; infinite if it is out of range."""
    if math.isfinite(value):
        try:
            return float(struct.unpack("<f", struct.pack("<f", value))[0])
        except OverflowError:
            return math.copysign(math.inf, value)
    return value


def single_text(value: float) -> str:
    """Return the canonical form of an xsd:float: the shortest digits that identify it, one of them before the point."""
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "INF" if value > 0 else "-INF"
    for digits in range(9):
        text = f"{value:.{digits}e}"
        if to_single(float(text)) == value:
            break
    mantissa, exponent = text.split("e")
    return f"{mantissa if '.' in mantissa else mantissa + '.0'}E{int(exponent)}"
