"""Unsafe rules over the universe of constants."""

from __future__ import annotations

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from corollary import Change, KnowledgeBase
from corollary.analysis import Analysis, analyse
from corollary.analysis.meaning import Meaning
from corollary.diagnostics import ProgramError
from corollary.language import parse_program
from corollary.program import Program, Structure
from tests.budgets import examples
from tests.oracle.well_founded import well_founded
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


def test_sql_has_no_universe() -> None:
    kb = KnowledgeBase("safe: p(X) :- q(X). unsafe: u(1) :- not p(X), not q(X). q(2).", unsafe="universe")
    safe, unsafe = kb.sql().split("\n\n")
    assert "CREATE OR REPLACE TEMPORARY VIEW" in safe
    assert unsafe == "-- u(1) :- not p(X), not q(X).\n-- has no SQL: variables that range over all constants"


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


# -- stated facts of derived predicates --------------------------------------------------------------------------------

# All facts of 'b' as the universe of a rule that 'b' negates would be negation through recursion; those stated are not.
TWO_LEVELS = "r1: a(X) :- not b(X). r2: b(X) :- not c(X). c(one). c(two)."


def told(kb: KnowledgeBase, predicate: str) -> set[object]:
    return {row[0] for row in kb.facts(predicate)}


@pytest.mark.parametrize("updates", [True, False])
def test_stated_facts_of_derived_predicates_belong_to_the_universe(updates: bool) -> None:
    kb = KnowledgeBase(f"{TWO_LEVELS} a(zed).", unsafe="universe", updates=updates)
    assert (told(kb, "a"), told(kb, "b")) == ({"one", "two", "zed"}, {"zed"})
    kb.insert("a", [("yak",)])
    kb.insert("b", [("one",), ("xen",)])
    assert (told(kb, "a"), told(kb, "b")) == ({"two", "yak", "zed"}, {"one", "xen", "yak", "zed"})
    change = kb.apply(Change(delete={"a": [("zed",), ("yak",)]}, insert={"a": [("yak",)]}))
    assert {name: set(rows) for name, rows in change.deleted.items()} == {"a": {("zed",)}, "b": {("zed",)}}
    assert (change.report.explicit_deleted, change.report.explicit_inserted) == (2, 1) if updates else True
    assert kb.predicates() == ["a", "b", "c"]


def test_a_stated_fact_that_follows_as_long_as_it_is_stated() -> None:
    kb = KnowledgeBase(f"{TWO_LEVELS} b(zed). b(one).", unsafe="universe")
    assert told(kb, "b") == {"one", "zed"}
    kb.delete("b", [("zed",), ("one",)])
    assert (told(kb, "b"), told(kb, "a")) == (set(), {"one", "two"})


def test_rules_may_begin_and_stop_to_need_what_was_stated() -> None:
    kb = KnowledgeBase(f"{TWO_LEVELS} a(zed). b(yak).", unsafe="universe")
    kb.materialise()
    kb.remove_rules("r2")
    assert (told(kb, "a"), told(kb, "b")) == ({"one", "two", "zed"}, {"yak"})
    kb.apply(Change(delete={"b": [("yak",)]}, insert={"a": [("xen",)]}, add_rules=("r2: b(X) :- not c(X).",)))
    assert (told(kb, "a"), told(kb, "b")) == ({"one", "two", "xen", "zed"}, {"xen", "zed"})
    with pytest.raises(ProgramError):
        kb.apply(Change(insert={"a": [("wit",)]}, add_rules=("c(X + 1) :- b(X), not a(X).",)))
    kb.delete("a", [("zed",)])
    assert told(kb, "b") == {"xen"}


def test_a_rule_that_makes_constants_feeds_the_universe_by_itself() -> None:
    rules = {"r1": "a(X) :- not b(X)", "r2": "b(X) :- not c(X)", "r3": "a(X + 1) :- d(X)", "r4": "b([X, 7]) :- d(X)"}
    found = [State(("c(1)", "d(1)"), rules), State(("c(1)", "c(2)", "d(5)"), rules), State(("c(1)", "a(9)"), rules)]
    follow(found, true_facts, unsafe="universe")
    assert facts(" ".join(f"{rule}." for rule in rules.values()) + "c(1). d(1).", "b") == [((1, 7),), (2,), (7,)]
    with pytest.raises(ProgramError, match="E203"):  # what is made depends on what is not there
        KnowledgeBase("a(X) :- not b(X). b(X) :- not c(X). a(X + 1) :- a(X), X < 5.", unsafe="universe")


