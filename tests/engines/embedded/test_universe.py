"""Every constant gets one code, equal constants the same, different ones different codes, and comes back as it was."""

from __future__ import annotations

import math
from decimal import Decimal
from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from corollary.engines.embedded.values.expressions import compute_column
from corollary.engines.embedded.values.ordering import Ordering
from corollary.engines.embedded.values.universe import Universe
from corollary.planning import Compute
from corollary.program import (
    Constant,
    EvaluationError,
    FunctionTerm,
    Iri,
    ListTerm,
    Literal,
    Structure,
    Value,
    Variable,
    canonical,
    compare,
    identity,
)

decimals = st.decimals(allow_nan=False, allow_infinity=False, places=3, min_value=-(10**6), max_value=10**6)
simple = st.one_of(
    st.integers(-3, 3),
    st.integers(),
    decimals,
    st.sampled_from([0.0, -0.0, 1.0, 2.0, 1.5, math.inf, -math.inf, math.nan]),
    st.floats(),
    st.booleans(),
    st.text(max_size=12),
    st.sampled_from(["a", "b", "", "1", "true"]),
    st.builds(Iri, st.sampled_from(["a", "b", "http://example.org/x"])),
    st.builds(Literal, st.text(max_size=5), st.just("http://example.org/type"), st.sampled_from([None, "en", "fr"])),
)
values = simple | st.builds(Structure, st.sampled_from("fg"), st.tuples(simple)) | st.tuples(simple, simple)


@given(st.lists(values, max_size=40))
def test_codes_are_the_identity_of_constants(constants: list[Value]) -> None:
    universe = Universe()
    codes = [universe.encode(constant) for constant in constants]
    assert universe.encode_values(constants).tolist() == codes
    for code, constant in zip(codes, constants, strict=True):
        assert identity(universe.value(code)) == identity(as_known(constant))
    distinct = {Constant(as_known(constant)) for constant in constants}
    assert len(set(codes)) == len(distinct)
    parts = {Constant(part) for constant in constants for part in parts_of(constant)}
    assert len(distinct | parts) == universe.size


def as_known(constant: Value) -> Value:
    """The representative of a constant, made of those of its parts."""
    if isinstance(constant, Structure):
        return Structure(constant.name, tuple(map(canonical, constant.arguments)))
    return tuple(map(canonical, constant)) if isinstance(constant, tuple) else canonical(constant)


def parts_of(constant: Value) -> tuple[Value, ...]:
    inside = constant.arguments if isinstance(constant, Structure) else constant
    return inside if isinstance(inside, tuple) else ()


def test_a_term_that_was_made_of_codes_is_the_term_of_its_value() -> None:
    universe = Universe()
    numbers = universe.encode_integers(np.arange(5))
    column = {"X": numbers, "T": np.full(5, universe.encode((7, "b")), np.uint32)}
    pattern = ListTerm((FunctionTerm("f", (Variable("X"),)), Variable("X")), Variable("T"))
    codes, valid = compute_column(Compute("R", pattern), column, 5, universe)
    assert valid.all()
    for number, code in enumerate(codes.tolist()):
        expected = (Structure("f", (number,)), number, 7, "b")
        assert universe.encode(expected) == code
        assert universe.value(code) == expected


def test_a_deep_term_is_put_together_without_recursion() -> None:
    universe = Universe()
    universe.deepest = 4000
    codes = universe.encode_integers(np.zeros(1, np.int64))
    for _ in range(3000):
        codes, _ = compute_column(Compute("R", FunctionTerm("s", (Variable("X"),))), {"X": codes}, 1, universe)
    value: Value = universe.value(int(codes[0]))
    for _ in range(3000):
        assert isinstance(value, Structure)
        (value,) = value.arguments
    assert value == 0


@given(st.lists(st.integers(-(2**63), 2**63 - 1), max_size=200), st.lists(st.text(max_size=20), max_size=200))
def test_whole_columns_get_the_same_codes_as_single_values(integers: list[int], texts: list[str]) -> None:
    universe = Universe()
    codes = universe.encode_integers(np.array(integers, np.int64))
    assert codes.tolist() == [universe.encode(value) for value in integers]
    assert universe.encode_values(texts).tolist() == [universe.encode(text) for text in texts]
    data, offsets = universe.text_column(universe.encode_values(texts))
    assert [data[a:b].tobytes().decode() for a, b in pairwise(offsets)] == texts


@given(st.lists(simple, min_size=2, max_size=12))
def test_kind_and_rank_compare_as_the_language_does(constants: list[Value]) -> None:
    universe = Universe()
    ordering = Ordering(universe)
    for half in (constants[: len(constants) // 2], constants):  # the ordering follows a universe that grows
        codes = [universe.encode(constant) for constant in half]
        kinds, ranks = ordering.arrays(texts=True)
        for left, a in zip(half, codes, strict=True):
            for right, b in zip(half, codes, strict=True):
                comparable = kinds[a] == kinds[b] != 0
                try:
                    assert (comparable and ranks[a] < ranks[b]) == compare("<", canonical(left), canonical(right))
                except EvaluationError:
                    assert not comparable


def test_ten_thousand_growing_strings_survive_the_growth_of_the_universe() -> None:
    universe = Universe()
    texts = [f"thing number {number}" for number in range(10_000)]
    codes = universe.encode_values(texts)
    assert universe.values(codes.tolist()) == texts
    assert universe.encode(Decimal("7.0")) == universe.encode(7)
