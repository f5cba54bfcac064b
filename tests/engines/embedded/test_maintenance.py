"""After every change the maintained state is what the oracle derives from scratch, and the reported difference is exact."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corollary.settings import STRATEGIES
from tests.engines.embedded import long_run
from tests.engines.embedded.scenarios import follow
from tests.generator import EVERYTHING, INTEGERS, POSITIVE, PURE, Scenario, scenarios

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


def test_a_long_run_says_what_it_tried(capsys: pytest.CaptureFixture[str]) -> None:
    """`make test-programs` runs it for minutes."""
    assert long_run.main(["--minutes", "0", "--seed", "3"]) == 0
    assert "25 programs" in capsys.readouterr().out.splitlines()[-1]


def test_a_long_run_that_fails_says_where(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(scenario: Scenario, strategy: str) -> None:
        raise AssertionError

    monkeypatch.setattr(long_run, "follow", fail)
    with pytest.raises(AssertionError):
        long_run.main(["--minutes", "0", "--seed", "4"])
    assert "make test-programs SEED=4" in capsys.readouterr().err
