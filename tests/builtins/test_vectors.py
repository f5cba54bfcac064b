"""Whole columns give what the definitions give value by value, whatever kinds of constants meet."""

from __future__ import annotations

import random

import pytest

from corollary.engines.embedded.expressions import compute_column, holds_column
from corollary.engines.embedded.universe import Universe
from corollary.planning import Compare, Compute
from corollary.program import (
    Arithmetic,
    Constant,
    EvaluationError,
    FunctionTerm,
    Term,
    Value,
    Variable,
    compare,
    evaluate_term,
    variables_of,
)
from corollary.program.builtins import BUILTINS, Builtin
from tests.builtins.values import POOL

ROWS = 40
INTEGERS = [value for value in POOL if type(value) is int]
STRINGS = [value for value in POOL if type(value) is str]
NUMBERS = [value for value in POOL if type(value) in (int, float)]


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
    for pool in (small, large, INTEGERS, NUMBERS, POOL):
        check(term, [{"A": draw.choice(pool), "B": draw.choice(pool)} for _ in range(ROWS)])
