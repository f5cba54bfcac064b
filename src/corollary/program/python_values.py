"""Values of Python programs as constants, and constants as values of Python programs."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

from corollary.program.values import XSD, Iri, Literal, Structure, Value, canonical


class NoConstant(ValueError):
    """A Python value that no constant stands for; the text is for people."""


def from_python(value: Any) -> Value:
    """The constant for a Python value; raises `NoConstant`."""
    match value:
        case bool() | int() | str() | Iri() | Literal() | Structure() | float():
            return value
        case Decimal():
            if not value.is_finite():
                raise NoConstant(f"{value} is not a number")
            return canonical(value)
        case dt.datetime():
            return Literal(value.isoformat(), XSD + "dateTime")
        case dt.date():
            return Literal(value.isoformat(), XSD + "date")
        case dt.time():
            return Literal(value.isoformat(), XSD + "time")
        case tuple() | list():
            return tuple(from_python(item) for item in value)
    if hasattr(value, "item") and getattr(value, "shape", None) == ():  # a numpy scalar
        return from_python(value.item())
    if value is None:
        raise NoConstant("None is not a constant")
    raise NoConstant(f"a value of type {type(value).__name__} is not a constant")


def to_python(value: Value) -> Any:
    """The Python value of a constant: dates and times become those of `datetime` where they say the same."""
    if isinstance(value, Literal) and value.datatype.startswith(XSD):
        parse = _TEMPORAL.get(value.datatype.removeprefix(XSD))
        if parse is not None:
            try:
                found = parse(value.lexical)
            except ValueError:
                return value
            return found if found.isoformat() == value.lexical else value
    return value


_TEMPORAL: dict[str, Any] = {
    "date": dt.date.fromisoformat,
    "dateTime": dt.datetime.fromisoformat,
    "time": dt.time.fromisoformat,
}
