"""Comparisons of anything, and booleans."""

from __future__ import annotations

from functools import partial

from corollary.program.arithmetic import compare
from corollary.program.builtins.declaration import HAS_VALUE
from corollary.program.builtins.registry import declare
from corollary.program.values import Value, datatype_of, identity

_COMPARISON = partial(declare, chapter="Comparison", gives="boolean", is_predicate=True, raw=True)
_BOOLEAN = partial(declare, chapter="Booleans")

for _symbol, _name, _summary, _example in [
    ("=", "EQUAL", "`X = Y`: numbers and moments are equal by value, anything else by identity", "1, 1.0e0"),
    ("!=", "NOT_EQUAL", "`X != Y`", "1, a"),
    ("<", "LESS", "`X < Y`", "1, 1.5"),
    ("<=", "LESS_EQUAL", "`X <= Y`", "a, b"),
    (">", "GREATER", "`X > Y`", "2, 1"),
    (">=", "GREATER_EQUAL", "`X >= Y`", "b, b"),
]:
    _COMPARISON(_name, of="any, any", summary=_summary, operator=_symbol, examples=[(f"{_name}({_example})", "true")])(
        partial(compare, _symbol)
    )


for _name, _truth in (("TRUE", True), ("FALSE", False)):
    _COMPARISON(
        _name, of="", summary=f"is always {_name.lower()}; in a body it is written with or without brackets",
        examples=[(f"{_name}()", _name.lower())],
    )(partial(bool, _truth))  # fmt: skip


for _name, _symbol, _which in (("MAX", "<", "greater"), ("MIN", ">", "lesser")):
    declare(
        _name, chapter="Comparison", of="any, any", gives="any", raw=True,
        summary=f"the {_which} of two values by order; of equal ones the first",
        examples=[(f"{_name}(1, 2.5)", "2.5" if _name == "MAX" else "1"), (f"{_name}(1, a)", None)],
    )(partial(lambda symbol, left, right: right if compare(symbol, left, right) else left, _symbol))  # fmt: skip


@_COMPARISON(
    "EXACT_EQUAL", of="any, any", summary="both are the same constant",
    examples=[("EXACT_EQUAL(1, 1.0)", "true"), ("EXACT_EQUAL(1, 1.0e0)", "false")],
)  # fmt: skip
def _exact_equal(left: Value, right: Value) -> bool:
    return identity(left) == identity(right)


@_COMPARISON(
    "NOT_EXACT_EQUAL", of="any, any", summary="they are different constants",
    examples=[("NOT_EXACT_EQUAL(1, 1.0e0)", "true")],
)  # fmt: skip
def _not_exact_equal(left: Value, right: Value) -> bool:
    return identity(left) != identity(right)


@_COMPARISON(
    "SAME_TYPE", of="any, any", summary="both have the same datatype",
    examples=[("SAME_TYPE(1, 2)", "true"), ("SAME_TYPE(1, a)", "false")],
)  # fmt: skip
def _same_type(left: Value, right: Value) -> bool:
    return datatype_of(left) == datatype_of(right)


@_COMPARISON(
    HAS_VALUE, of="any", summary="the expression has a value; `ADD(X, Y, _)` is short for `HAS_VALUE(X + Y)`",
    examples=[("HAS_VALUE(1 + 1)", "true"), ("HAS_VALUE(1 / 0)", None)],
)  # fmt: skip
def _has_value(_: Value) -> bool:
    return True


@_BOOLEAN(
    "func:not", "BOOLEAN_NOT", of="boolean", gives="boolean", summary="the other boolean",
    examples=[("func:not(true)", "false"), ("func:not(1)", None)],
)  # fmt: skip
def _not(value: bool) -> bool:
    return not value


for _symbol, _rif, _iris, _summary, _example in [
    ("=", "boolean-equal", "BOOLEAN_EQUAL", "the booleans are equal", "true, true"),
    ("!=", "boolean-not-equal", "BOOLEAN_NOT_EQUAL", "the booleans differ", "true, false"),
    ("<", "boolean-less-than", "BOOLEAN_LESS", "false comes before true", "false, true"),
    ("<=", "boolean-less-than-or-equal", "BOOLEAN_LESS_EQUAL", "not greater", "true, true"),
    (">", "boolean-greater-than", "BOOLEAN_GREATER", "true comes after false", "true, false"),
    (">=", "boolean-greater-than-or-equal", "BOOLEAN_GREATER_EQUAL", "not less", "true, false"),
]:
    _BOOLEAN(
        f"pred:{_rif}", _iris, of="boolean, boolean", gives="boolean", summary=_summary,
        examples=[(f"pred:{_rif}({_example})", "true"), (f"pred:{_rif}(1, 1)", None)],
    )(partial(compare, _symbol))  # fmt: skip
