"""Constants in data files: cells of tables and terms of RDF files."""

from __future__ import annotations

import re
from decimal import Decimal

from corollary.diagnostics import Source
from corollary.language.lexer import Lexer
from corollary.program import Value

_INTEGER = re.compile(r"0|-?[1-9]\d*")
_DECIMAL = re.compile(r"-?(?:0|[1-9]\d*)\.\d+")
_DOUBLE = re.compile(r"-?(?:0|[1-9]\d*)(?:\.\d+)?[eE][+-]?\d+|-?INF|NaN")


def cell_value(text: str) -> Value:
    """What a cell means: integers, decimals, doubles and booleans in their usual form are that, the rest is a string."""
    if text in ("true", "false"):
        return text == "true"
    if len(text) <= 4000:
        if _INTEGER.fullmatch(text):
            return int(text)
        if _DECIMAL.fullmatch(text):
            return Decimal(text)
        if _DOUBLE.fullmatch(text):
            return float(text)
    return text


def term_value(text: str) -> Value:
    """A term in the notation of programs, as N-Triples write it too; raises `ValueError` where it is none."""
    lexer = Lexer(Source(text))
    tokens = None if lexer.at_end() else lexer.clause()
    if not tokens or len(tokens) != 1 or tokens[0].type != "CONSTANT":
        raise ValueError(f"{text[:60]} is not a term")
    return tokens[0].value
