"""The setting `precision`: how many significant bits of doubles comparisons use."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from corollary import KnowledgeBase, ProgramError
from corollary.analysis import analyse
from corollary.analysis.meaning import Meaning
from corollary.engines.embedded.values.universe import Kind
from corollary.engines.embedded.values.vector_functions import KERNELS
from corollary.engines.embedded.values.vectors import Vector, constant_vector
from corollary.engines.spark.context import SparkSettings
from corollary.language import parse_program
from corollary.program import Program
from corollary.program.builtins import BUILTINS
from corollary.settings import ALL_BITS
from tests.budgets import examples
from tests.oracle.well_founded import well_founded
from tests.semantics.following import Facts, State, follow, rows, states
from tests.services.spark_session import shared_session

NEAR = "p(0.3e0). p(3). p(3.0000001e0). p(2.9999999). p(nearly)."
SIGNS = ("=", "!=", "<", "<=", ">", ">=")


def facts(text: str, predicate: str = "q", **options: Any) -> list[tuple[Any, ...]]:
    return sorted(KnowledgeBase(text, **options).facts(predicate), key=repr)


def test_doubles_are_rounded_before_they_are_compared() -> None:
    rule = "q(X) :- p(X), X = 0.1e0 + 0.2e0."
    assert facts(f"{NEAR} {rule}") == []
    assert facts(f"{NEAR} {rule}", precision=50) == [(0.3,)]


def test_integers_and_decimals_keep_their_value() -> None:
    rule = "q(X) :- p(X), X = 3."
    assert facts(f"{NEAR} {rule}") == [(3,)]
    assert facts(f"{NEAR} {rule}", precision=20) == [(3,), (3.0000001,)]
    assert facts("p(16777217). p(16777217.0e0). q(X) :- p(X), X = 16777216.", precision=24) == [(16777217.0,)]


def test_a_single_is_rounded_too() -> None:
    text = 'p("1.0009766"^^xsd:float). p("1.125"^^xsd:float). q(1) :- p(X), X = 1. q(2) :- p(X), X > 1.'
    assert facts(text) == [(2,)]
    assert facts(text, precision=8) == [(1,), (2,)]
    assert facts(text, precision=3) == [(1,)]


@pytest.mark.parametrize(
    ("value", "bits", "rounded"),
    [
        (9.0, 3, 8.0),
        (11.0, 3, 12.0),
        (-0.0, 1, -0.0),
        (math.inf, 1, math.inf),
        (1.7976931348623157e308, 52, math.inf),
        (-1.7976931348623157e308, 1, -math.inf),
        (5e-324, 1, 5e-324),
        (3e-323, 1, 4e-323),
        (0.1, ALL_BITS, 0.1),
    ],
)
def test_half_goes_to_the_even_one_the_largest_to_infinity_and_zero_stays(
    value: float, bits: int, rounded: float
) -> None:
    assert repr(BUILTINS["ROUND_TO_BITS"].apply(value, bits)) == repr(rounded)


@given(st.lists(st.floats(), min_size=1), st.integers(1, ALL_BITS))
@example([-0.0, 0.0, math.nan, math.inf, 5e-324, 1.7976931348623157e308], 3)
def test_whole_columns_are_rounded_as_single_values_are(values: list[float], bits: int) -> None:
    column = Vector(Kind.DOUBLE, np.array(values, np.float64))
    found = KERNELS["ROUND_TO_BITS"]([column, constant_vector(bits, len(values))])
    one_by_one = [BUILTINS["ROUND_TO_BITS"].apply(value, bits) for value in values]
    assert list(map(repr, found.values.tolist())) == list(map(repr, one_by_one))


@pytest.mark.parametrize("sign", SIGNS)
def test_every_way_to_write_a_comparison_is_rounded(sign: str) -> None:
    words = dict(zip(SIGNS, ("EQUAL", "NOT_EQUAL", "LESS", "LESS_EQUAL", "GREATER", "GREATER_EQUAL"), strict=True))
    names = ("equal", "not-equal", "less-than", "less-than-or-equal", "greater-than", "greater-than-or-equal")
    predicate = f"pred:numeric-{dict(zip(SIGNS, names, strict=True))[sign]}"
    start = "p(0.3e0). p(0.3000000000000001e0). p(0.5e0). q(X) :- p(X), "
    expected = facts(f"{start} X {sign} 0.1e0 + 0.2e0.", precision=40)
    assert expected != facts(f"{start} X {sign} 0.1e0 + 0.2e0.")
    for other in (f"{words[sign]}(X, 0.1e0 + 0.2e0)", f"NUMERIC_{words[sign]}(X, 0.1e0 + 0.2e0)",
                  f"{predicate}(X, 0.1e0 + 0.2e0)", f"not func:not({predicate}(X, 0.1e0 + 0.2e0)) = true",
                  f"B = {predicate}(X, 0.1e0 + 0.2e0), B = true"):  # fmt: skip
        assert facts(f"{start} {other}.", precision=40) == expected, other


def test_joins_terms_and_given_values_are_as_they_are() -> None:
    """What a variable is, is no comparison: no bit of it gets lost."""
    near = "p(1.0e0). r(1.0000001e0). l([1.0000001e0]). l(f(1.0000001e0))."
    assert facts(f"{near} q(X) :- p(X), r(X).", precision=5) == []
    assert facts(f"{near} q(X) :- p(X), not r(X).", precision=5) == [(1.0,)]
    assert facts(f"{near} q(X) :- p(X), l([X]). q(X) :- p(X), l(L), L = f(X).", precision=5) == []
    assert facts(f"{near} q(X) :- r(Y), X = Y.", precision=5) == [(1.0000001,)]
    assert facts(f"{near} q(X) :- p(Y), r(Z), Y = Z, X = Z, X = Y.", precision=5) == [(1.0000001,)]
    assert facts(f"{near} q(X) :- r(Y), X + 1 = Y.", precision=5) == [(1.0000001 - 1,)]


def test_comparisons_inside_aggregations_and_queries_are_rounded() -> None:
    text = "p(0.3e0). p(0.1e0). q(N) :- AGGREGATE(p(X), X < 0.1e0 + 0.2e0) WITH count(X) AS N."
    assert facts(text) == [(2,)]
    assert facts(text, precision=40) == [(1,)]
    kb = KnowledgeBase("p(0.3e0). p(0.1e0).", precision=40)
    assert list(kb.query("p(X), X >= 0.1e0 + 0.2e0")) == [(0.3,)]
    assert list(KnowledgeBase(kb.program).query("p(X), X >= 0.1e0 + 0.2e0")) == []


def test_a_rounded_comparison_separates_no_facts() -> None:
    text = "p(X, Y) :- e(X, Y), X = 3, not p(3.0000001e0, Y). e(3, 1)."
    assert facts(text, "p") == [(3, 1)]
    with pytest.raises(ProgramError, match="E203"):
        KnowledgeBase(text, precision=20)


def test_the_bits_are_no_constant_of_the_universe() -> None:
    text = "q(X) :- not p(X), X < 4. p(1). r(2)."
    assert facts(text, unsafe="universe", precision=3) == [(2,)]
    assert facts(text, unsafe="universe", precision=3) == facts(text, unsafe="universe")


def test_rounded_rules_are_answered_on_demand() -> None:
    text = "e(0.1e0, 0.3e0). e(0.3e0, 0.5e0). t(X, Y) :- e(X, Y). t(X, Z) :- t(X, Y), e(V, Z), V = Y + 0.1e0 - 0.1e0."
    kb = KnowledgeBase(text, precision=45)
    query = kb.parse_query("t(0.1e0, X), X > 0.1e0 + 0.2e0")
    assert kb.is_on_demand(query, "demand")
    assert list(kb.query(query, mode="demand")) == list(kb.query(query, mode="materialise")) == [(0.5,)]
    assert "ROUND_TO_BITS" in kb.demanded(query).text()


def test_errors_stop_as_they_do_without() -> None:
    with pytest.raises(ProgramError, match="division by zero"):
        facts("p(0). q(X) :- p(X), 1 / X < 2.0e0.", precision=20, on_error="stop")


def test_the_rules_of_a_user_stay_as_they_are_written(tmp_path: Path) -> None:
    KnowledgeBase.create(
        tmp_path / "kb", "p(0.3e0). big: q(X) :- p(X), X = 0.30000000000000004e0.", precision=40
    ).close()
    kb = KnowledgeBase.open(tmp_path / "kb")
    assert kb.settings.precision == 40
    assert [rule.text for rule in kb.rules()] == ["q(X) :- p(X), X = 0.30000000000000004e0."]
    kb.insert("p", [(0.30000000000000007,)])
    kb.remove_rules("q(Y) :- p(Y), Y = 0.30000000000000004e0.")
    kb.add_rules("q(X) :- p(X), X != 0.30000000000000004e0.")
    kb.insert("p", [(0.7,)])
    assert list(kb.facts("q")) == [(0.7,)]


# -- generated programs ------------------------------------------------------------------------------------------------

VALUES = (
    "1", "1.0e0", "1.0000001e0", "1.01e0", "0.99e0", "1.5", "1.5e0", "2", "2.1e0", '"1.01"^^xsd:float', "a", "-1.3e0"
)  # fmt: skip
FACTS = tuple(f"{name}({value})" for name in ("p", "r") for value in VALUES)
SIDES = st.sampled_from(("X", "Y", "X + Y", "X * 1.001e0", *VALUES))
COMPARISONS = st.builds("{1} {0} {2}".format, st.sampled_from(SIGNS), SIDES, SIDES)


@st.composite
def rules(draw: st.DrawFn) -> str:
    """A comparison or two, some of them under negation; some equalities give a variable its value."""
    body = [draw(st.sampled_from(("p(X), r(Y)", "p(X), Y = X", "p(X), X = Y", "p(X), Y + 1.0e0 = X", "q(X), r(Y)")))]
    body += draw(st.lists(COMPARISONS, min_size=1, max_size=2))
    body += [f"not {draw(COMPARISONS)}"] if draw(st.booleans()) else []
    body += ["not s(X)"] if draw(st.integers(0, 3)) == 0 else []
    return f"{draw(st.sampled_from(('q', 'q', 's')))}({draw(st.sampled_from('XY'))}) :- {', '.join(body)}"


@given(st.lists(rules(), min_size=1, max_size=3).flatmap(lambda found: states(FACTS, found, 2)), st.integers(1, 53))
@example([State(("p(1.0e0)", "r(1.0000001e0)"), {"r1": "q(Y) :- p(X), r(Y), X = Y"}), State((), {})], 20)
@settings(max_examples=examples(60))
def test_every_state_is_what_the_oracle_says(found: list[State], bits: int) -> None:
    meaning = Meaning(precision=bits)
    assume(all(not analyse(parse_program(state.text)).under(meaning).errors for state in found))

    def true_facts(program: Program) -> Facts:
        return well_founded(program, precision=bits)[0]

    follow(found, true_facts, precision=bits)


@given(st.lists(rules(), min_size=1, max_size=3), st.lists(st.sampled_from(FACTS), unique=True), st.integers(1, 52))
@settings(max_examples=examples(30))
def test_well_founded_facts_are_what_the_oracle_says(found: list[str], stated: list[str], bits: int) -> None:
    text = "\n".join(f"{one}." for one in (*stated, *found, "s(X) :- p(X), r(Y), X < Y, not s(Y)"))
    kb = KnowledgeBase(text, precision=bits, semantics="well-founded")
    true, undefined = well_founded(parse_program(text), precision=bits)
    for name in ("q", "s"):
        assert rows(kb.facts(name)) == true.get(name, set()), text
        assert rows(kb.undefined(name)) == undefined.get(name, set()), text


@pytest.mark.spark
def test_spark_rounds_as_well() -> None:
    text = "\n".join(f"{fact}." for fact in FACTS) + "q(X, Y) :- p(X), r(Y), X = Y, not Y >= 1.51e0."
    expected = well_founded(parse_program(text), precision=6)[0]["q"]
    assert len(expected) > len(well_founded(parse_program(text))[0]["q"])
    options = {"engine": shared_session(), "spark_settings": SparkSettings(strategy="rounds")}
    with KnowledgeBase(text, precision=6, updates=False, **options) as kb:
        assert rows(kb.facts("q")) == expected
