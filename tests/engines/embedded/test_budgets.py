"""Recursive steps that grow or shrink by much change their way of following in the middle of it: nothing else may change."""

from __future__ import annotations

from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corollary import Change, KnowledgeBase
from corollary.reasoning.maintain import chooser, recursive_step
from tests.budgets import examples
from tests.engine_suite.scripts import apply, difference, expected, minus, visible
from tests.engines.embedded.trusted_state import check_state, keep_journal
from tests.generator import EVERYTHING, POSITIVE, Profile, Scenario, scenarios

PROFILES = {"positive": POSITIVE, "everything": EVERYTHING}
GUARDED = """
a(X, Y) :- e(X, Y).
a(X, Z) :- a(X, Y), e(Y, Z), X != Z.
"""


@pytest.mark.parametrize("profile", PROFILES)
def test_steps_that_give_up_following_at_any_point_derive_the_same(profile: str) -> None:
    chosen: Profile = PROFILES[profile].but(max_changes=4)

    @settings(max_examples=examples(60))
    @given(scenarios(chosen), st.sampled_from((0, 1, 3)), st.sampled_from((0, 2, 8)), st.booleans())
    def check(scenario: Scenario, few: int, instances: int, is_kept: bool) -> None:
        program, *later = scenario.programs()
        kb = KnowledgeBase(program)
        journal = keep_journal(kb) if is_kept else None
        before = visible(kb)
        unbounded = {"_MUCH_LOST": 2.0, "_MUCH_GAINED": 2.0, "_START": 1 << 40}
        with (
            patch.multiple(recursive_step, _FEW=few, _PART=1 << 40),
            patch.multiple(chooser, _AT_LEAST=instances, _MOST=2.0, **unbounded),
        ):
            for change, after_change in zip(scenario.changes, later, strict=True):
                result = apply(kb, change)
                after = expected(after_change)
                assert difference(result) == (minus(after, before), minus(before, after))
                check_state(kb, after_change, journal)
                before = after

    check()


def test_a_rule_that_brings_much_goes_on_from_what_is_there() -> None:
    kb = KnowledgeBase(GUARDED)
    kb.insert("e", [(n, n + 1) for n in range(150)] + [(n, n + 1) for n in range(200, 350)])
    kb.insert("bridge", [(150, 200)])
    before = kb.count("a")
    result = kb.apply(Change(add_rules=("b: a(X, Z) :- a(X, Y), bridge(Y, V), a(V, Z).",)))
    (step,) = result.report.steps
    assert (step.strategy, step.inserted) == ("semi-naive", 150 * 150)
    assert step.inserted == len(result.inserted["a"]) == kb.count("a") - before
    assert step.instances < 2 * step.inserted  # what was there was not derived again


def test_a_deletion_that_leaves_little_soon_derives_what_is_left() -> None:
    kb = KnowledgeBase("a(X, Y) :- start(X, Y). a(X, Z) :- a(X, Y), e(Y, Z), X != Z.")
    kb.insert("start", [(n, 1) for n in range(1_000, 1_300)])
    kb.insert("e", [(n, n + 1) for n in range(1, 400)])
    assert kb.count("a") == 300 * 400
    result = kb.apply(Change(delete={"e": [(1, 2)]}))
    (step,) = result.report.steps
    assert (step.strategy, step.reason) == ("recompute", "little is left")
    assert step.instances < 5_000
    assert (len(result.deleted["a"]), kb.count("a")) == (300 * 399, 300)


def test_rules_that_go_with_a_split_only_take_facts_away() -> None:
    text = (
        "r1: a(X, Y) :- e(X, Y). r2: a(X, Z) :- a(X, Y), b(Y, Z). r3: b(X, Y) :- e(Y, X). r4: b(X, Y) :- a(X, Y), m(X)."
    )
    kb = KnowledgeBase(text)
    kb.insert("e", [(n, n + 1) for n in range(60)])
    kb.insert("m", [(n,) for n in range(0, 60, 7)])
    before = visible(kb)
    result = kb.apply(Change(remove_rules=("r4",)))
    assert not result.inserted
    after = visible(kb)
    assert difference(result) == ({}, minus(before, after))
