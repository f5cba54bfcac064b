"""Whole columns give what the definitions give value by value, whatever kinds of constants meet."""

from __future__ import annotations

import random
from decimal import Decimal

import pytest

from corollary.engines.embedded.values.expressions import compute_column, holds_column
from corollary.engines.embedded.values.universe import Universe
from corollary.planning import Compare, Compute
from corollary.program import (
    Arithmetic,
    Constant,
    EvaluationError,
    FunctionTerm,
    Minus,
    Term,
    Value,
    Variable,
    compare,
    evaluate_term,
    variables_of,
)
from corollary.program.builtins import BUILTINS, Builtin
from corollary.program.builtins.declaration import FUNC, PRED
from corollary.program.datatypes import typed_value
from corollary.program.values import XSD
from tests.builtins.values import POOL

ROWS = 40
INTEGERS = [value for value in POOL if type(value) is int]
STRINGS = [value for value in POOL if type(value) is str]
NUMBERS = [value for value in POOL if type(value) in (int, float)]
_DIGITS = ("0.5", "-0.5", "1.25", "-7.75", "0.001", "2.50001", "123456789012.345678", "-99999999999999999.9", "0.1")
LONG_DIGITS = ("1234567890123456789.5", "0.0000000000000000000001", "-999999999999999999.999999")
_MOMENTS = {
    "date": ("2026-01-31", "2024-02-29Z", "2026-02-01+14:00", "1970-01-01-05:30", "0001-01-01", "9999-12-31"),
    "dateTime": (
        *("2026-01-31T12:30:45.5", "2024-02-29T23:59:59.999999Z", "2026-02-01T00:00:00+14:00", "1969-12-31T00:00:01Z"),
        *("2026-02-01T01:00:00+13:00", "2026-01-31T12:30:45.05-05:00", "2000-03-01T00:00:00.0000010"),
    ),
    "time": ("00:00:00", "23:59:59.5Z", "12:00:00+01:00", "11:00:00Z", "01:02:03.000004-14:00"),
}
_FAR = {"date": "-0044-03-15", "dateTime": "12026-01-31T12:30:45.1234567", "time": "12:00:00.0000001"}
_DAYS = ("P1D", "-PT36H", "PT0.5S", "PT0S", "P400D", "PT0.0000001S", "P4000000D")
DECIMALS: list[Value] = [Decimal(digits) for digits in _DIGITS]
EXACT: list[Value] = [*DECIMALS, 0, 2, -3, 10**6, 1 << 62]


def check(term: Term, rows: list[dict[str, Value]]) -> None:
    universe = Universe()
    names = sorted({variable.name for variable in variables_of(term)})
    columns = {name: universe.encode_values([row[name] for row in rows]) for name in names}
    codes, valid = compute_column(Compute("R", term), columns, len(rows), universe)
    for place, row in enumerate(rows):
        found = Constant(universe.value(int(codes[place]))) if valid[place] else None
        assert found == value(term, row), row
    for operator, right in (("=", True), ("<", "abc"), ("!=", 1), (">=", 1.5)):
        for negated in (False, True):
            test = Compare(operator, term, Constant(right), negated)
            holds = holds_column(test, columns, len(rows), universe)
            assert holds.tolist() == [does_hold(test, row) is not negated for row in rows]


def value(term: Term, row: dict[str, Value]) -> Constant | None:
    try:
        return Constant(evaluate_term(term, row))
    except EvaluationError:
        return None


def does_hold(test: Compare, row: dict[str, Value]) -> bool:
    assert isinstance(test.right, Constant)
    try:
        return compare(test.operator, evaluate_term(test.left, row), test.right.value)
    except EvaluationError:
        return False


@pytest.mark.parametrize("builtin", BUILTINS.values(), ids=lambda builtin: builtin.shown)
def test_a_built_in_on_columns_is_the_built_in_on_values(builtin: Builtin) -> None:
    draw = random.Random(builtin.name)
    counts = {builtin.parameters.required, min(len(builtin.parameters.types), builtin.parameters.required + 1)}
    for count in counts - {0}:
        for pool in (POOL, STRINGS if "string" in builtin.parameters.types else NUMBERS):
            places = [Variable(f"V{place}") for place in range(count)]
            fixed = [
                Constant(draw.choice(pool)) if place and draw.random() < 0.6 else one
                for place, one in enumerate(places)
            ]
            rows = [{one.name: draw.choice(pool) for one in places} for _ in range(ROWS)]
            check(FunctionTerm(builtin.name, tuple(fixed)), rows)


