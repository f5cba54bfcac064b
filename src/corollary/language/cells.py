"""Constants in data files: cells of tables, terms of RDF files, and the meaning of text columns."""

from __future__ import annotations

import re
from decimal import Decimal

from corollary.language.literals import LiteralError, typed_value, unescape
from corollary.language.parser import parse
from corollary.language.permissions import NOTHING
from corollary.program import Iri, Literal, Value
from corollary.program.values import RDF, XSD

MEANING = b"corollary"
"""The key in the metadata of an Arrow field under which a column of text says what it holds:"""
CELLS = b"cells"
"""numbers and booleans in their usual form are that, everything else is a string;"""
IRIS = b"iris"
"""the texts of IRIs;"""
TERMS = b"terms"
"""constants as programs and N-Triples write them. Without a meaning, texts are strings."""

MAX_NUMBER_LENGTH = 4000
INTEGER = r"0|-?[1-9][0-9]*"
DECIMAL = r"-?(?:0|[1-9][0-9]*)\.[0-9]+"
DOUBLE = r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?[eE][+-]?[0-9]+|-?INF|NaN"
SMALL_INTEGER = rf'^"-?[0-9]{{1,18}}"\^\^<{re.escape(XSD)}integer>$'
"""The most frequent typed literals; Arrow's regular expressions know them too."""

_INTEGER, _DECIMAL, _DOUBLE = re.compile(INTEGER), re.compile(DECIMAL), re.compile(DOUBLE)
_BLANK = re.compile(r"_:\S+")
_IRI = re.compile(r'<([^\x00-\x20<>"{}|^`]*)>')
_LITERAL = re.compile(
    r'"((?:[^"\\]|\\.)*)"(?:@([A-Za-z]+(?:-[A-Za-z0-9]+)*)|\^\^<([^\x00-\x20<>"{}|^`]*)>)?', re.DOTALL
)


def cell_value(text: str) -> Value:
    """Return the value of a cell: integers, decimals, doubles and booleans in their usual form, otherwise a string."""
    if text in ("true", "false"):
        return text == "true"
    if len(text) <= MAX_NUMBER_LENGTH:
        if _INTEGER.fullmatch(text):
            return int(text)
        if _DECIMAL.fullmatch(text):
            return Decimal(text)
        if _DOUBLE.fullmatch(text):
            return float(text)
    return text


def term_value(text: str) -> Value:
    """Return a constant as written in programs or N-Triples, `_:b` as the IRI of that text; raise `ValueError` if it is
    invalid."""
    if match := _IRI.fullmatch(text):
        return Iri(unescape(match[1]))
    if match := _LITERAL.fullmatch(text):
        lexical, language, datatype = unescape(match[1]), match[2], match[3]
        if language is not None:
            return Literal(lexical, RDF + "langString", language.lower())
        return typed_value(lexical, unescape(datatype)) if datatype is not None else lexical
    if _BLANK.fullmatch(text):
        return Iri(text)
    parsed = parse(f"x({text}).", permissions=NOTHING)
    program = parsed.program if not parsed.errors else None
    rows = program.facts[0].rows if program and len(program.statements) == len(program.facts) == 1 else []
    if len(rows) != 1 or len(rows[0]) != 1:
        raise LiteralError(f"{text[:60]} is not a constant")
    return rows[0][0]
