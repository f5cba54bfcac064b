"""Terms and lists, local stratification, unsafe rules and equality in heads: clingo says the same."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from corollary import KnowledgeBase
from corollary.analysis import analyse
from corollary.analysis.meaning import Meaning
from corollary.language import parse_program
from corollary.program import EQUALITY
from tests.budgets import examples
from tests.semantics import test_equality, test_local_stratification, test_terms, test_unsafe
from tests.semantics.clingo_text import UnsafeForClingo, row_text, stable_model


def assert_agrees(rules: Sequence[str], facts: Sequence[str], **options: Any) -> None:
    text = "\n".join(f"{one}." for one in [*facts, *rules])
    program = parse_program(text)
    assume(not analyse(program).under(Meaning(**options)).errors)
    try:
        expected = stable_model(program, unsafe=options.get("unsafe") == "universe")
    except UnsafeForClingo:
        assume(False)
    kb = KnowledgeBase(text, **options)
    for predicate in set(kb.predicates()) - {EQUALITY}:
        found = {row_text(row) for row in kb.facts(predicate).constants()}
        assert found == expected.get(predicate, set()), f"{predicate} of\n{text}"


def some(facts: Sequence[str]) -> st.SearchStrategy[list[str]]:
    return st.lists(st.sampled_from(facts), unique=True)


TERM_FACTS = [one for one in test_terms.FACTS if "e0" not in one]
TERM_RULES = (
    "p(f(X), X) :- t(X)",
    "p(X, g(X, Y)) :- u(X, Y)",
    "p([X | Y], Y) :- u(X, Y)",
    "p(X, Y) :- t(g(X, Y))",
    "p(X, Y) :- t([X | Y])",
    "p(X, Y) :- t([_, X | Y])",
    "q(X) :- p(X, _)",
    "q(Y) :- p(_, Y)",
    "q(X) :- q(f(X))",
    "q(X) :- q([X | _])",
    "q(X) :- q([_ | X])",
    "q(X) :- q(g(_, X))",
    "r(X) :- q(X), not t(X)",
    "r(f(X)) :- q(X), X = [_ | _]",
    "r([X, Y]) :- p(X, Y), not q(Y)",
    "r(Z) :- u(X, Y), q(Z), g(X, Z) = g(Z, Y)",
    "r(X) :- p(X, Y), X = f(Y)",
    "s(X, Y) :- q(X), r(Y), not X = [Y]",
    "s(X, Y) :- q(X), q(Y), X = f(Y), not u(X, _)",
)


@given(st.lists(st.sampled_from(TERM_RULES), min_size=4, max_size=9, unique=True), some(TERM_FACTS))
@settings(max_examples=examples(60))
def test_function_terms_and_lists(rules: list[str], facts: list[str]) -> None:
    assert_agrees(rules, facts)


@given(st.lists(test_local_stratification.rules(), min_size=1, max_size=4), some(test_local_stratification.FACTS))
@settings(max_examples=examples(60))
def test_locally_stratified_rules(rules: list[str], facts: list[str]) -> None:
    assert_agrees(rules, facts)


STATED = test_unsafe.FACTS[:5]  # of predicates that no rule derives: those feed the universe in every program


@given(test_unsafe.RULES, some(STATED))
@settings(max_examples=examples(60))
def test_unsafe_rules(rules: list[str], facts: list[str]) -> None:
    assert_agrees(rules, facts, unsafe="universe")


@given(st.lists(test_equality.RULES, min_size=1, max_size=4, unique=True), some(test_equality.FACTS))
@settings(max_examples=examples(60))
def test_equality_in_heads(rules: list[str], facts: list[str]) -> None:
    assert_agrees(rules, facts)
