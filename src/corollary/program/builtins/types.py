"""Datatypes: guards, which tell the datatype of a constant, and casts."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from functools import partial
from typing import Any

from corollary.program.arithmetic import EvaluationError
from corollary.program.builtins.declaration import is_literal, shortened
from corollary.program.builtins.registry import declare
from corollary.program.datatypes import (
    DATATYPES,
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
from corollary.program.datatypes.calendar import CALENDAR_TYPES, DURATION_TYPES, Duration
from corollary.program.datatypes.numbers import INTEGER_RANGES
from corollary.program.datatypes.texts import STRING_TYPES, binary_text, bytes_of
from corollary.program.datatypes.typed import NOT_IN_IRIS
from corollary.program.values import RDF, XSD, Iri, Literal, Structure, Value, identity

# -- casts -------------------------------------------------------------------------------------------------------------

# Casts from one datatype to another, as in XPath.


def text_of(value: Value) -> str | None:
    """Return a constant as text, by XPath's cast to string; None for function terms and lists."""
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
    """Return the cast to a datatype, which returns None for constants that cannot be cast."""
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
    """Return numbers and booleans as numbers."""
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
    """Return a cast that keeps the parts of a moment that the datatype has; a date becomes its first moment."""

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
    """Return the IRI of a text if it is a valid one, as `"…"^^rif:iri` is read; an IRI stays itself."""
    if isinstance(value, Iri):
        return value
    text = None if isinstance(value, (Structure, tuple)) else text_of(value)
    return Iri(text) if text is not None and NOT_IN_IRIS.search(text) is None else None


# -- types -------------------------------------------------------------------------------------------------------------

_GUARD = partial(declare, chapter="Guards", of="any", gives="boolean", raw=True)
_CAST = partial(declare, chapter="Casts", of="any", raw=True)

_EXAMPLES: dict[str, tuple[str, str, str]] = {
    # a value, a constant of another datatype, and a third constant with the result of the cast
    "boolean": ("true", "1", "1 → true"),
    "decimal": ("1.5", "1.5e0", "1.5e0 → 1.5"),
    "double": ("1.5e0", "1.5", "1 → 1.0e0"),
    "float": ('"1.5"^^xsd:float', "1.5", '1 → "1.0E0"^^xsd:float'),
    "integer": ("5", "1.5", '"12" → 12'),
    "int": ("2147483647", "2147483648", "7.9 → 7"),
    "byte": ("-128", "128", '"-128" → -128'),
    "string": ("abc", "1", '1.50 → "1.5"'),
    "token": ('"a b"', '" a"', '" a  b " → "a b"'),
    "language": ('"en-GB"', '"a_b"', '"de" → "de"'),
    "anyURI": ('"http://e.org/"^^xsd:anyURI', "abc", '<http://e.org/> → "http://e.org/"^^xsd:anyURI'),
    "hexBinary": ('"FF"^^xsd:hexBinary', '"FF"', '"YQ=="^^xsd:base64Binary → "61"^^xsd:hexBinary'),
    "dateTime": (
        '"2026-01-31T12:00:00"^^xsd:dateTime', '"2026-01-31"^^xsd:date',
        '"2026-01-31"^^xsd:date → "2026-01-31T00:00:00"^^xsd:dateTime',
    ),
    "date": (
        '"2026-01-31"^^xsd:date', '"2026-01-31"',
        '"2026-01-31T12:00:00Z"^^xsd:dateTime → "2026-01-31Z"^^xsd:date',
    ),
    "dateTimeStamp": (
        '"2026-01-31T12:00:00Z"^^xsd:dateTime', '"2026-01-31T12:00:00"^^xsd:dateTime',
        '"2026-01-31T12:00:00+00:00" → "2026-01-31T12:00:00Z"^^xsd:dateTime',
    ),
    "gYear": ('"2026"^^xsd:gYear', "2026", '"2026-01-31"^^xsd:date → "2026"^^xsd:gYear'),
    "dayTimeDuration": ('"P1DT2H"^^xsd:duration', '"P1M"^^xsd:duration', '"PT36H" → "P1DT12H"^^xsd:dayTimeDuration'),
    "yearMonthDuration": (
        '"P14M"^^xsd:duration', '"P1D"^^xsd:duration', '"P14M" → "P1Y2M"^^xsd:yearMonthDuration'
    ),
}  # fmt: skip


_ALSO = {
    "IS_QName": ("IS_SQNAME",), "IS_NOT_QName": ("IS_NOT_SQNAME",),
    "IS_PlainLiteral": ("IS_TEXT",), "IS_NOT_PlainLiteral": ("IS_NOT_TEXT",),
    "TO_base64Binary": ("TO_BASE64",), "TO_PlainLiteral": ("TO_TEXT",),
}  # fmt: skip
"""More names of guards and casts, from IRIS."""


def _is_not(datatype: str, value: Value) -> bool:
    return is_literal(value) and not is_value_of(value, datatype)


