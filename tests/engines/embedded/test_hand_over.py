"""One way of following changes goes on where another one has stopped: streams, changes and rule changes take turns.

After each of them, and after each that a limit has stopped, the state is one that the next may trust (see `trusted_state`).
"""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corollary import KnowledgeBase, ProgramError
from corollary.language import parse_program
from corollary.settings import STRATEGIES, STREAM_STRATEGIES
from tests.budgets import examples
from tests.engine_suite.scripts import apply
from tests.engines.embedded.trusted_state import check_state, keep_journal
from tests.generator import EVERYTHING, POSITIVE, PURE, Change, Profile, Scenario, scenarios
from tests.streams.updates import as_stream, update_of

PROFILES = {"pure": PURE, "positive": POSITIVE, "everything": EVERYTHING}
ORDINARY = "an ordinary change"


def follow_by_turns(scenario: Scenario, strategy: str, seed: int, index: str) -> list[str]:
    """Follows each change by the strategy or by a stream, and checks the state after it; returns who followed what."""
    choose = random.Random(seed)
    kb = KnowledgeBase(scenario.program, strategy=strategy, index=index)
    journal = keep_journal(kb) if choose.random() < 0.5 else None
    check_state(kb, scenario.program, journal)
    told = []
    before = scenario.program
    for change, program in as_stream(scenario, choose):
        if choose.random() < 0.4:
            way = choose.choice([ORDINARY, *STREAM_STRATEGIES])
            is_stopped = stopped(kb, change, way, choose.choice([1, 3, 8]))
            told.append(f"{way}, {'stopped' if is_stopped else 'within the limit'}")
            check_state(kb, before if is_stopped else program, journal)
            if not is_stopped:
                before = program
                continue
        way = choose.choice([ORDINARY, *STREAM_STRATEGIES])
        told.append(way)
        if not followed(kb, change, way):
            return told
        check_state(kb, program, journal)
        if choose.random() < 0.3:  # whoever asks for owners makes the engine go back to its own way
            kb.rules()
            told.append("back")
            check_state(kb, program, journal)
        before = program
    return told


def stopped(kb: KnowledgeBase, change: Change, way: str, facts: int) -> bool:
    """Tries a change with a limit on facts; returns whether it was refused."""
    unlimited = kb.limits
    kb.limits = type(unlimited)(facts=facts)
    try:
        if way == ORDINARY:
            apply(kb, change)
            return False
        return any(result.rejected is not None for result in kb.stream([update_of(change)], strategy=way))
    except ProgramError as error:
        if [found.code for found in error.diagnostics] != ["E302"]:
            raise
        return True
    finally:
        kb.limits = unlimited


def followed(kb: KnowledgeBase, change: Change, way: str) -> bool:
    if way == ORDINARY:
        apply(kb, change)
        return True
    (result,) = kb.stream([update_of(change)], strategy=way)
    if result.rejected is not None:  # the predicate of an inserted fact that nothing mentions
        assert {diagnostic.code for diagnostic in result.rejected.diagnostics} == {"E451"}
    return result.rejected is None


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_each_way_of_following_changes_can_trust_what_the_one_before_it_left(strategy: str, profile: str) -> None:
    chosen: Profile = PROFILES[profile].but(max_changes=5)

    @settings(max_examples=examples(40))
    @given(scenarios(chosen), st.integers(0, 1000), st.sampled_from(["hash", "hash", "yield"]))
    def run(scenario: Scenario, seed: int, index: str) -> None:
        follow_by_turns(scenario, strategy, seed, index)

    run()


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_counters_are_counted_once_a_stream_is_over(strategy: str) -> None:
    kb = KnowledgeBase("p(X) :- e(X, Y), p(Y). e(2, 2). p(4).", strategy=strategy)
    list(kb.stream([{"insert": {"e": [(2, 4)]}}]))
    kb.delete("e", [(2, 2)])
    assert set(kb.facts("p")) == {(2,), (4,)}
    kb.delete("e", [(2, 4)])
    assert set(kb.facts("p")) == {(4,)}


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_step_that_streams_leave_as_it_is_counts_again_after_one(strategy: str) -> None:
    """Arithmetic keeps a rule out of the regions of streams: the step is the same for both."""
    kb = KnowledgeBase("n(X + 1) :- n(X), m(Y), X < 3. n(0). m(1). m(2).", strategy=strategy)
    list(kb.stream([{"insert": {"m": [(3,)]}}, {"delete": {"m": [(1,)]}}]))
    for row in ((2,), (3,)):
        assert set(kb.facts("n")) == {(0,), (1,), (2,), (3,)}
        kb.delete("m", [row])
    assert set(kb.facts("n")) == {(0,)}


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_pair_that_only_a_closure_supports_is_handed_over(strategy: str) -> None:
    """The closure has started from nothing, and one of the pairs that it got from others is left to it."""
    program = "p(X, Y) :- e(X, Y). p(X, Y) :- p(X, Z), p(Z, Y)."
    kb = KnowledgeBase(program, strategy=strategy)
    journal = keep_journal(kb)
    kb.insert("e", [(0, 0), (0, 1), (1, 0)])
    kb.delete("e", [(0, 0)])
    after = parse_program(program + "e(0, 1). e(1, 0).")
    check_state(kb, after, journal)
    for way in STREAM_STRATEGIES:
        list(kb.stream([{"insert": {"e": [(0, 0)]}}, {"delete": {"e": [(0, 0)]}}], strategy=way))
        check_state(kb, after, journal)
        kb.rules()
        check_state(kb, after, journal)
