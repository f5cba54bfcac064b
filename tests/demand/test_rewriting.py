"""The rules that are made for a query, as text."""

from __future__ import annotations

import pytest

from corollary import KnowledgeBase
from corollary.language import parse_program, parse_query
from corollary.reasoning.demand import Demanded, demanded

PATHS = "path(X, Y) :- edge(X, Y). path(X, Z) :- edge(X, Y), path(Y, Z)."
REACH = """
path_ef_demand(1).
answer(X) :- path_ef(X).
path_ef(Y) :- path_ef_demand(X), edge(X, Y).
path_ef(Z) :- path_ef(Y), edge(Y, Z).
"""


def made(program: str, query: str, *stated: str) -> Demanded:
    return demanded(parse_program(program).rules, parse_query(query), set(stated))


def check(found: Demanded, text: str) -> None:
    assert found.text() == text.lstrip("\n")


@pytest.mark.parametrize(
    "rule",
    [
        "path(X, Z) :- edge(X, Y), path(Y, Z).",
        "path(X, Z) :- path(X, Y), edge(Y, Z).",
        "path(X, Z) :- path(X, Y), path(Y, Z).",
    ],
)
def test_a_closure_is_followed_from_its_known_end_however_it_is_written(rule: str) -> None:
    check(made(f"path(X, Y) :- edge(X, Y). {rule}", "path(1, X)"), REACH)


def test_rules_that_a_query_does_not_need_are_left_out() -> None:
    check(made(f"{PATHS} other(X) :- path(X, X). edge(X, Y) :- far(Y, X).", "edge(1, X)"), """
edge_ef_demand(1).
answer(X) :- edge_ef(X).
edge_ef(Y) :- edge_ef_demand(X), far(Y, X).
""")  # fmt: skip


def test_explicit_facts_of_a_derived_predicate_are_taken_as_they_are_demanded() -> None:
    check(made("p(X, Y) :- q(X, Y).", "p(1, X)", "p"), """
p_ef_demand(1).
answer(X) :- p_ef(X).
p_ef(Y) :- p_ef_demand(X), q(X, Y).
p_ef(X2) :- p_ef_demand(X1), p(X1, X2).
""")  # fmt: skip


def test_a_count_is_demanded_by_its_groups() -> None:
    check(made(f"{PATHS} reaches(X, count(Y)) :- path(X, Y).", "reaches(1, N)"), """
reaches_bf_demand(1).
answer(N) :- reaches_bf(1, N).
path_bf_demand(X) :- reaches_bf_demand(X).
reaches_bf(X, count(Y)) :- reaches_bf_demand(X), path_bf(X, Y).
path_bf(X, Y) :- path_bf_demand(X), edge(X, Y).
path_bf(X, Z) :- path_bf_demand(X), path_bf(X, Y), edge(Y, Z).
""")  # fmt: skip


def test_what_is_negated_is_demanded_for_what_the_rest_has_found() -> None:
    check(made(f"{PATHS} dead(X) :- node(X), not path(X, _).", "path(1, X), not dead(X)"), """
path_ef_demand(1).
dead_b_demand(X) :- path_ef(X).
answer(X) :- path_ef(X), not dead_b(X).
path_ef(Y) :- path_ef_demand(X), edge(X, Y).
path_ef(Z) :- path_ef(Y), edge(Y, Z).
path_bf_demand(X) :- dead_b_demand(X), node(X).
dead_b(X) :- dead_b_demand(X), node(X), not path_bf(X, _).
path_bf(X, Y) :- path_bf_demand(X), edge(X, Y).
path_bf(X, Z) :- path_bf_demand(X), path_bf(X, Y), edge(Y, Z).
""")  # fmt: skip


def test_a_count_is_asked_apart_where_others_demand_what_it_counts_by_its_answers() -> None:
    program = f"{PATHS} reaches(X, count(Y)) :- path(X, Y). dead(X) :- node(X), not path(X, _)."
    check(made(program, "path(1, X), reaches(X, N), not dead(X)"), """
path_ef_demand(1).
reaches_bf_for_reaches_demand(X) :- path_ef(X).
query_so_far(X, N) :- path_ef(X), reaches_bf_for_reaches(X, N).
dead_b_for_dead_demand(X) :- query_so_far(X, N).
answer(X, N) :- query_so_far(X, N), not dead_b_for_dead(X).
path_ef(Y) :- path_ef_demand(X), edge(X, Y).
path_ef(Z) :- path_ef(Y), edge(Y, Z).
path_bf_for_reaches_demand(X) :- reaches_bf_for_reaches_demand(X).
reaches_bf_for_reaches(X, count(Y)) :- reaches_bf_for_reaches_demand(X), path_bf_for_reaches(X, Y).
path_bf_for_path_demand(X) :- dead_b_for_dead_demand(X), node(X).
dead_b_for_dead(X) :- dead_b_for_dead_demand(X), node(X), not path_bf_for_path(X, _).
path_bf_for_reaches(X, Y) :- path_bf_for_reaches_demand(X), edge(X, Y).
path_bf_for_reaches(X, Z) :- path_bf_for_reaches_demand(X), path_bf_for_reaches(X, Y), edge(Y, Z).
path_bf_for_path(X, Y) :- path_bf_for_path_demand(X), edge(X, Y).
path_bf_for_path(X, Z) :- path_bf_for_path_demand(X), path_bf_for_path(X, Y), edge(Y, Z).
""")  # fmt: skip


