"""Conversion between Python values and constants."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

from corollary.program.datatypes import canonical_literal
from corollary.program.values import XSD, Iri, Literal, Structure, Value, canonical


class NoConstant(ValueError):
    """Raised for a Python value without a constant; the text is for people."""


def from_python(value: Any) -> Value:
    """Return the constant for a Python value; raise `NoConstant` if there is none.

    >>> from_python(dt.date(2026, 1, 1)).lexical
    '2026-01-01'
    """
    match value:
        case bool() | Structure():
            return value
        case Iri():
            _text(value.value)
            return value
        case Literal():
            _text(value.lexical)
            return canonical(canonical_literal(value))
        case str():
            return _text(value)
        case int():
            return int(value)
        case float():
            return float(value)
        case Decimal():
            if not value.is_finite():
                raise NoConstant(f"{value} is not a number")
            return canonical(value)
        case dt.datetime() | dt.date() | dt.time():
            return _temporal(value)
        case tuple() | list():
            return tuple(from_python(item) for item in value)
    if hasattr(value, "item") and getattr(value, "shape", None) == ():  # a numpy scalar
        return from_python(value.item())
    if value is None:
        raise NoConstant("None is not a constant")
    raise NoConstant(f"a value of type {type(value).__name__} is not a constant")


def _text(value: str) -> str:
    if not value.isascii() and any("\ud800" <= character <= "\udfff" for character in value):
        raise NoConstant(f"{value[:40]!r} is not valid Unicode text")
    return str(value)


def _temporal(value: dt.datetime | dt.date | dt.time) -> Literal:
    if value != value:  # pandas' "not a time"
        raise NoConstant(f"{value} is not a constant")
    if getattr(value, "nanosecond", 0):
        raise NoConstant(f"{value} has nanoseconds: round to microseconds")
    zone = value.utcoffset() if isinstance(value, (dt.datetime, dt.time)) else None
    if zone and zone.total_seconds() % 60:
        raise NoConstant(f"{value} has a time zone with seconds")
    kind = "dateTime" if isinstance(value, dt.datetime) else "date" if isinstance(value, dt.date) else "time"
    return Literal(_lexical(value), XSD + kind)


def _lexical(value: dt.datetime | dt.date | dt.time) -> str:
    """Return the canonical form of XML Schema: no trailing zeros of a fraction, and Z for UTC."""
    if not isinstance(value, (dt.datetime, dt.time)):
        return value.isoformat()
    zone = value.utcoffset()
    text = value.replace(tzinfo=None).isoformat()
    if value.microsecond:
        text = text.rstrip("0")
    if zone is None:
        return text
    return text + ("Z" if not zone else value.isoformat()[-6:])


def to_python(value: Value) -> Any:
    """Return the Python value of a constant: dates and times become those of `datetime` if these can represent them.

    >>> to_python(Literal("2026-01-01", XSD + "date"))
    datetime.date(2026, 1, 1)
    """
    if isinstance(value, Literal) and value.datatype.startswith(XSD):
        parse = _TEMPORAL.get(value.datatype.removeprefix(XSD))
        if parse is not None:
            try:
                found = parse(value.lexical)
            except ValueError:
                return value
            return found if _lexical(found) == value.lexical else value
    return value


_TEMPORAL: dict[str, Any] = {
    "date": dt.date.fromisoformat,
    "dateTime": dt.datetime.fromisoformat,
    "time": dt.time.fromisoformat,
}
