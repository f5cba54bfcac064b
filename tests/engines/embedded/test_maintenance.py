"""After every change the maintained state is what the oracle derives from scratch, and the reported difference is exact."""

from __future__ import annotations

import os
import time

import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from corollary.backends.backend import STRATEGIES
from tests.engines.embedded.scenarios import follow
from tests.generator import EVERYTHING, INTEGERS, POSITIVE, PURE, Profile, Scenario, scenarios

# Two thousand programs, each with one strategy; small ones find what large ones do, in less time.
SMALL = {"max_facts": 8, "max_groups": 3, "max_changes": 3}


@settings(max_examples=700)
@given(scenarios(EVERYTHING.but(**SMALL)), st.sampled_from(STRATEGIES))
def test_every_change_gives_the_facts_of_the_oracle(scenario: Scenario, strategy: str) -> None:
    follow(scenario, strategy)


@settings(max_examples=500)
@given(scenarios(POSITIVE.but(**SMALL)), st.sampled_from(STRATEGIES))
def test_recursive_programs_follow_every_change(scenario: Scenario, strategy: str) -> None:
    follow(scenario, strategy)


@settings(max_examples=500)
@given(scenarios(INTEGERS.but(**SMALL)), st.sampled_from(STRATEGIES))
def test_facts_that_meet_often_follow_every_change(scenario: Scenario, strategy: str) -> None:
    follow(scenario, strategy)


@settings(max_examples=300)
@given(scenarios(PURE.but(max_facts=20, max_groups=4, max_changes=3)), st.sampled_from(STRATEGIES))
def test_pure_rules_follow_every_change_without_closures(scenario: Scenario, strategy: str) -> None:
    follow(scenario, strategy, without=["closures"])


@pytest.mark.slow
@pytest.mark.parametrize("profile", [EVERYTHING, POSITIVE, PURE], ids=["everything", "positive", "pure"])
def test_all_strategies_follow_long_scripts(profile: Profile) -> None:
    """For `COROLLARY_SECONDS` seconds; says how many programs it tried, and from which seed on."""
    until = time.monotonic() + float(os.environ.get("COROLLARY_SECONDS", "60"))
    first = int(os.environ.get("COROLLARY_SEED", str(time.time_ns() % 1_000_000)))
    tried = 0

    @settings(max_examples=50, phases=[Phase.generate, Phase.shrink], suppress_health_check=list(HealthCheck))
    @given(scenarios(profile))
    def some(scenario: Scenario) -> None:
        nonlocal tried
        tried += 1
        for strategy in STRATEGIES:
            follow(scenario, strategy)

    number = first
    while time.monotonic() < until:
        print(f"seed {number}: {tried} programs so far")
        seed(number)(some)()
        number += 1
    print(f"tried {tried} programs with every strategy, seeds {first} to {number - 1}")