for _datatype in DATATYPES:
    _name = _datatype.rpartition("#")[2]
    _value, _other, _casted = _EXAMPLES.get(_name, ("", "", ""))
    _shown = shortened(_datatype)
    _GUARD(
        f"pred:is-literal-{_name}", f"IS_{_name.upper()}", *_ALSO.get(f"IS_{_name}", ()),
        summary=f"the constant is a value of {_shown}",
        examples=[(f"pred:is-literal-{_name}({_value})", "true"), (f"pred:is-literal-{_name}({_other})", "false")]
        if _value else [(f"pred:is-literal-{_name}(<http://e.org/>)", "false")],
    )(partial(lambda datatype, value: is_value_of(value, datatype), _datatype))  # fmt: skip
    _GUARD(
        f"pred:is-literal-not-{_name}", f"IS_NOT_{_name.upper()}", *_ALSO.get(f"IS_NOT_{_name}", ()),
        summary=f"the constant is a value of some datatype, but not of {_shown}",
        examples=[(f"pred:is-literal-not-{_name}({_other})", "true")]
        if _value else [(f"pred:is-literal-not-{_name}(<http://e.org/>)", "false")],
    )(partial(_is_not, _datatype))  # fmt: skip
    _from, _, _to = _casted.partition(" → ")
    _CAST(
        _datatype, f"TO_{_name.upper()}", *_ALSO.get(f"TO_{_name}", ()), gives=_shown,
        summary=f"the constant as a value of {_shown}",
        examples=[(f"{_shown}({_from})", _to)] if _from else [(f"{_shown}([1])", None)],
    )(cast(_datatype))  # fmt: skip


_OF_ANY = partial(declare, chapter="Guards", of="any, any", gives="boolean", raw=True, is_predicate=True)


def _named(datatype: Value) -> str | None:
    return datatype.value if isinstance(datatype, Iri) else datatype if isinstance(datatype, str) else None


@_OF_ANY(
    "IS_DATATYPE", summary="the constant is a value of the datatype with that IRI",
    examples=[
        ("IS_DATATYPE(5, xsd:integer)", "true"), ("IS_DATATYPE(5, xsd:string)", "false"), ("IS_DATATYPE(5, 5)", None)
    ],
)  # fmt: skip
def _is_datatype(value: Value, datatype: Value) -> bool | None:
    name = _named(datatype)
    return None if name is None else is_value_of(value, name)


@_OF_ANY(
    "IS_NOT_DATATYPE", summary="the constant is a value of some datatype, but not of the one with that IRI",
    examples=[
        ("IS_NOT_DATATYPE(5, xsd:string)", "true"), ("IS_NOT_DATATYPE(5, xsd:integer)", "false"),
        ("IS_NOT_DATATYPE(<http://e.org/>, xsd:string)", "false"),
    ],
)  # fmt: skip
def _is_not_datatype(value: Value, datatype: Value) -> bool | None:
    name = _named(datatype)
    return None if name is None else _is_not(name, value)


@_GUARD("IS_IRI", summary="the constant is an IRI", is_predicate=True, examples=[("IS_IRI(abc)", "false")])
def _is_iri(value: Value) -> bool:
    return isinstance(value, Iri)


@_GUARD("IS_NOT_IRI", summary="the constant is no IRI", is_predicate=True, examples=[("IS_NOT_IRI(abc)", "true")])
def _is_not_iri(value: Value) -> bool:
    return not isinstance(value, Iri)


@_GUARD(
    "IS_NUMERIC", summary="the constant is a number of any type", is_predicate=True,
    examples=[("IS_NUMERIC(1.5e0)", "true"), ("IS_NUMERIC(a)", "false")],
)  # fmt: skip
def _is_numeric(value: Value) -> bool:
    return any(is_value_of(value, XSD + name) for name in ("decimal", "double", "float"))


@_GUARD(
    "IS_NOT_NUMERIC", summary="the constant is a value of some datatype, but no number", is_predicate=True,
    examples=[("IS_NOT_NUMERIC(a)", "true"), ("IS_NOT_NUMERIC(1.5)", "false"), ("IS_NOT_NUMERIC(<http://e.org/>)", "false")],
)  # fmt: skip
def _is_not_numeric(value: Value) -> bool:
    return is_literal(value) and not _is_numeric(value)


@_GUARD(
    "IS_NOT_TERM", summary="the constant is no function term", is_predicate=True, examples=[("IS_NOT_TERM(abc)", "true")],
)  # fmt: skip
def _is_not_term(value: Value) -> bool:
    return not isinstance(value, Structure)


@_GUARD("IS_TERM", summary="the constant is a function term", is_predicate=True, examples=[("IS_TERM(abc)", "false")])
def _is_term(value: Value) -> bool:
    return isinstance(value, Structure)


@declare(
    "pred:literal-not-identical", "LITERAL_NOT_IDENTICAL", chapter="Guards", of="any, any", gives="boolean", raw=True,
    summary="both are values of datatypes, and different constants",
    examples=[
        ("pred:literal-not-identical(1, 1.0e0)", "true"), ("pred:literal-not-identical(1, 1.0)", "false"),
        ("pred:literal-not-identical(1, <http://e.org/>)", "false"),
    ],
)  # fmt: skip
def _literal_not_identical(left: Value, right: Value) -> bool:
    return is_literal(left) and is_literal(right) and identity(left) != identity(right)


@_CAST(
    "TO_IRI", gives="IRI", summary="the IRI of a text", inverse="pred:iri-string",
    examples=[('TO_IRI("http://e.org/")', "<http://e.org/>"), ('TO_IRI("a b")', None)],
)  # fmt: skip
def _to_iri(value: Value) -> Iri | None:
    return to_iri(value)


@declare(
    "pred:iri-string", "IRI_STRING", chapter="Casts", of="IRI", gives="string", inverse="TO_IRI", is_predicate=False,
    summary="the text of an IRI; as a condition, `pred:iri-string(IRI, text)`, it gives either of the two",
    examples=[("pred:iri-string(<http://e.org/>)", '"http://e.org/"'), ("pred:iri-string(abc)", None)],
)  # fmt: skip
def _iri_string(value: Iri) -> str | None:
    return text_of(value)
