"""Equality in rule heads: constants that are equal stand for each other in every predicate."""

from __future__ import annotations

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from corollary import KnowledgeBase
from corollary.analysis import analyse
from corollary.diagnostics import ProgramError
from corollary.language import parse_program, print_program
from corollary.program import EQUALITY, Program
from corollary.reference.well_founded import well_founded
from tests.semantics.following import Facts, State, follow, states

ALIAS = "?X = ?Y :- alias(?X, ?Y)."


def test_facts_about_one_constant_are_facts_about_its_equals() -> None:
    kb = KnowledgeBase(f"{ALIAS} alias(a, b). alias(b, c). p(a, 1). q(c). both(X) :- p(X, _), q(X).")
    assert sorted(kb.facts("p")) == [("a", 1), ("b", 1), ("c", 1)]
    assert sorted(kb.facts("both")) == [("a",), ("b",), ("c",)]


def test_every_argument_counts() -> None:
    kb = KnowledgeBase(f"{ALIAS} alias(a, b). p(a, a).")
    assert sorted(kb.facts("p")) == [("a", "a"), ("a", "b"), ("b", "a"), ("b", "b")]


def test_what_is_no_longer_equal_falls_apart() -> None:
    kb = KnowledgeBase(f"{ALIAS} alias(a, b). alias(b, c). alias(a, c). q(c).")
    kb.delete("alias", [("a", "b")])
    assert sorted(kb.facts("q")) == [("a",), ("b",), ("c",)]
    kb.delete("alias", [("a", "c")])
    assert sorted(kb.facts("q")) == [("b",), ("c",)]


def test_equalities_can_be_stated_and_withdrawn() -> None:
    kb = KnowledgeBase("a = b. q(a). q(d).")
    assert sorted(kb.facts("q")) == [("a",), ("b",), ("d",)]
    kb.insert(EQUALITY, [("d", "b")])
    kb.delete(EQUALITY, [("a", "b")])
    assert sorted(kb.facts("q")) == [("a",), ("b",), ("d",)]
    kb.delete("q", [("a",)])
    assert sorted(kb.facts("q")) == [("b",), ("d",)]


def test_equality_may_follow_from_what_it_brings() -> None:
    text = "X = Y :- key(X, K), key(Y, K). key(a, 1). key(b, 2). key(c, 2). link(1, 2). K = L :- link(K, L). q(c)."
    assert sorted(KnowledgeBase(text).facts("q")) == [("a",), ("b",), ("c",)]


def test_a_large_class_is_written_out_once() -> None:
    kb = KnowledgeBase(f"{ALIAS} p(X, Y) :- seen(X, Y).")
    kb.insert("alias", [(0, number) for number in range(30)])
    kb.insert("seen", [(0, 0), (5, 7), (100, 3)])
    assert kb.count("p") == 30 * 30 + 30
    reports = {str(report.node): report for report in kb.materialise().nodes}
    assert reports["{p same 1, p same 2}"].strategy == "representatives"
    assert reports["{p same 1, p same 2}"].instances == 0


def test_equalities_are_printed_as_they_are_written() -> None:
    text = "X = Y :- alias(X, Y).\na = b.\n"
    assert print_program(parse_program(text)) == text


def test_another_comparison_cannot_stand_in_a_head() -> None:
    with pytest.raises(ProgramError, match="E116"):
        KnowledgeBase("X < Y :- alias(X, Y).")


# -- generated programs ------------------------------------------------------------------------------------------------

FACTS = (
    "alias(a, b)",
    "alias(b, c)",
    "alias(d, d)",
    "alias(c, d)",
    "p(a, b)",
    "p(c, 1)",
    "q(a)",
    "q(d)",
    "q(1)",
    "a = 1",
)
RULES = st.sampled_from(
    (
        "X = Y :- alias(X, Y)",
        "X = Y :- q(X), p(X, Y)",
        "X = 1 :- p(X, X)",
        "q(Y) :- p(X, Y), q(X)",
        "p(X, Z) :- p(X, Y), alias(Y, Z)",
        "r(X) :- q(X), not p(X, _)",
        "r(X) :- alias(X, _), not q(X)",
        "s(X, Y) :- r(X), p(Y, X), X != Y",
        "n(X, f(X)) :- q(X)",
    )
)


def true_facts(program: Program) -> Facts:
    true, undefined = well_founded(program)
    assert not any(undefined.values())
    return true


@given(st.lists(RULES, min_size=2, max_size=5, unique=True).flatmap(lambda found: states(FACTS, found)))
@settings(max_examples=60)
def test_every_state_is_what_the_oracle_says(found: list[State]) -> None:
    assume(all(not analyse(parse_program(state.text)).errors for state in found))
    follow(found, true_facts)


@given(st.lists(RULES, min_size=2, max_size=4, unique=True), st.lists(st.sampled_from(FACTS), unique=True, min_size=4))
@settings(max_examples=40)
def test_representatives_give_what_the_rules_give(found: list[str], facts: list[str]) -> None:
    state = State(tuple(facts), {f"r{number}": rule for number, rule in enumerate(found, 1)})
    assume(not analyse(parse_program(state.text)).errors)
    for without in ((), ("representatives",)):
        for updates in (True, False):
            follow([state], true_facts, without=without, updates=updates)
