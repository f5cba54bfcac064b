"""Ranks compare as the exact values do, also when constants come one after the other."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from itertools import product

from hypothesis import given, settings
from hypothesis import strategies as st

from corollary.engines.embedded.ordering import NUMBER, Ordering
from corollary.engines.embedded.universe import Universe

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


@settings(max_examples=300)
@given(st.lists(st.lists(numbers, max_size=6), max_size=4))
def test_ranks_compare_as_exact_values_do(batches: list) -> None:
    universe = Universe()
    ordering = Ordering(universe, texts=False)
    known: dict[int, object] = {}
    for batch in batches:
        known |= {universe.encode(value): value for value in batch}
        kinds, ranks = ordering.arrays()
        assert all(kinds[code] == NUMBER for code in known)
        for (one, left), (two, right) in product(known.items(), repeat=2):
            assert (ranks[one] < ranks[two]) == (exact(left) < exact(right))
            assert (ranks[one] == ranks[two]) == (exact(left) == exact(right))
