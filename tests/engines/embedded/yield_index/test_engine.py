"""A knowledge base says the same with and without the index, after every change."""

from __future__ import annotations

from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corollary import Change, KnowledgeBase
from corollary.engines.embedded.yield_index import index as yield_index
from corollary.engines.embedded.yield_index.strategy import IndexChoice, YieldStrategy
from corollary.settings import STRATEGIES
from tests.budgets import examples
from tests.engine_suite.scripts import follow
from tests.engines.embedded.scenarios import engine_of, support
from tests.generator import EVERYTHING, INTEGERS, POSITIVE, Scenario, scenarios

SMALL = {"max_facts": 8, "max_groups": 3, "max_changes": 4}
CHAIN = "r1: h(X, W) :- a(X, Y), b(Y, Z), c(Z, W)."


@settings(max_examples=examples(150), deadline=None)
@given(scenarios(EVERYTHING.but(**SMALL)), st.sampled_from(STRATEGIES))
def test_every_change_gives_the_facts_of_the_oracle(scenario: Scenario, strategy: str) -> None:
    follow(scenario, strategy=strategy, index="yield")


@settings(max_examples=examples(150), deadline=None)
@given(scenarios(POSITIVE.but(**SMALL)), st.sampled_from(STRATEGIES), st.sampled_from([(), ("closures",)]))
def test_recursive_programs_follow_every_change(scenario: Scenario, strategy: str, without: tuple[str, ...]) -> None:
    follow(scenario, strategy=strategy, without=without, index="yield")


@settings(max_examples=examples(150), deadline=None)
@given(scenarios(INTEGERS.but(**SMALL)))
def test_support_is_what_it_is_without_the_index(scenario: Scenario) -> None:
    assert support(follow(scenario, index="yield")) == support(follow(scenario, index="hash"))


@settings(max_examples=examples(150), deadline=None)
@given(scenarios(EVERYTHING.but(**SMALL)), st.sampled_from(STRATEGIES), st.sampled_from((0, 1, 2, 5)))
def test_where_a_fact_completes_too_much_another_way_goes_on(scenario: Scenario, strategy: str, most: int) -> None:
    with patch.object(yield_index, "_MOST_LOOKS", most):
        follow(scenario, strategy=strategy, index="yield")


@settings(max_examples=examples(150), deadline=None)
@given(scenarios(POSITIVE.but(**SMALL)), st.sampled_from((0, 1, 2, 5)))
def test_support_stays_right_where_the_index_gives_up_in_a_recursion(scenario: Scenario, most: int) -> None:
    with patch.object(yield_index, "_MOST_LOOKS", most):
        kb = follow(scenario, index="yield", without=("closures",))
    assert support(kb) == support(follow(scenario, index="hash", without=("closures",)))


def test_a_rule_with_the_index_says_so() -> None:
    kb = KnowledgeBase(CHAIN, index="yield")
    kb.materialise()
    kb.insert("a", [(1, 2)])
    kb.insert("b", [(2, 3)])
    report = kb.apply(Change(insert={"c": [(3, 4)]}))
    assert [step.strategy for step in report.report.steps] == ["yield index"]
    assert list(report.inserted["h"]) == [(1, 4)]
    assert list(kb.apply(Change(delete={"b": [(2, 3)]})).deleted["h"]) == [(1, 4)]


def test_each_rule_may_have_its_own() -> None:
    kb = KnowledgeBase(f"{CHAIN} r2: g(X) :- h(X, Y), a(X, X).", index={"r1": "yield", "r2": "hash"})
    kb.materialise()
    result = kb.apply(Change(insert={"a": [(1, 1)], "b": [(1, 1)], "c": [(1, 1)]}))
    used = [(step.owner, step.strategy == "yield index") for step in result.report.steps]
    assert used == [("{r1}", True), ("{r2}", False)]
    assert list(kb.facts("g")) == [(1,)]


def test_the_cases_of_a_rule_that_constants_split_have_its_index() -> None:
    program = "p(2, X) :- q(X), not r(3, X). copy: r(Y, X) :- p(Y, X), s(X). s(1)."
    kb = KnowledgeBase(program, index={"r1": "yield", "copy": "yield"})
    kb.materialise()
    result = kb.apply(Change(insert={"q": [(1,)]}))
    cases = {step.owner: step.strategy for step in result.report.steps if step.owner.startswith("{copy where ")}
    assert len(cases) == 2
    assert set(cases.values()) == {"yield index"}
    assert list(kb.facts("r")) == [(2, 1)]


