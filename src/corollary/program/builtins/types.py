"""Datatypes: guards, which tell what a constant is a value of, and casts."""

from __future__ import annotations

from functools import partial

from corollary.program.builtins.casts import cast, text_of, to_iri
from corollary.program.builtins.declaration import is_literal, shortened
from corollary.program.builtins.registry import declare
from corollary.program.datatypes import DATATYPES, is_value_of
from corollary.program.values import XSD, Iri, Structure, Value, identity

_GUARD = partial(declare, chapter="Guards", of="any", gives="boolean", raw=True)
_CAST = partial(declare, chapter="Casts", of="any", raw=True)

_EXAMPLES: dict[str, tuple[str, str, str]] = {
    # a value, a constant that is none, and another constant with what the cast makes of it
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
"""More names of guards and casts, as IRIS has them."""


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
