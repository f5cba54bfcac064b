"""The constants of the language as Python values, and when two of them are the same constant.

`int` and `Decimal` share one value space (`1` and `1.0` are one constant, kept as `int`); a `float` (xsd:double), a
`bool` and a `str` are constants of their own even where Python's `==` says otherwise (`1 == 1.0 == True`).
"""

from __future__ import annotations

import math
import struct
from dataclasses import dataclass
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal, Inexact
from typing import TypeAlias

XSD = "http://www.w3.org/2001/XMLSchema#"
RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"


@dataclass(frozen=True, slots=True, order=True)
class Iri:
    """An IRI as a constant; not equal to the string with the same characters."""

    value: str

    def __str__(self) -> str:
        return self.value


@dataclass(frozen=True, slots=True)
class Literal:
    """A typed or language-tagged literal that has no plain Python value: its lexical form and what it is.

    `datatype` is the full IRI of the datatype; with a `language` it is rdf:langString.
    """

    lexical: str
    datatype: str
    language: str | None = None

    def __str__(self) -> str:
        return self.lexical


@dataclass(frozen=True, slots=True)
class Structure:
    """A ground function term such as `f(1, a)` as a constant. A ground list is a plain tuple."""

    name: str
    arguments: tuple[Value, ...]


# Decimal arithmetic in this context is exact or raises: results with an absurd number of digits are an error.
EXACT = Context(prec=5000, Emax=MAX_EMAX, Emin=MIN_EMIN, traps=[Inexact])

Value: TypeAlias = "int | Decimal | float | bool | str | Iri | Literal | Structure | tuple[Value, ...]"


def canonical(value: Value) -> Value:
    """Return the representative of a constant: an integral decimal becomes an `int`, other decimals lose trailing zeros."""
    if isinstance(value, Decimal):
        if value == value.to_integral_value():
            return int(value)
        return value.normalize(EXACT)
    return value


def identity(value: Value) -> tuple[str, object]:
    """Return a hashable key that two canonical values share if and only if they are the same constant."""
    if type(value) is float:
        return "float", struct.pack("<d", math.nan if math.isnan(value) else value)
    if isinstance(value, tuple):
        return "list", tuple(identity(item) for item in value)
    if isinstance(value, Structure):
        return "function " + value.name, tuple(identity(item) for item in value.arguments)
    return type(value).__name__, value


def datatype_of(value: Value) -> str:
    """Return the datatype IRI of a constant, as the universe relation shows it."""
    if isinstance(value, Literal):
        return value.datatype
    if isinstance(value, Iri):
        return "http://www.w3.org/2007/rif#iri"
    if isinstance(value, (Structure, tuple)):
        return "http://www.w3.org/2007/rif#" + ("List" if isinstance(value, tuple) else "func")
    return XSD + _DATATYPES[type(value)]


_DATATYPES: dict[type, str] = {
    bool: "boolean",
    int: "integer",
    Decimal: "decimal",
    float: "double",
    str: "string",
}


def sort_key(value: Value) -> tuple[int, object, str]:
    """Return a sort key of all constants for printing: numbers by value, then booleans, strings, IRIs, literals, terms,
    lists."""
    match value:
        case bool():
            return 1, value, ""
        case int() | Decimal() | float():
            is_nan = isinstance(value, float) and math.isnan(value)
            return 0, (is_nan, 0 if is_nan else value), type(value).__name__
        case str():
            return 2, value, ""
        case Iri():
            return 3, value.value, ""
        case Literal():
            return 4, value.lexical, value.datatype + (value.language or "")
        case Structure():
            return 5, (value.name, len(value.arguments)), str([sort_key(item) for item in value.arguments])
        case tuple():
            return 6, len(value), str([sort_key(item) for item in value])
