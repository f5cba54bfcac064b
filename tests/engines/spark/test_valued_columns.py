"""Values are asked for where rules compare, compute or aggregate, and wherever such constants come from or go to."""

import pytest

from corollary.engines.spark.tasks.task_inputs import valued_columns
from corollary.engines.spark.tasks.task_job import constants_of, without_spans
from corollary.language import parse_program
from corollary.planning import NormalRule, normalise
from corollary.program import Constant


def rules_of(text: str) -> list[NormalRule]:
    return [normalise(rule) for rule in parse_program(text).rules]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("p(X, Z) :- e(X, Y), p(Y, Z).", set()),
        ('p(X) :- e(X, "a"), not q(X).', set()),
        ("p(X) :- e(X, Y), Y > 1.", {("e", 1)}),
        ("p(X, Y) :- e(X, Y), X != Y.", {("e", 0), ("e", 1), ("p", 0), ("p", 1)}),
        ("q(Y) :- e(X, Y). p(X) :- q(X), X < 3.", {("e", 1), ("q", 0), ("p", 0)}),
        ("p(X, Y + 1) :- e(X, Y).", {("e", 1), ("p", 1)}),
        ("p(X, count(Y)) :- e(X, Y).", set()),
        ("p(X, sum(Y)) :- e(X, Y).", {("e", 1), ("p", 1)}),
        ("p(X) :- e(X, Y), AGGREGATE(f(X, Z)) ON X WITH MAX(Z) AS M, g(M).", {("f", 1), ("g", 0)}),
    ],
)
def test_columns_whose_values_rules_need(text: str, expected: object) -> None:
    assert valued_columns(rules_of(text)) == expected


def test_rules_travel_without_their_text() -> None:
    (rule,) = rules_of('p(X, "a") :- e(X, Y), Y + 1 > 2, not q(X, 3), AGGREGATE(f(X, Z)) ON X WITH MAX(Z) AS M.')
    assert without_spans(rule) == rule
    assert "span=<" not in repr(without_spans(rule))
    assert constants_of(rule) == [Constant("a"), Constant(3), Constant(1), Constant(2)]
