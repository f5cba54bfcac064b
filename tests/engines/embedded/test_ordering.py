"""Ranks compare as the exact values do, also when constants come one after the other."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corollary.engines.embedded.values import ordering as ordering_of_constants
from corollary.engines.embedded.values.ordering import NUMBER, Ordering
from corollary.engines.embedded.values.universe import Universe
from corollary.program import EvaluationError, Iri, Literal
from corollary.program.arithmetic import compare
from corollary.program.values import XSD
from tests.budgets import examples

numbers = st.one_of(
    st.integers(-5, 5),
    st.integers(2**53 - 2, 2**53 + 3),
    st.integers(2**63 - 2, 2**64 + 1),
    st.just(10**400),
    st.sampled_from([0.1, 0.5, -0.0, 2.0**53, 2.0**63, float("inf"), float("-inf")]),
    st.sampled_from(["0.1", "0.5", "2.50", "0.10000000000000001", "9007199254740993", "-7.25"]).map(Decimal),
)


def exact(value: object) -> Fraction | float:
    return value if isinstance(value, float) and value in (float("inf"), float("-inf")) else Fraction(value)


@settings(max_examples=examples(300))
@given(st.lists(st.lists(numbers, max_size=6), max_size=4))
def test_ranks_compare_as_exact_values_do(batches: list) -> None:
    universe = Universe()
    ordering = Ordering(universe)
    known: dict[int, object] = {}
    for batch in batches:
        known |= {universe.encode(value): value for value in batch}
        kinds, ranks = ordering.arrays(texts=False)
        assert all(kinds[code] == NUMBER for code in known)
        for (one, left), (two, right) in product(known.items(), repeat=2):
            assert (ranks[one] < ranks[two]) == (exact(left) < exact(right))
            assert (ranks[one] == ranks[two]) == (exact(left) == exact(right))


dates = st.integers(1, 28).map(lambda day: Literal(f"2026-01-{day:02}", XSD + "date"))
moments = st.tuples(st.integers(0, 23), st.sampled_from(["Z", "+01:00", ""])).map(
    lambda one: Literal(f"2026-01-01T{one[0]:02}:00:00{one[1]}", XSD + "dateTime")
)
singles = st.sampled_from(["0.1", "2", "INF", "NaN"]).map(lambda text: Literal(text, XSD + "float"))
anything = st.one_of(numbers, dates, moments, singles, st.text("abc", max_size=3), st.text("abc", min_size=1).map(Iri))


@settings(max_examples=examples(200))
@given(st.lists(st.lists(anything, max_size=6), max_size=4), st.sampled_from([0, 64]), st.booleans())
def test_constants_that_come_later_are_put_between_those_that_were_there(batches: list, few: int, asks: bool) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ordering_of_constants, "_FEW_NEW", few)  # 0: none is ever sorted again while there is room
        universe = Universe()
        ordering = Ordering(universe)
        known: dict[int, object] = {}
        for number, batch in enumerate(batches):
            for value in batch:
                code = universe.encode(value)
                known[code] = universe.value(code)
            kinds, ranks = ordering.arrays(texts=asks or number > 0)
            if not asks and not number:
                continue
            for (one, left), (two, right) in product(known.items(), repeat=2):
                is_less = kinds[one] == kinds[two] != 0 and bool(ranks[one] < ranks[two])
                assert is_less == less(left, right), (left, right)


def less(left: object, right: object) -> bool:
    try:
        return compare("<", left, right)  # type: ignore[arg-type]
    except EvaluationError:
        return False


def test_ranks_of_neighbours_run_out_of_room_and_are_given_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ordering_of_constants, "_FEW_NEW", 0)
    universe = Universe()
    ordering = Ordering(universe)
    low, high = universe.encode("a"), universe.encode("b")
    codes = [low]
    for length in range(1, 200):
        ordering.arrays(texts=True)
        codes.append(universe.encode("a" * (length + 1)))
    for text in range(200, 1, -1):
        codes.append(universe.encode("a" + "a" * 200 + "b" * text))
        codes.append(universe.encode("a" * text + "c"))
    _, ranks = ordering.arrays(texts=True)
    texts = sorted((str(universe.value(code)), float(ranks[code])) for code in {*codes, high})
    assert [rank for _, rank in texts] == sorted({rank for _, rank in texts})
