"""Function terms and lists: made and taken apart in rules and queries, and kept exact under changes."""

from __future__ import annotations

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from corollary import KnowledgeBase, Limits
from corollary.analysis import analyse
from corollary.diagnostics import ProgramError
from corollary.language import parse_program
from corollary.program import Constant, Structure
from tests.budgets import examples
from tests.oracle import evaluate
from tests.semantics.following import State, follow, rows, states

# -- generated programs ------------------------------------------------------------------------------------------------

FACTS = (
    "t(1)", "t(a)", "t(f(1))", "t(f(f(a)))", "t(g(1, f(a)))", "t([])", "t([1])", "t([1, a, f(1)])", "t([[1], 2])",
    "u(1, f(1))", "u(a, [1, a])", "u(f(1), f(f(1)))", "u([1], [a, 1])", "u(g(1, 1), 1)", "u(2.0e0, 2)", "u(f(2), f(2.0e0))",
)  # fmt: skip
VARIABLES = st.sampled_from(("X", "Y", "Z"))
LEAVES = st.one_of(VARIABLES, VARIABLES, st.sampled_from(("_", "1", "a", "[]", "2.0e0")))


def _above(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.one_of(
        inner.map("f({})".format),
        st.tuples(inner, inner).map("g({0[0]}, {0[1]})".format),
        st.lists(inner, min_size=1, max_size=3).map(lambda items: f"[{', '.join(items)}]"),
        st.tuples(inner, inner).map("[{0[0]} | {0[1]}]".format),
        st.tuples(VARIABLES, VARIABLES).map("[{0[0]} | {0[1]}]".format),
    )


PATTERNS = st.recursive(LEAVES, _above, max_leaves=3)
MADE = st.recursive(VARIABLES, _above, max_leaves=3)


@st.composite
def rules(draw: st.DrawFn) -> str:
    """A rule for p over stated facts, or one for q over those of p, which may be recursive where nothing is made."""
    of_q = draw(st.booleans())
    atoms = st.one_of(
        st.tuples(st.just("t"), PATTERNS).map("{0[0]}({0[1]})".format),
        st.tuples(st.just("u"), PATTERNS, PATTERNS).map("{0[0]}({0[1]}, {0[2]})".format),
        *([PATTERNS.map("p({}, _)".format), PATTERNS.map("q({})".format)] if of_q else []),
    )
    body = draw(st.lists(atoms, min_size=1, max_size=2))
    body += draw(st.lists(st.tuples(PATTERNS, PATTERNS).map("{0[0]} = {0[1]}".format), max_size=2))
    body += [f"not {atom}" for atom in draw(st.lists(atoms, max_size=1)) if not atom.startswith("q")]
    body += draw(st.lists(st.tuples(VARIABLES, PATTERNS).map("not {0[0]} = {0[1]}".format), max_size=1))
    head = f"q({draw(VARIABLES)})" if of_q else f"p({draw(MADE)}, {draw(MADE)})"
    return f"{head} :- {', '.join(body)}"


def is_right(text: str) -> bool:
    program = parse_program(f"{text}.")
    return not analyse(program).errors


RULES = rules().filter(is_right)


@pytest.mark.parametrize("on_error", ["discard", "stop"])
def test_a_value_may_be_of_another_form(on_error: str) -> None:
    text = "r(1). r(f(2)). r(f(3)). r([]). r([1]). r([1, 2]). s(3). r(g(f(1), 3))."
    kb = KnowledgeBase(
        f"{text} a(X) :- r(X), not X = f(_), not [_ | _] = X. b(X) :- r(X), s(Y), not X = g(f(_), Y).",
        on_error=on_error,
    )
    assert kb.count("a") == 3
    assert kb.count("b") == 6
    assert len(kb.query("r(X), not X = f(_)")) == 5
    assert len(kb.query("r(X), not X = [_, _]", mode="demand")) == 6
    with pytest.raises(ProgramError, match="E202"):
        kb.query("r(X), not f(_) = f(_)")


@given(st.lists(RULES, min_size=1, max_size=3).flatmap(lambda found: states(FACTS, found)))
@settings(max_examples=examples(60))
def test_every_state_is_what_the_oracle_says(found: list[State]) -> None:
    follow(found, evaluate)


@given(st.lists(RULES, min_size=1, max_size=3), st.lists(st.sampled_from(FACTS), unique=True, min_size=3))
@settings(max_examples=examples(40))
def test_without_updates_the_facts_are_the_same(found: list[str], facts: list[str]) -> None:
    follow([State(tuple(facts), {f"r{k}": rule for k, rule in enumerate(found, 1)})], evaluate, updates=False)


@given(PATTERNS, PATTERNS)
@settings(max_examples=examples(60))
def test_queries_answer_what_a_rule_would_derive(left: str, right: str) -> None:
    body = f"t(X), u(Y, Z), {left} = {right}"
    text = "\n".join(f"{fact}." for fact in FACTS)
    assume(is_right(f"ask(X, Y, Z) :- {body}"))
    kb = KnowledgeBase(f"{text}\nask(X, Y, Z) :- {body}.")
    assert set(map(repr, kb.query(body))) == set(map(repr, kb.facts("ask")))


# -- what the language says --------------------------------------------------------------------------------------------


def facts(text: str, predicate: str, **options: object) -> list[tuple[object, ...]]:
    return sorted(KnowledgeBase(text, **options).facts(predicate), key=repr)


def test_unification_goes_in_both_directions() -> None:
    assert facts("a(1, 2). u(X, V, U, Y) :- a(X, Y), f(X, V) = f(U, Y).", "u") == [(1, 2, 1, 2)]


def test_terms_of_different_forms_are_never_equal() -> None:
    assert facts("a(1). p(X) :- a(X), f(X) = g(X). p(X) :- a(X), f(X) = [X]. p(X) :- a(X), [X] = [X, X].", "p") == []


@pytest.mark.parametrize(
    "body",
    [
        "f(X) = g(1)",
        "f(X) = g(Y)",
        "[X, Y | Z] = [1]",
        "h(X, f(Y)) = h(1, g(Z))",
        "f(X) = g(Y), Z = 1 / X",
        "f(X + 1) = [_]",
    ],
)
def test_variables_of_an_equality_that_never_holds_need_no_other_value(body: str) -> None:
    text = f"a(1). p(X) :- {body}. q(N) :- AGGREGATE({body}, a(1)) WITH COUNT(X) AS N."
    kb = KnowledgeBase(text, on_error="stop")
    assert (list(kb.facts("p")), list(kb.facts("q")), list(kb.query(body))) == ([], [], [])
    assert not list(KnowledgeBase(text).query("p(1)", mode="demand"))
    assert not any(evaluate(parse_program(text))[name] for name in ("p", "q"))


def test_an_underscore_has_no_value_in_an_equality_that_never_holds() -> None:
    with pytest.raises(ProgramError, match="E202"):
        KnowledgeBase("p(1) :- f(_ + 1) = g(1).")


def test_parts_are_compared_by_identity_and_not_by_value() -> None:
    assert facts("a(f(1)). b(1.0e0). p(X) :- a(f(X)), b(X). q(X) :- a(f(X)), b(Y), X = Y.", "p") == []
    assert facts("a(f(1)). b(1.0e0). q(X) :- a(f(X)), b(Y), X = Y.", "q") == [(1,)]


@pytest.mark.parametrize("body", ["X = 1, p(f(X))", "p(f(X)), X = 1", "X = Y, Y = 1, p(f(X))"])
def test_terms_of_facts_give_values_before_equalities_do(body: str) -> None:
    text = f"p(f(1.0e0)). q(X) :- {body}."
    assert rows(KnowledgeBase(text).facts("q")) == evaluate(parse_program(text))["q"] == {(Constant(1.0),)}


def test_lists_are_walked_from_their_heads_to_their_tails() -> None:
    text = "l([3, 1, 2]). l(T) :- l([_ | T]). member(X) :- l([X | _]). last(X) :- l([X])."
    assert facts(text, "member") == [(1,), (2,), (3,)]
    assert facts(text, "last") == [(2,)]


def test_lists_are_appended_by_two_rules() -> None:
    text = """
    list([1, 2]). list([2]). list([]). list([3]).
    append([], L, L) :- list(L).
    append([H | T], L, [H | R]) :- append(T, L, R), list([H | T]).
    """
    assert ((1, 2), (3,), (1, 2, 3)) in facts(text, "append")


def test_an_anonymous_part_does_not_multiply_an_aggregate() -> None:
    assert facts("a(f(1, 2)). a(f(1, 3)). n(X, count(X)) :- a(f(X, _)).", "n") == [(1, 1)]
    assert facts("a(f(1, 2)). a(f(1, 3)). n(X, count(Y)) :- a(f(X, Y)).", "n") == [(1, 2)]


def test_a_negated_term_with_an_unknown_part_means_that_there_is_none() -> None:
    assert facts("b(1). b(2). a(f(1, 7)). p(X) :- b(X), not a(f(X, _)).", "p") == [(2,)]


def test_a_constant_of_another_form_is_no_mistake_where_mistakes_stop() -> None:
    assert facts("a(1). a(f(2)). p(X) :- a(f(X)).", "p", on_error="stop") == [(2,)]


def test_terms_in_heads_are_constants_like_any_other() -> None:
    assert facts("a(1). a(2). p(pair(X, Y)) :- a(X), a(Y), X < Y.", "p") == [(Structure("pair", (1, 2)),)]


# -- programs that never end -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rule", ["n(s(X)) :- n(X)", "n(f(X, X)) :- n(X)", "n([[X]]) :- n(X)"])
def test_a_term_that_grows_for_ever_stops_with_a_message(rule: str) -> None:
    kb = KnowledgeBase(f"n(z). {rule}.")
    with pytest.raises(ProgramError, match="E490"):
        kb.count("n")


@pytest.mark.parametrize(
    ("first", "next_one", "what"),
    [
        ("3", "X * X", "number of more than 100,000 digits"),
        ("3", "X * X + X", "number of more than 100,000 digits"),
        ('"ab"', "func:concat(X, X)", "text of more than 50,000,000 characters"),
        ('"a"', 'func:replace(X, "a", "aaaaaaaaaa")', "text of more than 50,000,000 characters"),
        ('"ä"', "func:concat(X, X, X, upper(X))", "text of more than 50,000,000 characters"),
    ],
)
def test_a_value_that_grows_for_ever_stops_with_a_message(first: str, next_one: str, what: str) -> None:
    kb = KnowledgeBase(f"n({first}). n(Y) :- n(X), Y = {next_one}.")
    with pytest.raises(ProgramError, match=f"(?s)E490.*{what}"):
        kb.count("n")


def test_the_depth_of_terms_is_a_limit() -> None:
    kb = KnowledgeBase("n(z). n(s(X)) :- n(X).", limits=Limits(depth=20))
    with pytest.raises(ProgramError, match="more than 20 levels"):
        kb.count("n")


def test_a_growing_term_stops_a_change_and_leaves_everything_as_it_was() -> None:
    kb = KnowledgeBase("grow(X) :- seed(X). grow(s(X)) :- grow(X), go(1). seed(z).", limits=Limits(depth=20))
    assert kb.count("grow") == 1
    with pytest.raises(ProgramError, match="E490"):
        kb.insert("go", [(1,)])
    assert (kb.count("grow"), kb.count("go")) == (1, 0)


def test_a_list_that_grows_for_ever_stops_at_the_limit_on_facts() -> None:
    kb = KnowledgeBase("n([]). n([1 | X]) :- n(X).", limits=Limits(facts=50))
    with pytest.raises(ProgramError, match="E302"):
        kb.count("n")
