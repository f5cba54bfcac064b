"""Pieces of SQL that no text of a program can break out of: identifiers, constants, expressions.

A constant is written so that it means the same whatever the session's settings for escapes
(`spark.sql.parser.escapedStringLiterals`) and for variables in SQL text (`${…}`, replaced even inside quotes): anything
but plain characters is written as hexadecimal bytes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from decimal import Decimal

from corollary.program import (
    Arithmetic,
    Constant,
    FunctionTerm,
    Iri,
    Literal,
    Minus,
    Term,
    Value,
    Variable,
    find_builtin,
)

_PLAIN = re.compile(r"[A-Za-z0-9 _.,;:!?#%&()*+/<=>@\[\]^|~-]*\Z")


class NoSql(Exception):
    """Raised for a rule that uses something without a counterpart in Spark SQL; the message names it."""


class SqlNames:
    """Different identifiers for different things; to Spark, names that differ only in case are the same."""

    def __init__(self) -> None:
        self._taken: set[str] = set()

    def __call__(self, wanted: str) -> str:
        wanted = wanted.replace("${", "$ {").replace("\0", " ").strip() or "_"
        name, number = wanted, 1
        while name.lower() in self._taken:
            number += 1
            name = f"{wanted}_{number}"
        self._taken.add(name.lower())
        return name


def identifier(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def constant(value: Value) -> str:
    match value:
        case bool():
            return "TRUE" if value else "FALSE"
        case int():
            return _integer(value)
        case Decimal():
            return f"CAST('{value:f}' AS DECIMAL({_digits(value)}))"
        case float():
            return f"CAST('{_double(value)}' AS DOUBLE)"
        case str():
            return _text(value)
        case Iri() | Literal():
            return _text(str(value))
        case _:
            raise NoSql("structures and lists")


def _integer(value: int) -> str:
    if -(1 << 63) < value < 1 << 63:
        return f"{value}L"
    if abs(value) >= 10**38:
        raise NoSql("integers of more than 38 digits")
    return f"CAST('{value}' AS DECIMAL(38, 0))"


def _digits(value: Decimal) -> str:
    scale = max(0, -int(value.as_tuple().exponent))
    precision = max(scale + 1, len(value.as_tuple().digits) + 1)
    if precision > 38:
        raise NoSql("decimals of more than 37 digits")
    return f"{precision}, {scale}"


def _double(value: float) -> str:
    return {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}.get(repr(value), repr(value))


def _text(value: str) -> str:
    if _PLAIN.match(value):
        return f"'{value}'"
    return f"decode(X'{value.encode('utf-8', 'replace').hex()}', 'UTF-8')"


_ARITHMETIC: dict[str, Callable[[str, str], str]] = {
    "+": lambda left, right: f"try_add({left}, {right})",
    "-": lambda left, right: f"try_subtract({left}, {right})",
    "*": lambda left, right: f"try_multiply({left}, {right})",
    "/": lambda left, right: f"try_divide({left}, {right})",
    "div": lambda left, right: f"CASE WHEN {right} <> 0 THEN {left} DIV {right} END",
    "%": lambda left, right: f"try_mod({left}, {right})",
}
_FUNCTIONS = {
    "abs": "abs",
    "floor": "floor",
    "ceiling": "ceil",
    "length": "char_length",
    "upper": "upper",
    "lower": "lower",
    "concat": "concat",
}


def expression(term: Term, columns: Mapping[str, str]) -> str:
    """Return a term over columns; NULL if it has no value."""
    match term:
        case Constant():
            return constant(term.value)
        case Variable():
            return columns[term.name]
        case Minus():
            return f"try_subtract(0, {expression(term.operand, columns)})"
        case Arithmetic():
            left, right = expression(term.left, columns), expression(term.right, columns)
            return _ARITHMETIC[term.operator](left, right)
        case FunctionTerm() if term.name in _FUNCTIONS:
            arguments = ", ".join(expression(argument, columns) for argument in term.arguments)
            return f"{_FUNCTIONS[term.name]}({arguments})"
        case FunctionTerm() if term.name != "round" and find_builtin(term.name) is not None:
            raise NoSql("built-ins that SQL does not have")
        case FunctionTerm(name="round"):
            operand = expression(term.arguments[0], columns)
            return f"floor(try_add({operand}, 0.5BD))"
        case _:
            raise NoSql("structures and lists")