def test_what_is_demanded_by_its_own_answers_under_negation_is_derived_whole() -> None:
    program = f"{PATHS} dead(X) :- node(X), not path(X, _). go(1). go(Y) :- go(X), edge(X, Y), not dead(Y)."
    found = made(program, "go(5)", "go")
    assert found.whole == {"path", "dead"}
    assert "not dead(Y)" in found.text()


def test_a_part_that_several_rules_need_is_computed_once() -> None:
    found = made(
        "p(X, Y) :- a(X, Z), b(Z, W), q(W, V), c(X, V), r(V, Y). q(X, Y) :- d(X, Y). r(X, Y) :- d(Y, X).", "p(X, 1)"
    )
    assert "so_far" in found.text()


def test_a_demand_binds_no_variable_that_the_body_computes() -> None:
    check(made("p(Y) :- q(X), Y = X + 1.", "p(2)"), """
p_e_demand(2).
answer :- p_e.
p_e :- p_e_demand(Asked1), q(X), Y = X + 1, BIND(Y AS Asked1).
""")  # fmt: skip


def test_a_demand_does_not_count_for_ever() -> None:
    found = made("f(X) :- f(X - 1), g(X). f(0) :- start(0). g(X) :- d(X).", "f(3)")
    assert found.whole == {"f", "g"}


def test_names_that_are_taken_are_given_to_nothing_else() -> None:
    found = made(f"{PATHS} answer(X) :- path_ef(X).", "path(1, X)")
    assert found.answer == "answer_"
    assert "path_ef_(Z) :- path_ef_(Y), edge(Y, Z)." in found.text()


def test_what_a_closure_starts_from_may_have_to_be_derived_whole() -> None:
    rules = "p(X, Y) :- e(X, Y). p(X, Y) :- p(X, Z), p(Z, Y). p(count(X), X) :- e(X, Y)."
    found = made(rules, "e(X, _), p(X, X)")
    assert "p_external" in found.whole
    assert "p_external(count(X), X) :- e(X, Y)." in found.text()


@pytest.mark.parametrize("query", ["q(1)", "q(X)", "s(1)", "s(X)", "t(2)", "t(X)"])
def test_atoms_that_compute_with_what_only_later_atoms_tell(query: str) -> None:
    """Neither a demand nor a supplementary predicate may forget a variable that has no value yet."""
    program = """
        e(0). e(1). f(1, 0). f(2, 1). g(X, Y) :- f(X, Y).
        q(Z) :- e(Z), f(X + Y, _), e(X), e(Y).
        s(Z) :- g(X + 1, Y), g(Y + 1, X), e(Z).
        t(Z) :- g(X + 1, Y), g(Y + 1, X), g(Z, X).
    """
    on_demand = KnowledgeBase(program).query(query, mode="demand")
    assert sorted(on_demand) == sorted(KnowledgeBase(program).query(query, mode="materialise"))
    assert sorted(KnowledgeBase(program).query("t(X)", mode="demand")) == [(1,), (2,)]


@pytest.mark.parametrize(
    ("rule", "query"),
    [("q(0) :- p(X, 0).", "q(1)"), ("q(X, X) :- p(X, _).", "q(2, 1)"), ("q(X, X) :- r(X, X).", "q(1, 2)")],
)
def test_a_demand_that_a_head_cannot_meet_is_not_handed_on(rule: str, query: str) -> None:
    text = f"p(X, Y) :- e(X, Y). p(X, Y) :- p(Y, X). r(X, Y) :- p(X, Y), e(Y, _). e(1, 2). e(2, 1). e(1, 0). {rule}"
    assert list(KnowledgeBase(text).query(query, mode="materialise")) == []
    assert list(KnowledgeBase(text).query(query, mode="demand")) == []
