"""Which variables are limited, and what is said about those that are not."""

import pytest

from corollary.analysis import analyse
from corollary.language import parse_program

DATA = '@input q("q") . @input r("r") . @input s("s") . '


def messages(text: str) -> list[str]:
    return [f"{error.code} {error.message}" for error in analyse(parse_program(text)).errors]


@pytest.mark.parametrize(
    "rule",
    [
        "p(X) :- q(X).",
        "p(X) :- X = 5.",
        "p(X) :- 5 = X.",
        "p(X) :- q(Y), X = Y.",
        "p(X) :- q(Y), Y = X.",
        "p(X) :- q(Y), X = Y + 1.",
        "p(X) :- q(Y), Y * 2 = X.",
        "p(X) :- q(Y), BIND(Y AS X).",
        "p(Z) :- Z = Y, Y = X, X = 1.",
        "p(X + Y) :- q(X), q(Y).",
        "p(f(X)) :- q(X).",
        "p(X) :- q(f(X)).",
        "p(X) :- q([X | _]).",
        "p(X) :- q(X), not r(X, Y).",
        "p(X) :- q(X), not r(X, _).",
        "p(X) :- q(X), not r(Y, Y).",
        "p(X) :- q(X), not r(X, f(Y)).",
        "p :- not r(X, Y).",
        "p(X) :- q(X), not X < 3.",
        "p(X, N) :- AGGREGATE(r(X, Y)) ON X WITH SUM(Y) AS N.",
        "p(N) :- AGGREGATE(r(X, Y)) WITH SUM(X + Y) AS N.",
        "p(X) :- q(X), AGGREGATE(r(X, Y), not s(Y, Z)) ON X WITH COUNT(Y) AS N, N > 1.",
        "p(X, sum(Y * 2)) :- r(X, Y).",
        "p(X) :- r(X, X + 1).",
        "p :- 1 < 2.",
        "?- q(X), not r(X, Y), X < 5.",
        "?- not q(X).",
    ],
)
def test_a_safe_rule_is_accepted(rule: str) -> None:
    assert messages(DATA + rule) == []


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ("p(X, Y) :- q(X).", "variable Y of the head is not bound in the body"),
        ("p(X) :- not q(X).", "variable X of the head is not bound in the body"),
        ("p(X) :- X < 5.", "variable X of the head is not bound in the body"),
        ("p(X) :- X = X.", "variable X of the head is not bound in the body"),
        ("p(X) :- q(Y), Y = X % 2.", "variable X of the head is not bound in the body"),
        ("p(X) :- X != 5.", "variable X of the head is not bound in the body"),
        ("p(X, count(Z)) :- q(X).", "variable Z of the head is not bound in the body"),
        ("p(f(X, Y)) :- q(X).", "variable Y of the head is not bound in the body"),
        ("p(_) :- q(_).", "'_' cannot stand in the head"),
        ("p :- q(X), X < Y.", "variable Y of this comparison is not bound"),
        ("p :- q(X), X < _.", "'_' has no value in this comparison"),
        ("p :- X = X.", "variable X of this comparison is not bound"),
        ("p :- q(X), not X = Y.", "variable Y of a negated comparison is not bound"),
        ("p :- q(X), BIND(X + Y AS Z), q(Z).", "variable Y of BIND is not bound"),
        ("p :- q(Y + 1).", "variable Y of this argument is not bound"),
        ("p :- q(X), not r(X, Y + 1).", "variable Y of this argument is not bound"),
        ("p :- q(X), not r(X, Y), not r(Y, X).", "variable Y under negation is not bound, and it occurs elsewhere"),
        ("p :- q(X), not r(X, Y), Y < 3.", "variable Y under negation is not bound, and it occurs elsewhere"),
        ("p(N) :- AGGREGATE(q(X)) WITH SUM(Y) AS N.", "variable Y of AGGREGATE is not bound in the body"),
        ("p(X, N) :- AGGREGATE(q(Y)) ON X WITH SUM(Y) AS N.", "variable X of AGGREGATE is not bound in the body"),
        ("p(N) :- AGGREGATE(q(X), X < Z) WITH SUM(X) AS N.", "variable Z of this comparison is not bound"),
        ("p(X).", "a fact cannot contain the variable X"),
        ("p(_).", "a fact cannot contain '_'"),
        ("p(count(1)).", "a fact cannot contain the aggregate 'count'"),
        ("?- X < 5.", "variable X of this comparison is not bound"),
        ("?- q(X), X < Y.", "variable Y of this comparison is not bound"),
    ],
)
def test_an_unsafe_variable_is_named(rule: str, expected: str) -> None:
    (found,) = messages(DATA + rule)
    assert found.startswith(f"E202 {expected}")


def test_a_variable_is_told_once_however_often_it_occurs() -> None:
    assert len(messages(DATA + "p(Y, Y) :- q(X), X < Y, Y > 3.")) == 1


def test_every_unsafe_variable_of_a_rule_is_told() -> None:
    assert len(messages(DATA + "p(A, B) :- q(X), X < C.")) == 3


def test_the_rule_is_shown_with_its_name() -> None:
    (error,) = analyse(parse_program(DATA + "start: p(X,Y) :- q( X ).")).errors
    assert error.notes == ("in rule start: p(X, Y) :- q(X).",)


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ("p(Y, N) :- AGGREGATE(r(X, Y)) ON X WITH COUNT(Y) AS N.", "variable Y is local to AGGREGATE"),
        ("p(N) :- q(Y), AGGREGATE(r(X, Y)) WITH COUNT(X) AS N.", "variable Y is local to AGGREGATE"),
        ("p(N) :- AGGREGATE(r(X, Y)) WITH COUNT(X) AS N, Y < 3.", "variable Y is local to AGGREGATE"),
        (
            "p(Y) :- AGGREGATE(r(X, Y)) ON X WITH SUM(Y) AS Y.",
            "the result Y of AGGREGATE is also a variable of its body",
        ),
    ],
)
def test_variables_of_an_aggregate_are_local(rule: str, expected: str) -> None:
    (found,) = messages(DATA + rule)
    assert found.startswith(f"E205 {expected}")
