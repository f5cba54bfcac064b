"""Negation through recursion that constants cut (paper 001, section 2.3.3)."""

from __future__ import annotations

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from corollary import KnowledgeBase
from corollary.analysis import analyse
from corollary.diagnostics import ProgramError
from corollary.language import parse_program
from corollary.program import Program
from corollary.reference import evaluate
from corollary.reference.well_founded import well_founded
from tests.semantics.following import Facts, State, follow, states

PAPER = "q(1). q(4). p(3, 4)."
RULES_OF_THE_PAPER = [
    "p(2, ?X) :- q(?X), not p(3, ?X).",
    "p(?Y, ?X) :- q(?X), ?Y = 2, not p(?Z, ?X), ?Z = 3.",
    "p(?Y, ?X) :- q(?X), 2 = ?Y, not p(?Z, ?X), ?U = 3, ?Z = ?U.",
    "p(?Y, ?X) :- q(?X), BIND(2 AS ?Y), not p(3, ?X).",
    "p(2, ?X) :- q(?X), not r(3, ?X). r(?Y, ?X) :- p(?Y, ?X).",
    "p(2, ?X) :- q(?X), not r(3, ?X). s(?Y, ?X) :- p(?Y, ?X). r(?Y, ?X) :- s(?Y, ?X).",
]


@pytest.mark.parametrize("rule", RULES_OF_THE_PAPER)
@pytest.mark.parametrize("updates", [True, False])
def test_the_rule_of_the_paper_however_it_is_written(rule: str, updates: bool) -> None:
    kb = KnowledgeBase(f"{PAPER} {rule}", updates=updates)
    assert sorted(kb.facts("p")) == [(2, 1), (3, 4)]
    assert {(c.value, d.value) for c, d in evaluate(parse_program(f"{PAPER} {rule}"))["p"]} == {(2, 1), (3, 4)}


@pytest.mark.parametrize("rule", RULES_OF_THE_PAPER)
def test_the_rule_of_the_paper_follows_changes(rule: str) -> None:
    kb = KnowledgeBase(f"{PAPER} {rule}")
    kb.insert("p", [(3, 1)])
    assert sorted(kb.facts("p")) == [(3, 1), (3, 4)]
    kb.delete("p", [(3, 4)])
    assert sorted(kb.facts("p")) == [(2, 4), (3, 1)]


def test_a_comparison_tells_constants_apart_too() -> None:
    kb = KnowledgeBase("p(X, Y) :- e(X, Y), X != 3, not p(3, Y). e(1, 1). e(1, 2). e(3, 9). p(3, 2).")
    assert sorted(kb.facts("p")) == [(1, 1), (3, 2)]


def test_equal_numbers_of_other_types_are_not_told_apart() -> None:
    with pytest.raises(ProgramError, match="E203"):
        KnowledgeBase("p(X, Y) :- e(X, Y), X = 3, not p(3.0e0, Y).")


def test_the_rules_of_a_user_keep_their_names() -> None:
    kb = KnowledgeBase("a: p(2, X) :- q(X), not r(3, X). b: r(Y, X) :- p(Y, X). q(1).")
    assert [rule.name for rule in kb.rules()] == ["a", "b"]
    kb.remove_rules("b")
    assert (sorted(kb.facts("p")), sorted(kb.facts("r"))) == ([(2, 1)], [])


def test_what_remains_unstratified_shows_its_cycle() -> None:
    with pytest.raises(ProgramError) as caught:
        KnowledgeBase("p(2, X) :- q(X), not r(Y, X), q(Y). r(Y, X) :- p(Y, X).")
    assert "negates r(Y, X), which r2 derives" in str(caught.value)


# -- generated programs ------------------------------------------------------------------------------------------------

FACTS = ("q(1)", "q(2)", "q(3)", "p(1, 1)", "p(2, 2)", "p(3, 1)", "r(1, 2)", "r(2, 3)", "e(1, 2)", "e(2, 3)", "e(3, 3)")
CONSTANTS = st.sampled_from(("1", "2", "3"))


@st.composite
def rules(draw: st.DrawFn) -> str:
    """p and r have a constant in front mostly, written there or given by an equality; some rules hand arguments on."""
    head, negated = (draw(st.sampled_from(("p", "r"))) for _ in range(2))
    if draw(st.integers(0, 3)) == 0:
        guard = draw(st.sampled_from(("", f", Y != {draw(CONSTANTS)}", f", X = {draw(CONSTANTS)}")))
        return f"{head}(Y, X) :- {draw(st.sampled_from(('p', 'r', 'e')))}(Y, X){guard}"
    mine, other = draw(CONSTANTS), draw(CONSTANTS)
    body = ["q(X)", draw(st.sampled_from(("e(X, Z)", f"{head}({draw(CONSTANTS)}, X)", "q(X)")))]
    if draw(st.booleans()):
        return f"{head}({mine}, X) :- {', '.join(body)}, not {negated}({other}, X)"
    return f"{head}(V, X) :- {', '.join(body)}, V = {mine}, not {negated}(W, X), W = {other}"


def true_facts(program: Program) -> Facts:
    """Of a locally stratified program nothing is undefined, and what is true does not need any order of rules."""
    true, undefined = well_founded(program)
    assert not any(undefined.values())
    return true


@given(st.lists(rules(), min_size=2, max_size=4).flatmap(lambda found: states(FACTS, found)))
@settings(max_examples=60)
def test_every_state_is_what_the_oracle_says(found: list[State]) -> None:
    assume(all(not analyse(parse_program(state.text)).errors for state in found))
    follow(found, true_facts)
