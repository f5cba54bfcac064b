"""The reference evaluator and clingo agree on generated programs."""

from __future__ import annotations

import pytest
from hypothesis import given, reject

from corollary.language import parse_program
from corollary.program import Constant, Program
from tests.generator import CLINGO, PURE, Scenario, programs, scenarios
from tests.generator.clingo import clingo_text, consequences
from tests.oracle import evaluate

LARGEST = 1000  # clingo computes in 32 bits: a product of three of these still fits


def integers(program: Program) -> dict[str, set[tuple[int, ...]]]:
    """The evaluator's facts as plain numbers, without empty relations, as clingo's come."""
    return {
        name: {tuple(integer(constant) for constant in fact) for fact in facts}
        for name, facts in evaluate(program).items()
        if facts
    }


def integer(constant: Constant) -> int:
    assert type(constant.value) is int
    return constant.value


def assert_clingo_agrees(program: Program) -> None:
    expected = integers(program)
    if all(abs(value) <= LARGEST for facts in expected.values() for fact in facts for value in fact):
        assert consequences(program) == expected, clingo_text(program)
    else:
        reject()


@given(programs(CLINGO))
def test_on_programs_with_negation_arithmetic_and_aggregates(program: Program) -> None:
    assert_clingo_agrees(program)


@given(programs(PURE))
def test_on_positive_programs(program: Program) -> None:
    assert_clingo_agrees(program)


@given(scenarios(CLINGO.but(max_changes=2)))
def test_after_changes_of_facts_and_rules(scenario: Scenario) -> None:
    assert_clingo_agrees(scenario.programs()[-1])


@pytest.mark.parametrize(
    "text",
    [
        "e(1, 2). e(3, 3). d(1). d(2). p(X) :- d(X), not e(X, U).",
        "e(1, 2). e(3, 3). p :- d(1), not e(U, U). p :- not e(U, 4).",
        "e(1, 2). d(1). d(4). p(X) :- d(X), not e(X, _), not e(_, X + 1).",
        "d(1). d(0). p(X, Y) :- d(X), d(Y), not X div Y > 1.",
        "e(1, 2). e(1, 3). e(2, 2). p(X, count(Y)) :- e(X, Y). q(sum(distinct Y), max(X)) :- e(X, Y).",
        "e(1, 2). e(1, 3). d(0). d(5). p(X, N) :- d(X), AGGREGATE(e(A, B)) WITH SUM(B div A) AS N.",
        "d(0). d(3). p(count(1 div X), count(X)) :- d(X). q(count(1 div X)) :- d(X), X < 1.",
        "d(0). d(3). p(N) :- AGGREGATE(d(A), not d(1)) WITH MIN(A) AS N.",
        "q(1). q(4). p(3, 4). p(2, X) :- q(X), not p(3, X).",
        "d(-7). d(2). p(X div 2, X % 2, abs(X), -X) :- d(X).",
    ],
)
def test_on_examples_of_everything_that_the_translation_has_to_rewrite(text: str) -> None:
    assert_clingo_agrees(parse_program(text))