def test_activations_cascade_through_hyper_nodes_until_nothing_yields() -> None:
    rules = """
    reach(X, Y) :- road(X, Y), open(X).
    reach(X, Z) :- reach(X, Y), road(Y, Z), open(Y).
    both(X, Y) :- reach(X, Y), reach(Y, X), not shut(X).
    """
    kb = KnowledgeBase(rules, index="yield", without=["closures"])
    kb.materialise()
    kb.insert("road", [(number, (number + 1) % 20) for number in range(20)])
    kb.insert("open", [(number,) for number in range(19)])
    assert kb.count("both") == 0
    result = kb.apply(Change(insert={"open": [(19,)]}))
    assert [step.strategy for step in result.report.steps] == ["yield index"] * 3
    assert (kb.count("reach"), kb.count("both")) == (400, 400)
    assert len(kb.apply(Change(insert={"shut": [(3,)]})).deleted["both"]) == 20
    assert kb.apply(Change(delete={"open": [(7,)], "shut": [(3,)]})).report.steps
    assert kb.count("both") == 0


def test_rows_that_get_other_numbers_are_found_again() -> None:
    kb = KnowledgeBase(CHAIN, index="yield")
    kb.materialise()
    kb.insert("b", [(number, number) for number in range(3000)])
    kb.insert("c", [(number, 0) for number in range(3000)])
    kb.delete("b", [(number, number) for number in range(2500)])  # the relation is put together anew
    assert len(kb.apply(Change(insert={"a": [(1, 2), (1, 2999)]})).inserted["h"]) == 1
    kb.delete("b", [(2999, 2999)])
    assert kb.count("h") == 0
    assert engine_of(kb).count("b") == 499


def test_a_change_that_fails_leaves_the_index_as_it_was() -> None:
    kb = KnowledgeBase(CHAIN, index="yield", limits={"facts": 10})
    kb.materialise()
    kb.insert("a", [(1, 2)])
    with pytest.raises(Exception, match="E302"):
        kb.insert("b", [(2, number) for number in range(20)])
    kb.insert("b", [(2, 3)])
    kb.insert("c", [(3, 4)])
    assert list(kb.facts("h")) == [(1, 4)]


@pytest.mark.parametrize("wanted", ["tree", {"r1": "tree"}])
def test_an_index_that_does_not_exist(wanted: object) -> None:
    with pytest.raises(ValueError, match="there is no index 'tree'"):
        KnowledgeBase(CHAIN, index=wanted)


# -- choosing ----------------------------------------------------------------------------------------------------------

MANY = 10_000  # changed facts, more than a decision needs
SLOW, FAST = MANY * 5e-6, MANY * 1e-6


def test_the_index_is_chosen_where_looking_in_vain_takes_long() -> None:
    choice = IndexChoice("auto")
    assert not choice.note("r1", MANY // 2, 10, SLOW / 2, MANY), "there is not enough to decide by"
    assert choice.note("r1", MANY // 2, 10, SLOW / 2, MANY)
    assert choice.uses_index("r1")
    assert not choice.uses_index("r2")


@pytest.mark.parametrize(
    ("instances", "seconds", "facts"), [(MANY, SLOW, MANY), (10, FAST, MANY), (10, SLOW, 100 * MANY)]
)
def test_it_is_not_where_facts_match_or_nothing_is_lost_or_it_would_not_be_paid_for(
    instances: int, seconds: float, facts: int
) -> None:
    choice = IndexChoice("auto")
    assert not choice.note("r1", MANY, instances, seconds, facts)
    assert not choice.uses_index("r1")


@pytest.mark.parametrize(("instances", "seconds"), [(MANY, FAST), (10, 2 * SLOW)])
def test_it_is_left_where_facts_match_or_it_is_slower(instances: int, seconds: float) -> None:
    choice = IndexChoice("auto")
    choice.note("r1", MANY, 10, SLOW, MANY)
    assert not choice.note("r1", MANY, 10, FAST, MANY)
    assert choice.note("r1", MANY, instances, seconds, MANY)
    assert not choice.uses_index("r1")
    assert not choice.note("r1", MANY, 10, SLOW, MANY), "it is not tried again soon"


def test_what_a_user_says_holds() -> None:
    choice = IndexChoice({"r1": "yield", "r2": "hash"})
    for rule in ("r1", "r2"):
        choice.note(rule, MANY, 10, SLOW, MANY)
    assert choice.uses_index("r1")
    assert not choice.uses_index("r2")


@pytest.mark.parametrize(("index", "is_wrapped"), [("hash", False), ("auto", True), ({"r1": "hash"}, True)])
def test_the_index_is_around_changes_while_a_rule_may_use_it(index: str | dict[str, str], is_wrapped: bool) -> None:
    kb = KnowledgeBase("r1: p(X) :- q(X, Y), r(Y). q(1, 2). r(2).", index=index)
    kb.materialise()
    engine = kb._backend.engine
    assert not isinstance(engine.following, YieldStrategy)
    kb.add_rules("r2: s(X, U) :- q(X, Y), q(Y, Z), q(Z, U).")
    assert isinstance(engine.following, YieldStrategy) == is_wrapped
    kb.insert("q", [(2, 3), (3, 4)])
    assert list(kb.facts("s")) == [(1, 4)]
    kb.remove_rules("r2")
    assert not isinstance(engine.following, YieldStrategy)
