"""Comparisons of numbers before they get codes change how long a rule takes, and nothing else."""

from __future__ import annotations

import math
from decimal import Decimal

import pytest

from corollary import KnowledgeBase
from corollary.language import parse_program, print_value
from corollary.program import Value
from tests.oracle import evaluate

NUMBERS: list[Value] = [
    *(0, 1, -1, 7, 49, 50, 2**53 - 1, 2**53, 2**53 + 1, -(2**53) - 1, 2**62, -(2**63), 2**63, 2**70),
    *(0.0, -0.0, 0.5, 49.0, 49.5, 2.0**53, 1e300, math.inf, -math.inf, math.nan),
    *(Decimal("0.1"), Decimal("24.5"), Decimal("1e-30")),
    *("a", "7", True),
]
EXPRESSIONS = ("X + 1", "X * 2", "- X", "X / 2", "X % 7", "X - 0.5e0", "X * 0.5e0 + 0.25", "X div 0", "X * X")
TESTS = (
    "Y < 50",
    "50 > Y",
    "Y = 98",
    "Y != 98",
    "Y >= 24.5",
    "Y <= 9007199254740993.0",
    "not Y < 50",
    "Y > 1, Y < 99, X != 7",
)


@pytest.mark.parametrize("test", TESTS)
def test_what_is_kept_is_what_the_rule_says(test: str) -> None:
    facts = "".join(f"n({print_value(value)}).\n" for value in NUMBERS)
    rules = "".join(f"r({place}, X, Y) :- n(X), Y = {one}, {test}.\n" for place, one in enumerate(EXPRESSIONS))
    rules += "".join(f"s({place}, X) :- n(X), ADD(Y, {place}, X), {test}.\n" for place in range(3))
    expected = evaluate(parse_program(facts + rules))
    kb = KnowledgeBase(facts + rules)
    for name in ("r", "s"):
        wanted = sorted(", ".join(print_value(one.value) for one in fact) for fact in expected[name])
        assert sorted(", ".join(map(print_value, fact)) for fact in kb.facts(name)) == wanted
        assert wanted or name == "s"


def test_numbers_that_are_dropped_never_get_a_code() -> None:
    kb = KnowledgeBase("r(X, Y) :- n(X), Y = X * 1000003 + 1, Y < 3000010.")
    kb.insert("n", [(number,) for number in range(1000)])
    assert sorted(kb.facts("r")) == [(0, 1), (1, 1000004), (2, 2000007)]
    assert kb._backend.engine.universe.size < 1020  # type: ignore[attr-defined]
