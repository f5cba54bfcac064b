"""Typed literals: the constant for a lexical form and a datatype, and which constant is a value of which datatype."""

from __future__ import annotations

import re
from decimal import Decimal
from functools import lru_cache
from typing import Any

from corollary.program.datatypes.calendar import (
    CALENDAR_TYPES,
    DURATION_TYPES,
    Duration,
    Moment,
    duration_text,
    moment_text,
    parse_duration,
    parse_moment,
)
from corollary.program.datatypes.numbers import (
    INTEGER_RANGES,
    is_in_range,
    parse_decimal,
    parse_double,
    parse_integer,
    single_text,
    to_single,
)
from corollary.program.datatypes.texts import (
    OTHER_TEXTS,
    STRING_TYPES,
    canonical_xml,
    collapsed,
    is_string_of,
    parse_string,
    parse_text,
    plain_literal_parts,
)
from corollary.program.values import RDF, XSD, Iri, Literal, Value

RIF = "http://www.w3.org/2007/rif#"
_BOOLEANS = {"true": True, "1": True, "false": False, "0": False}

NOT_IN_IRIS = re.compile(r'[\x00-\x20<>"{}|^`\\]')
"""The characters that IRIs cannot contain, unless a program writes them as escapes."""
DATATYPES: tuple[str, ...] = (
    *(XSD + name for name in ("boolean", "decimal", "double", "float", *INTEGER_RANGES)),
    *(XSD + name for name in (*STRING_TYPES, *OTHER_TEXTS)),
    *(XSD + name for name in (*CALENDAR_TYPES, "dateTimeStamp", *DURATION_TYPES)),
    *(RDF + name for name in ("PlainLiteral", "XMLLiteral")),
)
"""Every datatype whose lexical forms are checked; guards and casts exist for each."""


class LiteralError(ValueError):
    """Raised for a lexical form that its datatype does not allow, or an unknown escape; the text is for people."""


def typed_value(lexical: str, datatype: str) -> Value:
    """Return the constant of `"lexical"^^<datatype>`: a Python value if there is one, otherwise a `Literal`.

    Literals are in canonical form. Those of unknown datatypes are taken as they are.
    """
    if datatype.startswith(XSD):
        return _xsd(lexical, datatype.removeprefix(XSD))
    if datatype == RIF + "iri":
        return checked_iri(lexical)
    if datatype == RDF + "PlainLiteral":
        parts = plain_literal_parts(lexical)
        if parts is None:
            raise LiteralError(f'"{lexical[:40]}" is not a valid rdf:PlainLiteral: a text, @ and a language or nothing')
        return plain_literal(*parts)
    if datatype == RDF + "XMLLiteral":
        xml = canonical_xml(lexical)
        if xml is None:
            raise LiteralError(f'"{lexical[:40]}" is not well-formed XML')
        return Literal(xml, datatype)
    return Literal(lexical, datatype)


def checked_iri(text: str) -> Iri:
    """Return the IRI with this text; raise `LiteralError` for a character that IRIs cannot contain."""
    wrong = NOT_IN_IRIS.search(text)
    if wrong is not None:
        shown = f"'{wrong.group()}'" if wrong.group().isprintable() else f"U+{ord(wrong.group()):04X}"
        raise LiteralError(f'"{text[:40]}" is not a valid IRI: it has the character {shown}')
    return Iri(text)


def canonical_literal(literal: Literal) -> Value:
    """Return the constant of a literal from outside; the literal itself if its lexical form is invalid."""
    if literal.language is not None:
        return literal
    try:
        return typed_value(literal.lexical, literal.datatype)
    except LiteralError:
        return literal


def plain_literal(text: str, language: str) -> Value:
    """Return a text with a language tag; without one, a string."""
    return Literal(text, RDF + "langString", language.lower()) if language else text


