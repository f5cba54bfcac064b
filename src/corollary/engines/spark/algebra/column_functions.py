"""Built-ins on numbers, booleans and types as column expressions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from corollary.engines.embedded.values.universe import Kind
from corollary.engines.spark.algebra.column_comparisons import numbers_compared
from corollary.engines.spark.algebra.column_term import ColumnTerm, Condition, NotAColumnError
from corollary.engines.spark.algebra.column_terms import FUNCTIONS, INLINE, ColumnTerms, Function
from corollary.engines.spark.algebra.profiles import (
    BOOLEANS,
    DECIMALS,
    DOUBLES,
    INTEGERS,
    IRIS,
    LARGE_INTEGERS,
    LITERALS,
    NUMBERS,
    STRINGS,
    TERMS,
    is_in_sql,
)
from corollary.program import Term, Variable
from corollary.program.builtins.declaration import FUNC, PRED
from corollary.program.datatypes.numbers import INTEGER_RANGES
from corollary.program.values import XSD


def _function(*names: str) -> Callable[[Function], Function]:
    def register(function: Function) -> Function:
        FUNCTIONS.update(dict.fromkeys(names, function))
        return function

    return register


def _calculation(operator: str) -> Function:
    def function(terms: ColumnTerms, arguments: Sequence[Term]) -> ColumnTerm:
        left, right = arguments
        return terms.calculated(operator, left, right)

    return function


def _comparison(operator: str) -> Function:
    def function(terms: ColumnTerms, arguments: Sequence[Term]) -> ColumnTerm:
        left, right = arguments
        return numbers_compared(terms, operator, left, right)

    return function


for _name, _sign in (("add", "+"), ("subtract", "-"), ("multiply", "*"), ("divide", "/"), ("integer-divide", "div"),
                     ("mod", "%")):  # fmt: skip
    FUNCTIONS[f"{FUNC}numeric-{_name}"] = _calculation(_sign)
for _name, _sign in (("equal", "="), ("not-equal", "!="), ("less-than", "<"), ("less-than-or-equal", "<="),
                     ("greater-than", ">"), ("greater-than-or-equal", ">=")):  # fmt: skip
    FUNCTIONS[f"{PRED}numeric-{_name}"] = _comparison(_sign)


@_function("abs")
def _abs(terms: ColumnTerms, arguments: Sequence[Term]) -> ColumnTerm:
    (argument,) = arguments
    number = terms.number(argument)
    if number.most > INLINE:
        raise NotAColumnError
    return replace(number, sql=f"abs({number.sql})")


@_function("floor", "ceiling", "round")
def _rounded(terms: ColumnTerms, arguments: Sequence[Term]) -> ColumnTerm:
    (argument,) = arguments
    return terms.number(argument)


@_function(FUNC + "not")
def _not(terms: ColumnTerms, arguments: Sequence[Term]) -> ColumnTerm:
    (argument,) = arguments
    value = terms.boolean(argument)
    return replace(value, sql=f"(NOT {value.sql})")


# -- guards ------------------------------------------------------------------------------------------------------------


def _guard(yes: int, unsure: int, ranged: tuple[int | None, int | None] | None = None) -> Function:
    """True of the classes `yes`; the class alone does not tell it of the classes `unsure`."""

    def function(terms: ColumnTerms, arguments: Sequence[Term]) -> ColumnTerm:
        (argument,) = arguments
        if not isinstance(argument, Variable):
            raise NotAColumnError
        known = terms.variables[argument.name]
        exact = (
            (Condition(f"(NOT {is_in_sql(known.column, known.classes & unsure)})"),) if known.classes & unsure else ()
        )
        if not known.classes & yes:
            return ColumnTerm(Kind.BOOLEAN, "FALSE", exact)
        tests = [] if not known.classes & ~(yes | unsure) else [is_in_sql(known.column, yes & known.classes)]
        bounds = ranged or (None, None)
        tests += [
            f"{known.column} {sign} {bound << 2}L"
            for sign, bound in zip((">=", "<="), bounds, strict=True)
            if bound is not None and abs(bound) < INLINE
        ]
        return ColumnTerm(Kind.BOOLEAN, f"({' AND '.join(tests)})" if tests else "TRUE", exact)

    return function


def _negated(guard: Function, never: int) -> Function:
    """True of values of other datatypes, and not of the classes `never`, which are none of any datatype."""

    def function(terms: ColumnTerms, arguments: Sequence[Term]) -> ColumnTerm:
        (argument,) = arguments
        found = guard(terms, arguments)
        known = terms.variables[argument.name]  # type: ignore[union-attr]
        other = f" AND NOT {is_in_sql(known.column, known.classes & never)}" if known.classes & never else ""
        return replace(found, sql=f"(NOT {found.sql}{other})")

    return function


_NEVER = IRIS | TERMS
_GUARDS = {
    "boolean": _guard(BOOLEANS, LITERALS),
    "decimal": _guard(INTEGERS | LARGE_INTEGERS | DECIMALS, LITERALS),
    "double": _guard(DOUBLES, LITERALS),
    "string": _guard(STRINGS, LITERALS),
    "PlainLiteral": _guard(STRINGS, LITERALS),
    **{
        name: _guard(INTEGERS, LITERALS | LARGE_INTEGERS, bounds)
        for name, bounds in INTEGER_RANGES.items()
        if name != "integer"
    },
    "integer": _guard(INTEGERS | LARGE_INTEGERS, LITERALS),
}
for _name, _one in _GUARDS.items():
    FUNCTIONS[f"{PRED}is-literal-{_name}"] = _one
    FUNCTIONS[f"{PRED}is-literal-not-{_name}"] = _negated(_one, _NEVER)
FUNCTIONS["IS_IRI"] = _guard(IRIS, 0)
FUNCTIONS["IS_NUMERIC"] = _guard(NUMBERS, LITERALS)


@_function(XSD + "integer")
def _to_integer(terms: ColumnTerms, arguments: Sequence[Term]) -> ColumnTerm:
    (argument,) = arguments
    return terms.number(argument, strict=True)
