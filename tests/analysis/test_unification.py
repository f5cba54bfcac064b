"""An edge needs a fact that could be an instance of both the head and the body atom."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corollary.analysis.unification import may_unify
from corollary.language import parse_program
from corollary.program import Atom


def atom(text: str) -> Atom:
    (rule,) = parse_program(f"{text} :- whatever.").rules
    return rule.head


def unify(head: str, body: str) -> bool:
    return may_unify(atom(head), atom(body))


@pytest.mark.parametrize(
    ("head", "body"),
    [
        ("p(X)", "p(Y)"),
        ("p(X)", "p(X)"),
        ("p(X)", "p(1)"),
        ("p(1)", "p(X)"),
        ("p(1)", "p(1)"),
        ("p(1)", "p(1.0)"),
        ("p(abc)", 'p("abc")'),
        ("p(_)", "p(1)"),
        ("p(X, X)", "p(1, Y)"),
        ("p(X, X)", "p(Y, Y)"),
        ("p(X, Y)", "p(Y, X)"),
        ("p(X, 1)", "p(2, X)"),
        ("p(X + 1)", "p(5)"),
        ("p(abs(X))", "p(5)"),
        ("p(count(X))", "p(5)"),
        ("p", "p"),
        ("p(f(X))", "p(f(1))"),
        ("p(f(X))", "p(Y)"),
        ("p([X, Y])", "p([1 | T])"),
        ("p([X | T])", "p([1])"),
    ],
)
def test_these_may_meet(head: str, body: str) -> None:
    assert unify(head, body)


@pytest.mark.parametrize(
    ("head", "body"),
    [
        ("p(X)", "q(X)"),
        ("p(X)", "p(X, Y)"),
        ("p(1)", "p(2)"),
        ("p(1)", "p(1e0)"),
        ("p(1)", 'p("1")'),
        ("p(true)", 'p("true")'),
        ("p(abc)", "p(<abc>)"),
        ("p(X, X)", "p(1, 2)"),
        ("p(1, 2)", "p(Y, Y)"),
        ("p(X, X, 1)", "p(Y, 2, Y)"),
        ("p(X, X, 1, 2)", "p(Z, Y, Y, Z)"),
        ("p(f(X))", "p(g(X))"),
        ("p(f(X))", "p(f(X, Y))"),
        ("p(f(1))", "p(f(2))"),
        ("p(f(X))", "p(1)"),
        ("p([X, Y])", "p([1])"),
        ("p([1])", "p(f(1))"),
    ],
)
def test_these_never_meet(head: str, body: str) -> None:
    assert not unify(head, body)


def test_equal_names_of_variables_on_both_sides_are_different_variables() -> None:
    # p(X, 1) and p(2, X): X is 2 here and 1 there.
    assert unify("p(X, 1)", "p(2, X)")


ARGUMENTS = st.lists(st.sampled_from(["X", "Y", "Z", "_", "1", "2"]), min_size=3, max_size=3)


@given(ARGUMENTS, ARGUMENTS)
def test_two_atoms_unify_exactly_when_some_fact_is_an_instance_of_both(head: list[str], body: list[str]) -> None:
    """Three arguments over the constants 1, 2 and a few others say it all: every fact can be tried."""
    constants = ["1", "2", "a", "b", "c"]
    facts = [(x, y, z) for x in constants for y in constants for z in constants]
    common = any(is_instance(fact, head) and is_instance(fact, body) for fact in facts)
    assert unify(f"p({', '.join(head)})", f"p({', '.join(body)})") is common


def is_instance(fact: tuple[str, ...], pattern: list[str]) -> bool:
    bound: dict[str, str] = {}
    return all(
        part == "_" or (bound.setdefault(part, value) == value if part.isupper() else part == value)
        for value, part in zip(fact, pattern, strict=True)
    )
