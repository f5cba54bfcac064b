"""Equality in rule heads: constants that are equal stand for each other in every predicate."""

from __future__ import annotations

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from corollary import Change, KnowledgeBase
from corollary.analysis import analyse
from corollary.diagnostics import ProgramError
from corollary.language import parse_program, print_program, print_value
from corollary.program import EQUALITY, Program, Structure
from tests.budgets import examples
from tests.oracle.well_founded import well_founded
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
@settings(max_examples=examples(60))
def test_every_state_is_what_the_oracle_says(found: list[State]) -> None:
    assume(all(not analyse(parse_program(state.text)).errors for state in found))
    follow(found, true_facts)


@given(st.lists(RULES, min_size=2, max_size=4, unique=True), st.lists(st.sampled_from(FACTS), unique=True, min_size=4))
@settings(max_examples=examples(40))
def test_representatives_give_what_the_rules_give(found: list[str], facts: list[str]) -> None:
    state = State(tuple(facts), {f"r{number}": rule for number, rule in enumerate(found, 1)})
    assume(not analyse(parse_program(state.text)).errors)
    for without in ((), ("representatives",)):
        for updates in (True, False):
            follow([state], true_facts, without=without, updates=updates)


# -- terms of equal parts ----------------------------------------------------------------------------------------------


def texts(kb: KnowledgeBase, predicate: str) -> list[str]:
    return sorted(", ".join(map(print_value, row)) for row in kb.facts(predicate).constants())


def test_terms_of_equal_parts_are_equal() -> None:
    kb = KnowledgeBase("a = b. p(f(a)). q(g(f(X), X)) :- p(f(X)). r([a, c]).")
    assert texts(kb, "p") == ["f(a)", "f(b)"]
    assert texts(kb, "q") == ["g(f(a), a)", "g(f(a), b)", "g(f(b), a)", "g(f(b), b)"]
    assert texts(kb, "r") == ["[a, c]", "[b, c]"]
    kb.delete(EQUALITY, [("a", "b")])
    assert [texts(kb, name) for name in "pqr"] == [["f(a)"], ["g(f(a), a)"], ["[a, c]"]]


def test_what_equal_terms_are_equal_to_is_equal() -> None:
    kb = KnowledgeBase("f(a) = c. f(b) = d. a = b. p(c). q(h(f(b))).")
    assert texts(kb, "p") == ["c", "d", "f(a)", "f(b)"]
    assert texts(kb, "q") == ["h(c)", "h(d)", "h(f(a))", "h(f(b))"]


def test_the_rest_of_a_list_may_be_equal_to_another_list() -> None:
    assert texts(KnowledgeBase("[c] = [d, e]. p([a, c])."), "p") == ["[a, c]", "[a, d, e]"]
    assert texts(KnowledgeBase("[c] = d. p([a, c])."), "p") == ["[a, c]"]  # no list ends in d


def test_terms_may_come_with_facts_that_no_text_mentions() -> None:
    kb = KnowledgeBase(ALIAS)
    kb.insert("alias", [("a", "b")])
    assert kb.count("alias") == 4
    assert kb.insert("p", [(Structure("f", ("a",)),)]) == 1
    assert texts(kb, "p") == ["f(a)", "f(b)"]
    result = kb.apply(Change(insert={"p": [(Structure("g", ("b", 1)),)]}))
    assert {str(row[0]) for row in result.inserted["p"]} == {str(Structure("g", (name, 1))) for name in ("a", "b")}
    kb.insert("p", [(["b"],)])
    assert texts(kb, "p") == ["[a]", "[b]", "f(a)", "f(b)", "g(a, 1)", "g(b, 1)"]


def test_lists_that_functions_make_count() -> None:
    kb = KnowledgeBase("a = b. pair(MAKE_LIST(X, X)) :- q(X). q(a).")
    assert texts(kb, "pair") == ["[a, a]", "[a, b]", "[b, a]", "[b, b]"]


def test_the_first_equality_may_come_after_the_terms() -> None:
    kb = KnowledgeBase("p(f(a)). alias(a, b).")
    assert texts(kb, "p") == ["f(a)"]
    kb.add_rules(ALIAS)
    assert texts(kb, "p") == ["f(a)", "f(b)"]
    waiting = KnowledgeBase("p(f(a)). alias(a, b).")
    waiting.add_rules(ALIAS)
    assert texts(waiting, "p") == ["f(a)", "f(b)"]


def test_a_constant_that_is_equal_to_a_term_with_itself_inside_has_no_end() -> None:
    kb = KnowledgeBase("a = f(a). p(a).")
    with pytest.raises(ProgramError, match="E490"):
        kb.count("p")


def test_negation_sees_terms_of_equal_parts() -> None:
    kb = KnowledgeBase("a = b. p(f(a)). q(f(b)). q(f(c)). r(X) :- q(X), not p(X). s(X) :- q(X), not r(X).")
    assert (texts(kb, "r"), texts(kb, "s")) == (["f(c)"], ["f(a)", "f(b)"])


TERM_FACTS = (
    "alias(a, b)",
    "alias(b, c)",
    "alias(f(a), d)",
    "alias([a], [d])",
    "q(f(b))",
    "q(f(f(c)))",
    "q(a)",
    "q([b, c])",
    "q(g(c, [a]))",
    "p(f(c), e)",
    "f(c) = e",
    "m(h(b))",
)
TERM_RULES = st.sampled_from(
    (
        "X = Y :- alias(X, Y)",
        "X = Y :- p(X, Y)",
        "q(X) :- q(f(X))",
        "q(T) :- q([_ | T])",
        "q(X) :- q(g(_, X))",
        "r(f(X)) :- p(X, _)",
        "r([X, X]) :- p(_, X)",
        "p(X, X) :- q(X), not r(X)",
        "s(X) :- m(X), not q(X)",
        "s(f(X)) :- q(X), not r(f(X))",
    )
)


def true_terms(program: Program) -> Facts:
    try:
        return true_facts(program)
    except ValueError:  # something is equal to too many constants
        assume(False)
        raise


@given(st.lists(TERM_RULES, min_size=2, max_size=5, unique=True).flatmap(lambda found: states(TERM_FACTS, found)))
@settings(max_examples=examples(12))
def test_every_state_with_terms_is_what_the_oracle_says(found: list[State]) -> None:
    assume(all(not analyse(parse_program(state.text)).errors for state in found))
    follow(found, true_terms)