@pytest.mark.parametrize("operator", ["+", "-", "*", "/", "div", "%"])
def test_arithmetic_on_columns_is_arithmetic_on_values(operator: str) -> None:
    draw = random.Random(operator)
    small, large = [[draw.randint(-size, size) for _ in range(20)] for size in (50, 10**12)]
    term = Arithmetic(operator, Variable("A"), Variable("B"))
    beyond = [*EXACT, *map(Decimal, LONG_DIGITS), 0.5, 1e20, 0.1, float("nan")]
    for pool in (small, large, INTEGERS, NUMBERS, POOL, DECIMALS, EXACT, beyond):
        check(term, [{"A": draw.choice(pool), "B": draw.choice(pool)} for _ in range(ROWS)])
        fixed = Arithmetic(operator, Variable("A"), Constant(draw.choice(pool)))
        check(fixed, [{"A": draw.choice(pool)} for _ in range(ROWS)])


@pytest.mark.parametrize("name", ["abs", "floor", "ceiling", "round", XSD + "string", XSD + "integer", XSD + "double"])
def test_functions_of_decimals_on_columns_are_those_on_values(name: str) -> None:
    draw = random.Random(name)
    half = Arithmetic("/", Variable("A"), Constant(2))
    for argument in (Variable("A"), half, Minus(Arithmetic("*", Variable("A"), Constant(Decimal("1.5"))))):
        check(FunctionTerm(name, (argument,)), [{"A": draw.choice(EXACT)} for _ in range(ROWS)])


@pytest.mark.parametrize("name", ["integer", "decimal", "string"])
def test_a_computed_decimal_may_be_an_integer(name: str) -> None:
    half = Arithmetic("/", Variable("A"), Constant(2))
    check(FunctionTerm(f"{PRED}is-literal-{name}", (half,)), [{"A": number} for number in (1, 2, 3, 4, 0)])


@pytest.mark.parametrize("operator", ["=", "!=", "<", "<=", ">", ">="])
def test_decimals_are_compared_on_columns_as_on_values(operator: str) -> None:
    draw = random.Random(operator)
    for pool in (DECIMALS, EXACT, [*EXACT, 0.5, 1.25, 0.1, -7.75, float("inf"), float("nan")]):
        rows = [{"A": draw.choice(pool), "B": draw.choice(pool)} for _ in range(ROWS)]
        universe = Universe()
        columns = {name: universe.encode_values([row[name] for row in rows]) for name in "AB"}
        found = holds_column(Compare(operator, Variable("A"), Variable("B")), columns, ROWS, universe)
        assert found.tolist() == [compare(operator, row["A"], row["B"]) for row in rows]


def moments(name: str) -> list[Value]:
    return [typed_value(lexical, XSD + name) for lexical in _MOMENTS[name]]


@pytest.mark.parametrize("name", _MOMENTS)
@pytest.mark.parametrize("operator", ["=", "!=", "<", "<=", ">", ">="])
def test_moments_are_compared_on_columns_as_on_values(name: str, operator: str) -> None:
    draw = random.Random(operator + name)
    far = [*moments(name), typed_value(_FAR[name], XSD + name)]
    for pool, others in ((moments(name), moments(name)), (far, far), (moments(name), moments("date")), (far, POOL)):
        rows = [{"A": draw.choice(pool), "B": draw.choice(others)} for _ in range(ROWS)]
        universe = Universe()
        columns = {name: universe.encode_values([row[name] for row in rows]) for name in "AB"}
        test = Compare(operator, Variable("A"), Variable("B"))
        found = holds_column(test, columns, ROWS, universe)
        assert found.tolist() == [are(operator, row["A"], row["B"]) for row in rows]
        check(FunctionTerm("HAS_VALUE", (Variable("A"),)), [{"A": row["A"]} for row in rows])


def are(operator: str, left: Value, right: Value) -> bool:
    try:
        return compare(operator, left, right)
    except EvaluationError:
        return False


@pytest.mark.parametrize("name", _MOMENTS)
def test_functions_of_moments_on_columns_are_those_on_values(name: str) -> None:
    draw = random.Random(name)
    far = [*moments(name), typed_value(_FAR[name], XSD + name)]
    one, other = Variable("A"), Variable("B")
    for pool in (moments(name), far, [*far, *moments("dateTime"), "abc"]):
        rows = [{"A": draw.choice(pool), "B": draw.choice(pool)} for _ in range(ROWS)]
        for part in ("year", "month", "day", "hours", "minutes", "seconds", "timezone"):
            if f"{FUNC}{part}-from-{name}" in BUILTINS:
                check(FunctionTerm(f"{FUNC}{part}-from-{name}", (one,)), rows)
        check(FunctionTerm(f"{FUNC}subtract-{name}s", (one, other)), rows)
        check(FunctionTerm(f"{PRED}{name}-less-than", (one, Constant(pool[0]))), rows)
        for days in _DAYS:
            by = Constant(typed_value(days, XSD + "dayTimeDuration"))
            check(FunctionTerm(f"{FUNC}add-dayTimeDuration-to-{name}", (one, by)), rows)
            check(FunctionTerm(f"{FUNC}subtract-dayTimeDuration-from-{name}", (one, by)), rows)
