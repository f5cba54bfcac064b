"""An edge needs a fact that could be an instance of both the head and the body atom."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TypeAlias

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corollary.analysis import RuleGraph, analyse
from corollary.analysis.rule_change import insert_rules
from corollary.analysis.unification import may_unify
from corollary.language import parse_program
from corollary.program import Atom, Constant, FunctionTerm, ListTerm, Structure, Term, Value, Variable, identity
from tests.budgets import examples


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


# -- function terms and lists ------------------------------------------------------------------------------------------

NAMES = ("X", "Y", "Z")
LEAVES = st.sampled_from([*NAMES, "1", "a", "f(1)", "[1, a]", "[]"])
TERMS = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.lists(inner, min_size=1, max_size=2).map(lambda items: f"f({', '.join(items)})"),
        st.lists(inner, min_size=0, max_size=2).map(lambda items: f"[{', '.join(items)}]"),
        st.tuples(inner, st.one_of(st.sampled_from(NAMES), inner)).map(lambda pair: f"[{pair[0]} | {pair[1]}]"),
    ),
    max_leaves=6,
)
Tree: TypeAlias = "str | tuple[str, *tuple[Tree, ...]]"


def tree(term: Term, side: str) -> Tree:
    """The term as the textbook has it: variables are texts, lists chains of pairs."""
    match term:
        case Variable():
            return side + term.name
        case Constant():
            return value_tree(term.value)
        case FunctionTerm():
            return ("f", term.name, *(tree(argument, side) for argument in term.arguments))
        case ListTerm():
            rest: Tree = value_tree(()) if term.tail is None else tree(term.tail, side)
            for item in reversed(term.items):
                rest = ("pair", tree(item, side), rest)
            return rest
    raise AssertionError(term)


def value_tree(value: Value) -> Tree:
    if isinstance(value, Structure):
        return ("f", value.name, *map(value_tree, value.arguments))
    if isinstance(value, tuple) and value:
        return ("pair", value_tree(value[0]), value_tree(value[1:]))
    return ("constant", f"={identity(value)}")


def robinson(pairs: list[tuple[Tree, Tree]]) -> bool:
    """Unification by substitution, with the occurs check: slow and plain."""
    while pairs:
        left, right = pairs.pop()
        if left == right:
            continue
        if isinstance(right, str) and right[0] in "<>":
            left, right = right, left
        if isinstance(left, str) and left[0] in "<>":
            if occurs(left, right):
                return False
            pairs = [(put(one, left, right), put(other, left, right)) for one, other in pairs]
            continue
        if isinstance(left, str) or isinstance(right, str) or left[0] != right[0] or len(left) != len(right):
            return False
        pairs += zip(left[1:], right[1:], strict=True)
    return True


def occurs(name: str, term: Tree) -> bool:
    return term == name if isinstance(term, str) else any(occurs(name, part) for part in term[1:])


def put(term: Tree, name: str, by: Tree) -> Tree:
    if isinstance(term, str):
        return by if term == name else term
    return (term[0], *(put(part, name, by) for part in term[1:]))


@settings(max_examples=examples(400))
@given(st.lists(st.tuples(TERMS, TERMS), min_size=1, max_size=3))
def test_terms_unify_exactly_when_the_textbook_says_so(pairs: list[tuple[str, str]]) -> None:
    head, body = (atom(f"p({', '.join(side)})") for side in zip(*pairs, strict=True))
    trees = [(tree(a, "<"), tree(b, ">")) for a, b in zip(head.arguments, body.arguments, strict=True)]
    assert may_unify(head, body) is robinson(trees)


@pytest.mark.parametrize(
    ("head", "body"),
    [
        ("next(N, N, s(N))", "next(X, X, X)"),
        ("p(X, f(X))", "p(Y, Y)"),
        ("p(X, [1 | X])", "p(Y, Y)"),
        ("p(X, Y, f(Y), g(X))", "p(A, B, A, B)"),
    ],
)
def test_a_term_that_would_contain_itself_is_no_fact(head: str, body: str) -> None:
    assert not unify(head, body)


def test_arithmetic_and_functions_may_be_anything_also_what_contains_them() -> None:
    assert unify("p(X, f(X + 1))", "p(Y, Y)")
    assert unify("p(X, abs(X))", "p(Y, Y)")


def test_terms_that_share_parts_take_no_longer_than_they_are_long() -> None:
    """Written out, X40 is a term of 2^40 symbols; each side has another shape of it."""
    steps = range(40)
    left = ", ".join([*(f"f(X{n}, X{n})" for n in steps), *(f"X{n + 1}" for n in steps), "X40"])
    right = ", ".join([*(f"Y{n + 1}" for n in steps), *(f"f(Y{n}, Y{n})" for n in steps), "Y40"])
    assert unify(f"p({left})", f"p({right})")
    assert not unify(f"p({left}, X0)", f"p({right}, Y40)")


def test_long_constants_are_not_taken_apart_for_nothing() -> None:
    long = "[" + ", ".join(map(str, range(20_000))) + "]"
    assert unify(f"p({long}, X)", "p([0 | T], T)")
    assert not unify(f"p({long})", "p([1 | T])")


RULES = st.tuples(st.lists(TERMS, min_size=3, max_size=3), st.lists(TERMS, min_size=3, max_size=3)).map(
    lambda parts: f"p({', '.join(parts[0])}) :- d(X), d(Y), d(Z), p({', '.join(parts[1])})."
)


@given(st.lists(RULES, min_size=1, max_size=5))
def test_the_analysis_of_rules_with_terms_ends(written: list[str]) -> None:
    with at_most(seconds=20):
        analyse(parse_program("\n".join(["d(1).", *written])))
        graph = RuleGraph.of(parse_program("\n".join(written)).rules[:1])
        insert_rules(graph, [replace(rule, name="new") for rule in parse_program(written[-1]).rules], check=False)


@contextmanager
def at_most(seconds: float) -> Iterator[None]:
    """Raises where the block takes longer, even if it never asks for the time."""

    def stop(*_: object) -> None:
        raise AssertionError(f"took more than {seconds} s")

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