def test_equal_constants_of_stated_facts() -> None:
    rules = {"r1": "a(X) :- not b(X)", "r2": "b(X) :- not c(X)", "r3": "X = Y :- e(X, Y)"}
    facts = ("a(zed)", "b(v)", "c(one)", "e(one, uno)", "e(zed, yak)", "w = v")
    found = [State(facts, rules), State(facts[2:], rules), State(facts[1:4], rules), State(facts, rules)]
    follow(found, true_facts, unsafe="universe")


def test_the_universe_has_terms_of_equal_parts() -> None:
    rules = {"r1": "a(X) :- not b(X)", "r2": "b(X) :- not universe(X)", "r3": "universe(X) :- same(X), c(X)"}
    facts = (
        "a(zed)",
        "b(h(zed))",
        "c(g(k, k))",
        "k = l",
        "same(f(k))",
        "same(g(l, k))",
        "universe(f(one))",
        "zed = one",
    )
    found = [State(facts, rules), State(facts[2:], rules), State(facts[:4], rules), State(facts, rules)]
    follow(found, true_facts, unsafe="universe")


def test_a_fact_of_a_new_form_where_constants_are_equal() -> None:
    kb = KnowledgeBase(f"{TWO_LEVELS} a(zed). zed = one.", unsafe="universe")
    kb.materialise()
    kb.insert("d", [(Structure("f", ("one",)),)])
    terms = {Structure("f", ("one",)), Structure("f", ("zed",))}
    assert (told(kb, "a"), told(kb, "b")) == ({"one", "two", "zed"}, terms)


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
@settings(max_examples=examples(50))
def test_with_well_founded_semantics_every_program_has_a_meaning(found: list[State]) -> None:
    follow(found, true_facts, semantics="well-founded", unsafe="universe")


@given(RULES.flatmap(lambda found: states(FACTS, found)))
@settings(max_examples=examples(50))
def test_stratified_programs_are_what_the_oracle_says(found: list[State]) -> None:
    assume(all(not under_universe(state).errors for state in found))
    follow(found, true_facts, unsafe="universe")


def under_universe(state: State) -> Analysis:
    return analyse(parse_program(state.text)).under(Meaning(unsafe="universe"))


ATOMS = ("d({0})", "e({0}, {1})", "p({0})", "q({0})", "s({0}, {1})", "t({0})")
OWN_CONSTANTS = ("d(1)", "e(1, a)", "p(2)", "p(z)", "q(c)", "q(1)", "s(1, y)", "s(x, x)", "t(z)", "t(w)")


@st.composite
def rules_of_levels(draw: st.DrawFn) -> str:
    """Rules that negate what stands before their heads in `ATOMS`: most programs of them are stratified."""
    head = draw(st.sampled_from(("p(X)", "p(Y)", "q(X)", "q(b)", "s(X, Y)", "t(X)")))
    level = next(place for place, atom in enumerate(ATOMS) if atom[0] == head[0])
    names = st.permutations(("X", "Y"))
    body = [draw(st.sampled_from(ATOMS[: level + 1])) for _ in range(draw(st.integers(0, 1)))]
    body += [f"not {draw(st.sampled_from(ATOMS[:level]))}" for _ in range(draw(st.integers(1 - len(body), 2)))]
    return f"{head} :- {', '.join(one.format(*draw(names)) for one in body)}"


TWO_NEGATIONS = ["p(X) :- not d(X)", "t(X) :- not p(X)"]
MAKING = st.sampled_from(
    ("t(X + 1) :- d(X), X < 3", "q(f(X)) :- d(X)", "p(X + 1) :- p(X), X < 3", "s(X, X * 5) :- e(X, _)")
)
LEVELS = st.lists(st.one_of(rules_of_levels(), MAKING), max_size=2).map(lambda found: [*TWO_NEGATIONS, *found])


@given(LEVELS.flatmap(lambda found: states(OWN_CONSTANTS, found)), st.sampled_from(("auto", "dred", "dred-counting")))
@settings(max_examples=examples(50))
def test_stated_facts_of_derived_predicates_have_constants_of_their_own(found: list[State], strategy: str) -> None:
    assume(all(not under_universe(state).errors for state in found))
    follow(found, true_facts, unsafe="universe", strategy=strategy)
