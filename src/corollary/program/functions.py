"""The built-in functions of expressions, each declared once: name, arity and meaning."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from corollary.program.arithmetic import EvaluationError, is_number
from corollary.program.values import EXACT, Value, canonical


@dataclass(frozen=True)
class Function:
    """A built-in function: `apply` takes values of the right number and raises `EvaluationError` on wrong types."""

    name: str
    arity: int
    summary: str
    apply: Callable[..., Value]


FUNCTIONS: dict[str, Function] = {}


def find_function(name: str) -> Function | None:
    """The built-in function of that name (names are case-insensitive), or None: then it is a function symbol."""
    return FUNCTIONS.get(name.lower())


def _function(name: str, arity: int, summary: str, *, on: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    expected: Callable[[Value], bool] = is_number if on == "number" else lambda value: isinstance(value, str)

    def declare(body: Callable[..., Any]) -> Callable[..., Any]:
        def apply(*arguments: Value) -> Value:
            if not all(expected(argument) for argument in arguments):
                raise EvaluationError(f"{name} needs a {on}")
            try:
                return canonical(body(*arguments))
            except (OverflowError, ValueError) as error:
                raise EvaluationError(f"{name} has no value here") from error

        FUNCTIONS[name] = Function(name, arity, summary, apply)
        return body

    return declare


@_function("abs", 1, "the number without its sign", on="number")
def _abs(value: Any) -> Any:
    return value.copy_abs() if isinstance(value, Decimal) else abs(value)


@_function("floor", 1, "the greatest whole number that is not above", on="number")
def _floor(value: Any) -> Any:
    return float(math.floor(value)) if isinstance(value, float) else math.floor(value)


@_function("ceiling", 1, "the smallest whole number that is not below", on="number")
def _ceiling(value: Any) -> Any:
    return float(math.ceil(value)) if isinstance(value, float) else math.ceil(value)


@_function("round", 1, "the nearest whole number, a half goes up", on="number")
def _round(value: Any) -> Any:
    if isinstance(value, float):
        return float(math.floor(value + 0.5))
    if isinstance(value, int):
        return value
    return math.floor(EXACT.add(value, Decimal("0.5")))


@_function("length", 1, "the number of characters", on="string")
def _length(value: str) -> int:
    return len(value)


@_function("upper", 1, "the string in capital letters", on="string")
def _upper(value: str) -> str:
    return value.upper()


@_function("lower", 1, "the string in small letters", on="string")
def _lower(value: str) -> str:
    return value.lower()


@_function("concat", 2, "the two strings one after the other", on="string")
def _concat(left: str, right: str) -> str:
    return left + right