def _xsd(lexical: str, name: str) -> Value:
    if name in STRING_TYPES:
        return str(_valid(parse_string(lexical, name), lexical, name))
    trimmed = collapsed(lexical)
    if name in INTEGER_RANGES:
        value: int = _valid(parse_integer(trimmed), lexical, name)
        if not is_in_range(value, name):
            raise LiteralError(f"{trimmed[:40]} is out of the range of xsd:{name}")
        return value
    match name:
        case "boolean":
            return bool(_valid(_BOOLEANS.get(trimmed), lexical, name))
        case "decimal":
            decimal: Decimal = _valid(parse_decimal(trimmed), lexical, name)
            return decimal
        case "double":
            return float(_valid(parse_double(trimmed), lexical, name))
        case "float":
            return single(_valid(parse_double(trimmed), lexical, name))
        case "dateTimeStamp":
            moment = _valid(parse_moment(trimmed, "dateTime"), lexical, name)
            if moment.zone is None:
                raise LiteralError(f'"{lexical[:40]}" is not a valid xsd:dateTimeStamp: it has no time zone')
            return of_moment(moment, "dateTime")
        case _ if name in CALENDAR_TYPES:
            return of_moment(_valid(parse_moment(trimmed, name), lexical, name), name)
        case _ if name in DURATION_TYPES:
            return of_duration(_valid(parse_duration(trimmed, name), lexical, name))
        case _ if name in OTHER_TEXTS:
            return Literal(_valid(parse_text(lexical, name), lexical, name), XSD + name)
        case _:
            return Literal(lexical, XSD + name)


def _valid(found: Any, lexical: str, name: str) -> Any:
    if found is None:
        raise LiteralError(f'"{lexical[:40]}" is not a valid xsd:{name}')
    return found


# -- constants of values, and back -------------------------------------------------------------------------------------


def single(value: float) -> Literal:
    """Return the constant of xsd:float nearest to a number."""
    return Literal(single_text(to_single(value)), XSD + "float")


def of_moment(moment: Moment, name: str) -> Literal:
    return Literal(moment_text(moment, name), XSD + name)


def of_duration(duration: Duration) -> Literal:
    return Literal(duration_text(duration), XSD + duration.datatype)


@lru_cache(maxsize=1 << 16)
def moment_of(literal: Literal) -> Moment | None:
    """Return the value of a date, a time or a part of a date; None for any other literal."""
    name = literal.datatype.removeprefix(XSD)
    return parse_moment(literal.lexical, name) if name in CALENDAR_TYPES else None


@lru_cache(maxsize=1 << 16)
def duration_of(literal: Literal) -> Duration | None:
    name = literal.datatype.removeprefix(XSD)
    return parse_duration(literal.lexical, name) if name in DURATION_TYPES else None


def single_of(literal: Literal) -> float | None:
    """Return the number of an xsd:float."""
    number = parse_double(literal.lexical) if literal.datatype == XSD + "float" else None
    return None if number is None else to_single(number)


_PLACES = {XSD + name for name in (*CALENDAR_TYPES, "dayTimeDuration", "yearMonthDuration")}


def place_of(literal: Literal) -> tuple[str, Any] | None:
    """Return a literal's kind and a sort key within that kind; None if it has no order."""
    if literal.datatype not in _PLACES:
        return None
    if (moment := moment_of(literal)) is not None:
        return literal.datatype, moment.place
    duration = duration_of(literal)
    if duration is None:
        return None
    return literal.datatype, (duration.months, duration.seconds)


def is_value_of(value: Value, datatype: str) -> bool:
    """Return whether a constant is a value of a datatype, however it was written."""
    name = datatype.removeprefix(XSD)
    match value:
        case bool():
            return name == "boolean"
        case int():
            return name == "decimal" or (name in INTEGER_RANGES and is_in_range(value, name))
        case Decimal():
            return name == "decimal"
        case float():
            return name == "double"
        case str():
            return datatype == RDF + "PlainLiteral" or (name in STRING_TYPES and is_string_of(value, name))
        case Literal():
            if datatype == RDF + "PlainLiteral":
                return value.language is not None
            if name in DURATION_TYPES:
                duration = duration_of(value)
                return duration is not None and duration.is_a(name)
            if name == "dateTimeStamp":
                return value.datatype == XSD + "dateTime" and (moment_of(value) or Moment()).zone is not None
            return value.datatype == datatype and value.language is None
        case _:
            return False
