"""Unsafe rules over the universe of constants."""

from __future__ import annotations

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from corollary import KnowledgeBase
from corollary.analysis import analyse
from corollary.analysis.meaning import Meaning
from corollary.diagnostics import ProgramError
from corollary.language import parse_program
from corollary.program import Program
from corollary.reference.well_founded import well_founded
from tests.semantics.following import Facts, State, follow, states


def facts(text: str, predicate: str) -> list[tuple[object, ...]]:
    return sorted(KnowledgeBase(text, unsafe="universe").facts(predicate), key=repr)


def test_the_rule_of_the_paper() -> None:
    assert facts("q(?X) :- not p(?X). p(1). r(2, a).", "q") == [("a",), (2,)]


def test_unsafe_rules_are_rejected_unless_asked_for() -> None:
    with pytest.raises(ProgramError, match="E202"):
        KnowledgeBase("q(?X) :- not p(?X).")


def test_constants_of_rules_belong_to_the_universe_and_nothing_else_does() -> None:
    assert facts("all(X). p(1). q(a, X) :- p(X), X != 9.", "all") == [("a",), (1,), (9,)]


def test_what_rules_compute_belongs_to_the_universe() -> None:
    assert facts("p(1). p(X + 1) :- p(X), X < 3. pair(X, Y) :- p(X), Y > X.", "pair") == [(1, 2), (1, 3), (2, 3)]


def test_a_variable_under_one_negation_only_still_means_that_there_is_none() -> None:
    assert facts("q(1). q(2). p(2, 5). n(X) :- q(X), not p(X, Y).", "n") == [(1,)]


def test_an_unsafe_rule_below_a_negation_of_another() -> None:
    text = "u(X) :- not p(X). w(X) :- not u(X). p(1). q(2)."
    assert (facts(text, "u"), facts(text, "w")) == ([(2,)], [(1,)])


def test_queries_range_over_the_universe_too() -> None:
    kb = KnowledgeBase("p(1). p(2).", unsafe="universe")
    assert sorted(kb.query("p(X), Y > X")) == [(1, 2)]


@pytest.mark.parametrize(
    "rule",
    [
        *("p(f(_)).", "p(_).", "p(_) :- q(_).", "p(X, _) :- q(Y).", "p(X) :- AGGREGATE(q(Y)) WITH COUNT(_) AS X."),
        *("p(X) :- q(X), _ > X.", "p(X) :- AGGREGATE(q(Y), Y < _) WITH COUNT(Y) AS X."),
    ],
)
def test_an_underscore_that_needs_a_value_gets_none_from_the_universe(rule: str) -> None:
    with pytest.raises(ProgramError, match="E202"):
        KnowledgeBase(f"{rule} q(1).", unsafe="universe")
    kb = KnowledgeBase("q(1).", unsafe="universe")
    with pytest.raises(ProgramError, match="E202"):
        kb.add_rules(rule)
    with pytest.raises(ProgramError, match="E202"):
        kb.query("q(X), _ > X")


def test_the_universe_follows_changes() -> None:
    kb = KnowledgeBase("q(X) :- not p(X). p(1). r(2).", unsafe="universe")
    assert sorted(kb.facts("q")) == [(2,)]
    kb.insert("r", [(3,)])
    assert sorted(kb.facts("q")) == [(2,), (3,)]
    kb.delete("r", [(2,)])
    assert sorted(kb.facts("q")) == [(3,)]
    assert kb.predicates() == ["p", "q", "r"]


def test_stated_facts_feed_the_universe_with_equal_constants_too() -> None:
    text = "a = b. e(c). r(d). s(Z, X) :- r(X). q(X) :- e(X), not s(X, X)."
    assert [one for one, _ in facts(text, "s")] == ["a", "b", "c", "d"]
    kb = KnowledgeBase(text, unsafe="universe")
    kb.materialise()
    kb.insert("e", [("z",)])
    kb.delete("=", [("a", "b")])
    assert sorted(kb.facts("s")) == [("c", "d"), ("d", "d"), ("z", "d")]


# -- generated programs ------------------------------------------------------------------------------------------------

FACTS = ("d(1)", "d(2)", "e(1, a)", "e(2, 3)", "e(b, 1)", "p(2)", "q(c)", "s(1, a)")


@st.composite
def rules(draw: st.DrawFn) -> str:
    literals = st.sampled_from(
        ("p({0})", "q({0})", "s({0}, {1})", "e({0}, {1})", "d({0})", "s({0}, _)", "{0} != {1}", "{0} = 1")
    )
    names = st.permutations(("X", "Y"))
    positive = [draw(literals).format(*draw(names)) for _ in range(draw(st.integers(0, 2)))]
    negated = draw(st.lists(literals.filter(lambda one: "=" not in one), max_size=2))
    body = [*positive, *(f"not {one.format(*draw(names))}" for one in negated)]
    head = draw(st.sampled_from(("p(X)", "q(X)", "s(X, Y)", "p(Y)", "p(b)")))
    return f"{head} :- {', '.join(body)}" if body else head


# Rules without a body are facts for all constants; a name needs a rule, so that they can be removed.
RULES = st.lists(rules().filter(lambda one: ":-" in one), min_size=1, max_size=4)


def true_facts(program: Program) -> Facts:
    return well_founded(program, unsafe=True)[0]


@given(RULES.flatmap(lambda found: states(FACTS, found)))
@settings(max_examples=50)
def test_with_well_founded_semantics_every_program_has_a_meaning(found: list[State]) -> None:
    follow(found, true_facts, semantics="well-founded", unsafe="universe")


@given(RULES.flatmap(lambda found: states(FACTS[:5], found)))
@settings(max_examples=50)
def test_stratified_programs_are_what_the_oracle_says(found: list[State]) -> None:
    universe = Meaning(unsafe="universe")
    assume(all(not analyse(parse_program(state.text)).under(universe).errors for state in found))
    follow(found, true_facts, unsafe="universe")
