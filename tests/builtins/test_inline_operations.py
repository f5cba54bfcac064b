"""Computations on ids of numbers inside them give what the universe gives, and leave to it what is none."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from corollary.engines.spark.algebra.values import MINTED, ValueStage
from corollary.engines.spark.terms.ids import NO_COLLISIONS, ids_of
from corollary.language import parse_program
from corollary.planning import normalise
from corollary.program import Value

FACTS: list[Value] = [0, 1, -1, 7, -7, 100, 2**60, -(2**61), 2**61 - 1]
DOUBLES: list[Value] = [0.0, 1.0, -1.0, 7.5, 1e-70, 1e70, 0.1, 2.0**53, -3.25]


def stage(rule: str) -> ValueStage:
    (parsed,) = parse_program(rule).rules
    body = normalise(parsed).body
    operations = (*body.computes, *body.compares)
    names = sorted({name for one in operations for name in one.inputs} | {one.variable for one in body.computes})
    outputs = tuple(name for name in names)
    return ValueStage(operations, {name: name for name in names}, (), outputs, NO_COLLISIONS)


@pytest.mark.parametrize(
    "rule",
    [
        "p(Y) :- n(X), Y = X + 1.",
        "p(Y) :- n(X), Y = X * X - 3.",
        "p(Y) :- n(X), Y = X div 3, Y != 0.",
        "p(Y) :- n(X), Y = X % 3, not Y > 0.",
        "p(X) :- n(X), X * 2 < 10.",
        "p(X) :- n(X), X / 2 = 0.5.",
        "p(Y) :- n(X), Y = 100 / X.",
        "p(X) :- n(X), X > -1.5e0.",
        "p(X) :- n(X), X = abs(X).",
        "p(X) :- n(X), pred:is-literal-byte(X).",
        "p(Y) :- n(X), Y = X, Y < 5.",
        "p(Y) :- n(X), Y = X * 0.5e0, Y < 4.",
        "p(Y) :- n(X), Y = X + 0.1e0, X != 0.",
        "p(Y) :- n(X), Y = X * X * 1.0e0.",
    ],
)
@pytest.mark.parametrize(
    "values", [FACTS[:6], FACTS, DOUBLES, [1, 2.5, "a", 2**70]], ids=["small", "large", "doubles", "mixed"]
)
def test_the_short_way_gives_what_the_long_way_gives(rule: str, values: list[Value]) -> None:
    one = stage(rule)
    batch = pa.RecordBatch.from_arrays([pa.array(ids_of(values))], names=["X"])
    if len({type(value) for value in values}) > 1:
        assert one._of_inline(batch) is None
        return
    short, long = one._of_inline(batch), one._run(batch)
    if short is not None:
        assert short.drop_columns([MINTED]).equals(long.drop_columns([MINTED]))
        assert not long.column(MINTED).drop_null()


def test_what_is_beyond_an_id_goes_the_long_way() -> None:
    batch = pa.RecordBatch.from_arrays([pa.array(ids_of([2**61 - 1]))], names=["X"])
    assert stage("p(Y) :- n(X), Y = X + 1.")._of_inline(batch) is None
    assert stage("p(Y) :- n(X), Y = X - 1.")._of_inline(batch) is not None
    assert stage("p(Y) :- n(X), Y = X / 2.")._of_inline(batch) is None
    large = pa.RecordBatch.from_arrays([pa.array(ids_of([1e70]))], names=["X"])
    assert stage("p(Y) :- n(X), Y = X * X.")._of_inline(large) is None
    assert stage("p(Y) :- n(X), Y = X + X.")._of_inline(large) is not None
    assert stage("p(Y) :- n(X), Y = X * -0.0e0.")._of_inline(large) is None
    assert np.array_equal(ids_of([3]), np.array([12]))
