"""Columns of text whose type was declared: what becomes of them, and which cells are not of that type."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from corollary.language.cells import CELLS, IRIS, MEANING, TERMS
from corollary.language.literals import LiteralError, typed_value
from corollary.program.values import XSD

_INTEGER = r"[+-]?[0-9]{1,1000}"
_DECIMAL = r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)"
_DOUBLE = rf"{_DECIMAL}(?:[eE][+-]?[0-9]+)?|[+-]?INF|NaN"
_IRI = r'[^\x00-\x20<>"{}|^`\\]+'
_NAMES = {"integer": "an integer", "iri": "an IRI"}


@dataclass(frozen=True)
class Converted:
    """A column and what its texts mean; `wrong` tells the cells that are not of the type, None where all of them are."""

    column: pa.ChunkedArray
    meaning: bytes | None
    wrong: np.ndarray[Any, np.dtype[np.bool_]] | None = None

    def field(self, name: str) -> pa.Field:
        return pa.field(name, self.column.type, metadata={MEANING: self.meaning} if self.meaning else None)


def article(name: str) -> str:
    """`an integer`, `a date`."""
    return _NAMES.get(name, f"a {name}")


def convert(column: pa.ChunkedArray, name: str) -> Converted:
    """A column of text as the type says. Cells that are wrong have some value of the type."""
    match name:
        case "any":
            return Converted(column, CELLS)
        case "string":
            return Converted(column, None)
        case "integer":
            return _integers(column)
        case "decimal":
            return _checked(column, _DECIMAL, "0", CELLS, _canonical_number)
        case "double":
            return _checked(column, _DOUBLE, "0", None, _doubles)
        case "boolean":
            return _checked(column, "true|false|1|0", "0", None, lambda texts: pc.is_in(texts, pa.array(["true", "1"])))
        case "iri":
            return _checked(column, _IRI, "x", IRIS, lambda texts: texts)
        case _:
            return _temporal(column, name)


def _checked(column: pa.ChunkedArray, form: str, instead: str, meaning: bytes | None, make: Any) -> Converted:
    right = pc.match_substring_regex(column, f"^(?:{form})$")
    if pc.all(right).as_py() is not False:
        return Converted(make(column), meaning)
    wrong = ~right.to_numpy().astype(np.bool_)
    return Converted(make(pc.if_else(right, column, instead)), meaning, wrong)


def _integers(column: pa.ChunkedArray) -> Converted:
    if not pc.any(pc.match_substring(column, "x", ignore_case=True)).as_py():  # Arrow would take 0x1F for a number
        try:
            return Converted(pc.cast(column, pa.int64()), None)
        except pa.ArrowInvalid:
            pass
    return _checked(column, _INTEGER, "0", CELLS, _canonical_number)


def _canonical_number(texts: pa.ChunkedArray) -> pa.ChunkedArray:
    """The form in which cells are recognised: no plus sign, no zeros in front, digits on both sides of a point."""
    texts = pc.utf8_ltrim(texts, "+")
    texts = pc.replace_substring_regex(texts, r"\.$", "")
    texts = pc.replace_substring_regex(texts, r"^(-?)0*(\.|[0-9])", r"\1\2")
    texts = pc.replace_substring_regex(texts, r"^(-?)\.", r"\10.")  # group 1, then "0."
    return pc.if_else(pc.equal(texts, "-0"), "0", texts)


def _doubles(texts: pa.ChunkedArray) -> pa.ChunkedArray:
    return pc.cast(pc.utf8_ltrim(texts, "+"), pa.float64())


def _temporal(column: pa.ChunkedArray, name: str) -> Converted:
    """Return dates and times as literals; each different text is checked once."""
    datatype = XSD + name
    texts = pc.utf8_trim_whitespace(column)
    distinct = pc.unique(texts)
    right = pa.array([_is_valid(text, datatype) for text in distinct.to_pylist()], pa.bool_())
    terms = pc.binary_join_element_wise('"', texts, f'"^^<{datatype}>', "")
    if pc.all(right).as_py() is not False:
        return Converted(terms, TERMS)
    wrong = pc.is_in(texts, distinct.filter(pc.invert(right)))
    terms = pc.if_else(wrong, '""', terms)
    return Converted(terms, TERMS, wrong.to_numpy().astype(np.bool_))


def _is_valid(text: str, datatype: str) -> bool:
    try:
        typed_value(text, datatype)
    except LiteralError:
        return False
    return re.search(r'["\\]', text) is None
