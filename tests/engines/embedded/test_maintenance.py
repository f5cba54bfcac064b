"""After every change the maintained state is what the oracle derives from scratch, and the reported difference is exact."""

from __future__ import annotations

from unittest.mock import patch

from hypothesis import given, settings
from hypothesis import strategies as st

from corollary.settings import STRATEGIES
from tests.budgets import examples
from tests.engine_suite.scripts import follow
from tests.generator import EVERYTHING, INTEGERS, POSITIVE, PURE, Scenario, scenarios

# Two thousand programs, each with one strategy; small ones find what large ones do, in less time.
SMALL = {"max_facts": 8, "max_groups": 3, "max_changes": 3}


@settings(max_examples=examples(700))
@given(scenarios(EVERYTHING.but(**SMALL)), st.sampled_from(STRATEGIES))
def test_every_change_gives_the_facts_of_the_oracle(scenario: Scenario, strategy: str) -> None:
    follow(scenario, strategy=strategy)


@settings(max_examples=examples(500))
@given(scenarios(POSITIVE.but(**SMALL)), st.sampled_from(STRATEGIES))
def test_recursive_programs_follow_every_change(scenario: Scenario, strategy: str) -> None:
    follow(scenario, strategy=strategy)


@settings(max_examples=examples(500))
@given(scenarios(INTEGERS.but(**SMALL)), st.sampled_from(STRATEGIES))
def test_facts_that_meet_often_follow_every_change(scenario: Scenario, strategy: str) -> None:
    follow(scenario, strategy=strategy)


@settings(max_examples=examples(400))
@given(scenarios(EVERYTHING.but(**SMALL, mixed_closures=30)), st.sampled_from(STRATEGIES))
def test_closures_among_other_rules_follow_every_change(scenario: Scenario, strategy: str) -> None:
    with patch("corollary.analysis.meaning.WITH_MODULES", STRATEGIES):
        follow(scenario, strategy=strategy)


@settings(max_examples=examples(300))
@given(scenarios(PURE.but(max_facts=20, max_groups=4, max_changes=3)), st.sampled_from(STRATEGIES))
def test_pure_rules_follow_every_change_without_closures(scenario: Scenario, strategy: str) -> None:
    follow(scenario, strategy=strategy, without=["closures"])
