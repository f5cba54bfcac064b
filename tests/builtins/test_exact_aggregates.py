"""sum, avg and median over numbers of mixed types are the numbers nearest to the exact results, however facts come and go."""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corollary import KnowledgeBase
from corollary.language import print_value
from corollary.program import Literal, Value, aggregate, canonical
from corollary.program.datatypes import single, single_of
from tests.budgets import examples

_NEAR_LIMITS = st.sampled_from((2**24, 2**53, 2**63, 2**70)).flatmap(
    lambda power: st.integers(-3, 3).map(lambda by: power + by)
)
_INTEGERS = st.one_of(st.integers(-5, 5), _NEAR_LIMITS, _NEAR_LIMITS.map(lambda number: -number), st.integers())
_DECIMALS = st.decimals(-(10**20), 10**20, allow_nan=False, places=3).map(canonical)
_DOUBLES = st.one_of(
    st.sampled_from((0.5, 0.1, -0.0, 2.0**53, 5e-324, 1.7e308, -1.7e308)),
    st.floats(allow_nan=False, allow_infinity=False),
)
_SINGLES = st.floats(allow_nan=False, allow_infinity=False, width=32).map(single)
_NUMBERS: st.SearchStrategy[Value] = st.one_of(_INTEGERS, _DECIMALS, _DOUBLES, _SINGLES)


def _exact(value: Value) -> Fraction:
    number = single_of(value) if isinstance(value, Literal) else value
    return Fraction(number)  # type: ignore[arg-type]


def _as_double(exact: Fraction) -> float:
    try:
        return float(exact)
    except OverflowError:
        return math.inf if exact > 0 else -math.inf


def _as_single(exact: Fraction) -> Value:
    """By looking at the neighbours: the nearest one, of two equally near ones the even one."""
    with np.errstate(over="ignore"):
        guess = np.float32(_as_double(exact))
        around = [np.nextafter(guess, np.float32(-np.inf)), guess, np.nextafter(guess, np.float32(np.inf))]
    finite = [one for one in around if np.isfinite(one)]
    nearest = min(finite, key=lambda one: (abs(Fraction(float(one)) - exact), int(one.view(np.uint32)) & 1))
    beyond = Fraction(float(np.finfo(np.float32).max)) + Fraction(2) ** 103
    return single(math.copysign(math.inf, exact)) if abs(exact) >= beyond else single(float(nearest))


def _rounded(exact: Fraction, values: Sequence[Value]) -> Value:
    if any(type(value) is float for value in values):
        return _as_double(exact)
    if any(isinstance(value, Literal) for value in values):
        return _as_single(exact)
    return canonical(Decimal(exact.numerator) / Decimal(exact.denominator)) if exact.denominator > 1 else int(exact)


def _same(found: Value, expected: Value) -> bool:
    """Zeros have signs; which of them a sum has is another matter."""
    return print_value(found).replace("-0.0", "0.0") == print_value(expected).replace("-0.0", "0.0")


@settings(max_examples=examples(500))
@given(st.lists(_NUMBERS, min_size=1, max_size=8))
def test_sum_and_average_are_nearest_to_the_exact_ones(values: list[Value]) -> None:
    total = sum(map(_exact, values), Fraction(0))
    has_rounding = any(isinstance(value, (float, Literal)) for value in values)
    if has_rounding:
        assert _same(aggregate("sum", values), _rounded(total, values))
    assert _same(aggregate("avg", values), _as_double(total / len(values)))


@settings(max_examples=examples(500))
@given(st.tuples(_NUMBERS, _NUMBERS))
def test_the_median_of_two_is_nearest_to_the_exact_mean(values: tuple[Value, Value]) -> None:
    if any(isinstance(value, (float, Literal)) for value in values):
        assert _same(aggregate("median", values), _rounded(sum(map(_exact, values)) / 2, values))


def _facts(groups: Sequence[tuple[int, Value]]) -> list[tuple[object, ...]]:
    return [(group, number, value) for number, (group, value) in enumerate(groups)]


def _expected(groups: Sequence[tuple[int, Value]]) -> set[tuple[int, str, str, str]]:
    by_group: dict[int, list[Value]] = {}
    for group, value in groups:
        by_group.setdefault(group, []).append(value)
    return {
        (group, *(print_value(aggregate(name, values)) for name in ("sum", "avg", "median")))  # type: ignore[misc]
        for group, values in by_group.items()
    }


_RULES = "r(G, sum(V), avg(V), median(V)) :- v(G, _N, V)."
_GROUPS = st.lists(st.tuples(st.integers(0, 2), _NUMBERS), min_size=1, max_size=8)


def _found(kb: KnowledgeBase) -> set[tuple[object, ...]]:
    return {(row[0], *map(print_value, row[1:])) for row in kb.facts("r").constants()}


@settings(max_examples=examples(100))
@given(_GROUPS, _GROUPS)
def test_engine_and_maintenance_agree_with_the_definition(
    first: list[tuple[int, Value]], then: list[tuple[int, Value]]
) -> None:
    kb = KnowledgeBase(_RULES)
    kb.insert("v", _facts(first))
    assert _found(kb) == _expected(first)
    both = [*first, *then]
    kb.insert("v", _facts(both)[len(first) :])
    assert _found(kb) == _expected(both)
    kb.delete("v", _facts(first))
    assert _found(kb) == _expected(then)


def test_the_sum_of_an_integer_beyond_53_bits_and_a_double_is_the_nearest_double() -> None:
    kb = KnowledgeBase("v(9007199254740992). v(1). v(0.5e0). s(sum(V)) :- v(V).")
    assert list(kb.facts("s")) == [(9007199254740994.0,)]


@pytest.mark.parametrize("value", ["f(1)", "[1, 2]", '"hallo"@de'])
@pytest.mark.parametrize("name", ["min", "max"])
def test_one_value_without_an_order_has_no_extreme_as_two_have_none(value: str, name: str) -> None:
    kb = KnowledgeBase(f"v(a, {value}). v(b, {value}). v(b, 1). v(c, 1). r(G, {name}(V)) :- v(G, V).")
    assert list(kb.facts("r")) == [("c", 1)]
    kb.insert("v", [("d", 2)])
    kb.delete("v", [("b", 1)])
    assert sorted(kb.facts("r")) == [("c", 1), ("d", 2)]


@pytest.mark.spark
def test_on_spark_sums_of_mixed_numbers_are_the_same() -> None:
    from tests.services.spark_session import shared_session

    numbers = [
        2**53,
        1,
        0.5,
        Decimal("0.1"),
        0.1,
        2**70 + 1,
        1e20,
        single(0.1),
        3,
        single(1e30),
        -(2**63),
        1.7e308,
        1.7e308,
    ]
    groups = [(place % 5, canonical(one)) for place, one in enumerate([*numbers, *numbers[::-1], *numbers[3:]])]
    with KnowledgeBase(_RULES + " m(G, min(V)) :- w(G, V).", engine=shared_session()) as kb:
        kb.insert("v", _facts(groups))
        kb.insert("w", [("a", (1, 2)), ("c", 1)])
        assert _found(kb) == _expected(groups)
        assert list(kb.facts("m")) == [("c", 1)]
        kb.delete("v", _facts(groups)[:7])
        assert _found(kb) == _expected(groups[7:])
