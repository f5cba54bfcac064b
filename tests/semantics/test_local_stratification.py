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
from tests.budgets import examples
from tests.oracle import evaluate
from tests.oracle.well_founded import well_founded
from tests.semantics.following import Facts, State, follow, states

PAPER = "q(1). q(4). p(3, 4)."
RULES_OF_THE_PAPER = [
    "p(2, ?X) :- q(?X), not p(3, ?X).",
    "p(?Y, ?X) :- q(?X), ?Y = 2, not p(?Z, ?X), ?Z = 3.",
    "p(?Y, ?X) :- q(?X), 2 = ?Y, not p(?Z, ?X), ?U = 3, ?Z = ?U.",
    "p(?Y, ?X) :- q(?X), BIND(2 AS ?Y), not p(3, ?X).",
    "p(2, ?X) :- q(?X), not r(3, ?X). r(?Y, ?X) :- p(?Y, ?X).",
    "p(2, ?X) :- q(?X), not r(3, ?X). s(?Y, ?X) :- p(?Y, ?X). r(?Y, ?X) :- s(?Y, ?X).",
    "p(?Y, ?X) :- q(?X), ?Y = 1 + 1, not p(3, ?X).",
    "p(2, ?X) :- q(?X), not r(3, ?X). r(?Z, ?X) :- p(?Y, ?X), ?Z = ?Y.",
    "p(?Y, ?X) :- n(?Y), q(?X), ?Y != 3, not r(3, ?X). r(?Y, ?X) :- p(?Y, ?X). n(2). n(3).",
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


BY_ORDER = [
    ("p(X, Y) :- r(X, Y), not p(2, Y), X < 2.", [(1, 5), (2, 6)]),
    ("p(X, Y) :- r(X, Y), not p(2, Y), 2 > X.", [(1, 5), (2, 6)]),
    ("p(X, Y) :- r(X, Y), not p(2, Y), not X >= 2.", [(1, 5), (2, 6)]),
    ("p(X, Y) :- r(X, Y), not p(2, Y), X * 2 < 4.", [(1, 5), (2, 6)]),
    ("p(X, Y) :- r(X, Y), not p(2, Y), X < Z, Z = 2.", [(1, 5), (2, 6)]),
    ("p(X, Y) :- r(X, Y), not p(Z, Y), Z = 2, Z > X.", [(1, 5), (2, 6)]),
    ("p(X, Y) :- r(X, Y), not p(2, Y), BIND(2 AS Z), not X >= Z.", [(1, 5), (2, 6)]),
    ("p(X, Y) :- r(X, Y), not p(2, Y), U < Z, U = X, Z = V, V = 2.", [(1, 5), (2, 6)]),
    ("p(X, Y) :- r(X, Y), not p(3, Y), X != Z, Z = 3.", [(1, 5), (1, 6), (2, 6), (2, 9)]),
    ("p(X, Y) :- r(X, Y), not p(2, Y), pred:numeric-less-than(X, 2).", [(1, 5), (2, 6)]),
    ("p(X, Y) :- r(X, Y), X < 2, not p(Z, Y), r(Z, _), Z >= 2.", [(1, 5), (1, 6), (2, 6)]),
    ("p(X, Y) :- r(X, Y), X < 2, not s(2, Y). s(A, B) :- p(A, B).", [(1, 5), (2, 6)]),
    ("p(X, Y) :- r(X, Y), X < 2, not s(Z, Y), r(Z, _), Z >= 2. s(A, B) :- p(A, B).", [(1, 5), (1, 6), (2, 6)]),
]


@pytest.mark.parametrize(("rules_by_order", "expected"), BY_ORDER)
def test_comparisons_by_order_separate_facts_too(rules_by_order: str, expected: list[tuple[int, int]]) -> None:
    text = f"{rules_by_order} r(1, 5). r(1, 6). r(3, 6). r(2, 9). p(2, 6)."
    assert sorted(KnowledgeBase(text).facts("p")) == expected
    true, undefined = well_founded(parse_program(text))
    assert {(one.value, two.value) for one, two in true["p"]} == set(expected)
    assert not any(undefined.values())


@pytest.mark.parametrize(
    "text",
    [
        "p(X, Y) :- r(X, Y), not p(2, Y), X <= 2.",
        "p(X, Y) :- r(X, Y), not p(2, Y), X > 1.5.",
        "p(X, Y) :- r(X, Y), not p(2, Y), X > Z, Z = 1.5.",
        "p(X, Y) :- r(X, Y), not p(2, Y), X < Z, r(Z, _).",
        'p(X, Y) :- r(X, Y), not p(2, Y), not X < "a".',
        "p(X, Y) :- r(X, Y), not p(Z, Y), r(Z, _), X < 3, Z > 2.",
        "p(X, Y) :- r(X, Y), not p(2, Y), IS_INTEGER(X).",
    ],
)
def test_comparisons_that_leave_a_common_value_separate_nothing(text: str) -> None:
    with pytest.raises(ProgramError, match="E203"):
        KnowledgeBase(text)


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


@pytest.mark.parametrize(
    ("text", "unsafe", "notes"),
    [
        (
            "p(X) :- s(X), not q(f(X, _)). q(X) :- p(X).",
            "reject",
            ["r1: p(X) :- s(X), not q(f(X, _)).", "    negates q(f(X, _)), which r2 derives"],
        ),
        (
            "X = Y :- s(X, Y), not p(X).",
            "reject",
            ["    negates p(X), which equality derives", "equality: p(Y1) :- p(X1), same(X1, Y1)."],
        ),
        ("r(X, count(Y)) :- q(Y).", "universe", ["universe: universe(X1) :- r(X1, X2)."]),
    ],
)
def test_a_cycle_is_told_in_words_of_the_program(text: str, unsafe: str, notes: list[str]) -> None:
    with pytest.raises(ProgramError, match="E203") as caught:
        KnowledgeBase(text, unsafe=unsafe)
    told = [note for one in caught.value.diagnostics for note in one.notes]
    assert set(notes) <= set(told)
    assert not any(mark in note for note in told for mark in ("\\u00", "?", " negates 1"))


@pytest.mark.parametrize("rule", RULES_OF_THE_PAPER)
def test_without_local_stratification_constants_separate_nothing(rule: str) -> None:
    with pytest.raises(ProgramError, match="E203") as caught:
        KnowledgeBase(f"{PAPER} {rule}", stratification="global")
    assert "--set stratification=local" in str(caught.value)
    kb = KnowledgeBase(f"{PAPER} {rule}", stratification="global", semantics="well-founded")
    assert (sorted(kb.facts("p")), list(kb.undefined("p"))) == ([(2, 1), (3, 4)], [])


def test_without_local_stratification_rules_that_join_later_are_checked_too() -> None:
    kb = KnowledgeBase("q(1). p(2, X) :- q(X), not r(3, X).", stratification="global")
    assert list(kb.facts("p")) == [(2, 1)]
    with pytest.raises(ProgramError, match="E203"):
        kb.add_rules("r(4, X) :- p(2, X).")
    assert list(kb.facts("r")) == []
    kb.add_rules("s(4, X) :- p(2, X).")
    assert list(kb.facts("s")) == [(4, 1)]


def test_what_constants_do_not_separate_either_gets_no_hint_about_them() -> None:
    with pytest.raises(ProgramError, match="E203") as caught:
        KnowledgeBase("p(X) :- q(X), not p(X).", stratification="global")
    assert "constants" not in str(caught.value)


# -- generated programs ------------------------------------------------------------------------------------------------

FACTS = ("q(1)", "q(2)", "q(3)", "p(1, 1)", "p(2, 2)", "p(3, 1)", "r(1, 2)", "r(2, 3)", "e(1, 2)", "e(2, 3)", "e(3, 3)")
CONSTANTS = st.sampled_from(("1", "2", "3"))


def comparison(draw: st.DrawFn, variable: str) -> str:
    """A comparison of one variable: by equality, by order, under negation, inside arithmetic, with a given value, or a guard."""
    operator = draw(st.sampled_from(("<", "<=", ">", ">=", "!=", "=")))
    sides = draw(
        st.sampled_from(
            (
                "{v} {op} {c}",
                "{c} {op} {v}",
                "not {v} {op} {c}",
                "{v} * 2 {op} {c} + 1",
                "IS_TEXT({v})",
                "K = {c}, {v} {op} K",
            )
        )
    )
    return sides.format(v=variable, op=operator, c=draw(st.sampled_from(("1", "2", "2.0e0", "3"))))


@st.composite
def rules(draw: st.DrawFn) -> str:
    """p and r have a constant in front mostly, written there or given by an equality; some rules hand arguments on."""
    head, negated = (draw(st.sampled_from(("p", "r"))) for _ in range(2))
    if draw(st.integers(0, 3)) == 0:
        range_of = f"e({draw(st.sampled_from(('Y', '_')))}, Y), q(X), {comparison(draw, 'Y')}"
        other = draw(
            st.sampled_from((f"{negated}({draw(CONSTANTS)}, X)", f"{negated}(W, X), q(W), {comparison(draw, 'W')}"))
        )
        return f"{head}(Y, X) :- {range_of}, not {other}"
    if draw(st.integers(0, 3)) == 0:
        guard = draw(st.sampled_from(("", f", {comparison(draw, 'Y')}", f", X = {draw(CONSTANTS)}")))
        first = draw(st.sampled_from(("Y", "U")))
        given = ", U = Y" if first == "U" else ""
        return f"{head}({first}, X) :- {draw(st.sampled_from(('p', 'r', 'e')))}(Y, X){given}{guard}"
    mine, other = draw(CONSTANTS), draw(CONSTANTS)
    if draw(st.integers(0, 3)) == 0:
        return f"{head}(Y, X) :- e(Y, _), q(X), Y != {other}, not {negated}({other}, X)"
    body = ["q(X)", draw(st.sampled_from(("e(X, Z)", f"{head}({draw(CONSTANTS)}, X)", "q(X)")))]
    if draw(st.booleans()):
        return f"{head}({mine}, X) :- {', '.join(body)}, not {negated}({other}, X)"
    given = draw(st.sampled_from((mine, f"{mine} + 0")))
    return f"{head}(V, X) :- {', '.join(body)}, V = {given}, not {negated}(W, X), W = {other}"


def true_facts(program: Program) -> Facts:
    """Of a locally stratified program nothing is undefined, and what is true does not need any order of rules."""
    true, undefined = well_founded(program)
    assert not any(undefined.values())
    return true


@given(st.lists(rules(), min_size=2, max_size=4).flatmap(lambda found: states(FACTS, found)))
@settings(max_examples=examples(60))
def test_every_state_is_what_the_oracle_says(found: list[State]) -> None:
    assume(all(not analyse(parse_program(state.text)).errors for state in found))
    follow(found, true_facts)
