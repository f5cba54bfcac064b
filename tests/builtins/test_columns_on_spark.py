"""Whole rules with built-ins in distributed rounds: rows that Spark computes itself, rows that tasks compute, new constants."""

from __future__ import annotations

import pytest

from corollary import KnowledgeBase, ProgramError
from corollary.engines.spark.context import SparkSettings
from corollary.language import parse_program
from corollary.program import Constant
from tests.oracle import evaluate
from tests.services.spark_session import shared_session

pytestmark = [pytest.mark.spark, pytest.mark.compiled_plans]

MIXED = """
    v(1). v(-7). v(2305843009213693951). v(1.5). v(2.5e0). v(abc). v("straße"). v("a\\tb"). v(true). v([1]).
"""
PROGRAMS = {
    "some rows leave Spark": MIXED + "out(X, Y) :- v(X), Y = X + 1, not Y > 100.",
    "no value under negation": MIXED + "w(0). out(X, 0) :- v(X), not w(X - 1).",
    "new strings": MIXED + "out(X, Y) :- v(X), Y = upper(X).  again(Y, Z) :- out(_, Y), Z = concat(Y, Y).",
    "strings of numbers": MIXED + "out(X, Y) :- v(X), Y = xsd:string(X).",
    "two texts": MIXED + 'out(X, Y) :- v(X), v(Y), pred:contains(X, Y), not pred:matches(X, "^b").',
    "a step that tasks do": MIXED + 'out(X, Y) :- v(X), N = length(X), N < 5, Y = func:replace(X, "b", "c").',
    "recursion": 'out(0, "a"). out(N, T) :- out(M, S), M < 4, N = M + 1, T = concat(S, "b"), length(T) < 5.',
}
SETTINGS = SparkSettings(partitions=2, strategy="rounds")


LONG = ("new strings", "two texts")


@pytest.mark.parametrize("name", [pytest.param(name, marks=[pytest.mark.slow] * (name in LONG)) for name in PROGRAMS])
def test_rules_in_rounds_give_what_the_oracle_gives(name: str) -> None:
    kb = KnowledgeBase(PROGRAMS[name], engine=shared_session(), spark_settings=SETTINGS)
    for predicate, expected in evaluate(parse_program(PROGRAMS[name])).items():
        assert {tuple(map(Constant, row)) for row in kb.facts(predicate).constants()} == expected, predicate


@pytest.mark.slow
def test_constants_whose_hashes_collide_keep_apart() -> None:
    texts = [f"t{number}" for number in range(40)]
    narrow = SparkSettings(partitions=2, strategy="rounds", hash_bits=8)
    kb = KnowledgeBase("out(X, Y) :- v(X), Y = upper(X).", engine=shared_session(), spark_settings=narrow)
    kb.insert("v", [(text,) for text in texts])
    assert set(kb.facts("out").constants()) == {(text, text.upper()) for text in texts}


def test_an_expression_without_a_value_stops_the_run_where_it_should() -> None:
    kb = KnowledgeBase(
        "r1: out(X, Y) :- v(X), Y = 10 div X. v(1). v(0).",
        engine=shared_session(),
        spark_settings=SETTINGS,
        on_error="stop",
    )
    with pytest.raises(ProgramError, match="10 div X has no value: division by zero"):
        kb.facts("out")
