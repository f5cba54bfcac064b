"""Casts: a constant of one datatype as one of another, as XPath has them."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from typing import Any

from corollary.program.arithmetic import EvaluationError
from corollary.program.datatypes import (
    LiteralError,
    duration_of,
    is_value_of,
    moment_of,
    of_duration,
    of_moment,
    single,
    single_of,
    typed_value,
)
from corollary.program.datatypes.calendar import CALENDAR_TYPES
from corollary.program.datatypes.durations import DURATION_TYPES, Duration
from corollary.program.datatypes.numbers import INTEGER_RANGES
from corollary.program.datatypes.texts import STRING_TYPES, binary_text, bytes_of
from corollary.program.datatypes.typed import NOT_IN_IRIS
from corollary.program.values import RDF, XSD, Iri, Literal, Structure, Value


def text_of(value: Value) -> str | None:
    """A constant as text, as XPath casts to strings; None for function terms and lists."""
    match value:
        case bool():
            return "true" if value else "false"
        case str():
            return value
        case int():
            return str(value)
        case Decimal():
            return format(value, "f")
        case float():
            return _double_text(value)
        case Iri():
            return value.value
        case Literal():
            number = single_of(value)
            return value.lexical if number is None else _single_text(value.lexical, number)
        case _:
            return None


def _double_text(value: float) -> str:
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "INF" if value > 0 else "-INF"
    if value == 0 or 1e-6 <= abs(value) < 1e6:
        return _plain(Decimal(repr(value))) if value else ("-0" if math.copysign(1, value) < 0 else "0")
    digits = repr(Decimal(repr(value)).normalize().as_tuple().digits)[1:-1].replace(", ", "").rstrip(",")
    exponent = Decimal(repr(value)).adjusted()
    return f"{'-' * (value < 0)}{digits[0]}.{digits[1:] or '0'}E{exponent}"


def _single_text(lexical: str, number: float) -> str:
    if math.isfinite(number) and number and 1e-6 <= abs(number) < 1e6:
        return _plain(Decimal(lexical))
    return {"0.0E0": "0", "-0.0E0": "-0"}.get(lexical, lexical)


def _plain(value: Decimal) -> str:
    text = format(value, "f")
    return text.rstrip("0").rstrip(".") if "." in text else text


def cast(datatype: str) -> Callable[[Value], Value | None]:
    """The cast to a datatype; None where there is none from a constant's own."""
    name = datatype.removeprefix(XSD)
    if name in INTEGER_RANGES:
        convert: Callable[[Value], Any] = _to_integer
    elif name in STRING_TYPES or datatype == RDF + "PlainLiteral":
        convert = text_of
    else:
        convert = {
            **dict.fromkeys(CALENDAR_TYPES, _to_calendar(name)),
            "dateTimeStamp": _to_calendar("dateTime"),
            **dict.fromkeys(DURATION_TYPES, _to_duration(name)),
            **dict.fromkeys(("hexBinary", "base64Binary"), _to_binary(name)),
            **{"boolean": _to_boolean, "decimal": _to_decimal, "double": _to_double, "float": _to_single},
            "anyURI": lambda value: value.value if isinstance(value, Iri) else None,
        }.get(name, lambda value: None)

    def casted(value: Value) -> Value | None:
        if is_value_of(value, datatype):
            return value
        found = value if isinstance(value, str) else convert(value)
        if isinstance(found, str) and datatype != RDF + "PlainLiteral":
            return _typed(found, datatype)
        return found if found is None or is_value_of(found, datatype) else None

    return casted


def _typed(text: str, datatype: str) -> Value:
    try:
        return typed_value(text, datatype)
    except LiteralError as error:
        raise EvaluationError(str(error)) from error


def _number(value: Value) -> int | Decimal | float | None:
    """Numbers and booleans as numbers."""
    if isinstance(value, Literal):
        return single_of(value)
    return value if isinstance(value, (int, Decimal, float)) else None


def _to_integer(value: Value) -> int | None:
    number = _number(value)
    return None if number is None else math.trunc(number)


def _to_decimal(value: Value) -> int | Decimal | None:
    number = _number(value)
    if isinstance(number, float):
        return Decimal(number) if math.isfinite(number) else None  # its exact value, as for integers
    return int(number) if isinstance(number, bool) else number


def _to_double(value: Value) -> float | None:
    number = _number(value)
    return None if number is None else float(number)


def _to_single(value: Value) -> Literal | None:
    number = _number(value)
    return None if number is None else single(float(number))


def _to_boolean(value: Value) -> bool | None:
    number = _number(value)
    return None if number is None else not (number == 0 or number != number)


def _to_calendar(name: str) -> Callable[[Value], Value | None]:
    """A moment of more parts gives one of fewer; a date gives its first moment."""

    def convert(value: Value) -> Value | None:
        moment = moment_of(value) if isinstance(value, Literal) else None
        if not isinstance(value, Literal) or moment is None:
            return None
        source = value.datatype.removeprefix(XSD)
        if source not in ("dateTime", "date") or (name == "time" and source == "date"):
            return None
        if name != "dateTime" and name != "time":
            moment = replace(moment, seconds=0, fraction=Decimal(0))
        return of_moment(moment, name)

    return convert


def _to_duration(name: str) -> Callable[[Value], Value | None]:
    def convert(value: Value) -> Value | None:
        found = duration_of(value) if isinstance(value, Literal) else None
        if found is None:
            return None
        if name == "dayTimeDuration":
            return of_duration(Duration(0, found.seconds))
        return of_duration(Duration(found.months, Decimal(0)) if name == "yearMonthDuration" else found)

    return convert


def _to_binary(name: str) -> Callable[[Value], Value | None]:
    def convert(value: Value) -> Value | None:
        if not isinstance(value, Literal):
            return None
        source = value.datatype.removeprefix(XSD)
        if source not in ("hexBinary", "base64Binary"):
            return None
        return Literal(binary_text(bytes_of(value.lexical, source), name), XSD + name)

    return convert


def to_iri(value: Value) -> Iri | None:
    """The IRI of a text that may be one, as `"…"^^rif:iri` reads it; an IRI is one already."""
    if isinstance(value, Iri):
        return value
    text = None if isinstance(value, (Structure, tuple)) else text_of(value)
    return Iri(text) if text is not None and NOT_IN_IRIS.search(text) is None else None
