"""Lexical forms of constants: escapes, typed literals, and the datatypes that have a Python value of their own."""

from __future__ import annotations

import re
from datetime import date
from decimal import Decimal

from corollary.program import Literal, Value
from corollary.program.values import RDF, XSD

STANDARD_PREFIXES = {
    "xsd": XSD,
    "rdf": RDF,
    "rdfs": "http://www.w3.org/2000/01/rdf-schema#",
    "owl": "http://www.w3.org/2002/07/owl#",
}


class LiteralError(ValueError):
    """A lexical form that its datatype does not allow, or an unknown escape; the text is for people."""


class EscapeError(LiteralError):
    """An escape that stands for no character; `start` and `end` are its place in the text."""

    def __init__(self, message: str, match: re.Match[str]) -> None:
        super().__init__(message)
        self.start, self.end = match.span()


_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", '"': '"', "'": "'", "\\": "\\"}
_ESCAPE = re.compile(r"\\(u[0-9A-Fa-f]{4}|U[0-9A-Fa-f]{8}|.)", re.DOTALL)


def unescape(text: str) -> str:
    r"""The string that a text with `\n`, `\"`, `\u00e9` … stands for."""

    def replace(match: re.Match[str]) -> str:
        escape = match.group(1)
        if len(escape) > 1:
            code = int(escape[1:], 16)
            if code > 0x10FFFF or 0xD800 <= code <= 0xDFFF:
                raise EscapeError(f"\\{escape} is not a character", match)
            return chr(code)
        if escape not in _ESCAPES:
            raise EscapeError(f"unknown escape \\{escape}", match)
        return _ESCAPES[escape]

    return _ESCAPE.sub(replace, text)


_INTEGER_RANGES: dict[str, tuple[int | None, int | None]] = {
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
_ZONE = r"(?:Z|[+-](?:0\d|1[0-3]):[0-5]\d|[+-]14:00)?"
_TIME = r"(?:(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d+)?|24:00:00(?:\.0+)?)"
_FORMS = {
    "decimal": re.compile(r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)"),
    "double": re.compile(r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?|[+-]?INF|NaN"),
    "date": re.compile(rf"(-?\d{{4,}})-(\d\d)-(\d\d){_ZONE}"),
    "dateTime": re.compile(rf"(-?\d{{4,}})-(\d\d)-(\d\d)T{_TIME}{_ZONE}"),
    "time": re.compile(rf"{_TIME}{_ZONE}"),
}
_INTEGER = re.compile(r"[+-]?\d{1,4000}")
_BOOLEANS = {"true": True, "1": True, "false": False, "0": False}


def typed_value(lexical: str, datatype: str) -> Value:
    """The constant that `"lexical"^^<datatype>` means: a Python value where there is one, a `Literal` otherwise."""
    if not datatype.startswith(XSD):
        return Literal(lexical, datatype)
    name = datatype.removeprefix(XSD)
    if name == "string":
        return lexical
    trimmed = lexical.strip()
    if name in _INTEGER_RANGES:
        return _integer(trimmed, name)
    if name == "boolean" and trimmed in _BOOLEANS:
        return _BOOLEANS[trimmed]
    if name == "boolean" or not _is_valid(trimmed, "double" if name == "float" else name):
        raise LiteralError(f'"{lexical[:40]}" is not a valid xsd:{name}')
    if name == "decimal":
        return Decimal(trimmed)
    return float(trimmed) if name == "double" else Literal(lexical, datatype)


def _integer(lexical: str, name: str) -> int:
    low, high = _INTEGER_RANGES[name]
    if not _INTEGER.fullmatch(lexical):
        raise LiteralError(f'"{lexical[:40]}" is not a valid xsd:{name}')
    value = int(lexical)
    if (low is not None and value < low) or (high is not None and value > high):
        raise LiteralError(f"{lexical[:40]} is out of the range of xsd:{name}")
    return value


def _is_valid(lexical: str, name: str) -> bool:
    form = _FORMS.get(name)
    match = form.fullmatch(lexical) if form else None
    if form and name in ("date", "dateTime") and match:
        return _is_calendar_day(*(int(group) for group in match.groups()[:3]))
    return form is None or match is not None


def _is_calendar_day(year: int, month: int, day: int) -> bool:
    try:
        date(2000 + year % 400, month, day)  # the calendar repeats every 400 years
    except ValueError:
        return False
    return True
