"""After every update of a generated stream the state equals recomputation, for every strategy."""

from __future__ import annotations

import random
from collections import Counter
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.baselines import paper_004
from corollary import KnowledgeBase
from corollary.engines.embedded.marking import region
from corollary.engines.embedded.marking.strategy import MarkingStrategy
from corollary.settings import STREAM_STRATEGIES as STRATEGIES
from corollary.streams import StreamStatistics, target
from tests.budgets import examples
from tests.engine_suite.scripts import difference, expected, minus, visible
from tests.engines.embedded.scenarios import support
from tests.generator import EVERYTHING, POSITIVE, PURE, Profile, Scenario, scenarios
from tests.streams.updates import Delayed, as_stream, update_of

LITERAL = paper_004.METHOD.name  # no strategy of the product: the tables of the paper need it
PROFILES = {"pure": PURE, "positive": POSITIVE, "everything": EVERYTHING}


def follow(scenario: Scenario, strategy: str, seed: int) -> StreamStatistics:
    choose = random.Random(seed)
    steps = list(as_stream(scenario, choose))
    kb = KnowledgeBase(scenario.program)
    before = visible(kb)
    stream = kb.stream(Delayed([update_of(change) for change, _ in steps], choose), strategy=chosen(strategy))
    assert visible(kb) == before == expected(scenario.program)
    results = 0
    for result, (_, program) in zip(stream, steps, strict=True):
        results += 1
        if result.rejected is not None:  # the predicate of an inserted fact that nothing mentions
            assert {diagnostic.code for diagnostic in result.rejected.diagnostics} == {"E451"}
            assert visible(kb) == before
            return stream.statistics
        after = expected(program)
        assert visible(kb) == after
        assert difference(result) == (minus(after, before), minus(before, after))
        before = after
    assert results == len(steps)
    check_end(kb, steps[-1][1])
    return stream.statistics


def chosen(strategy: str) -> str | MarkingStrategy:
    return MarkingStrategy(paper_004.METHOD) if strategy == LITERAL else strategy


def check_end(kb: KnowledgeBase, program) -> None:
    """A knowledge base goes on as if there had been no stream."""
    kb.rules()
    assert visible(kb) == expected(program)
    assert nonrecursive_support(kb) == nonrecursive_support(KnowledgeBase(program))


def nonrecursive_support(kb: KnowledgeBase) -> dict:
    recursive = [_rules_of(rule.hyper_node) for rule in kb.rules() if rule.strategy != "counting"]
    return {
        key: counts for key, counts in support(kb).items() if not any(_rules_of(key[1]) <= one for one in recursive)
    }


def _rules_of(owner: str) -> set[str]:
    """Return the written rules of a hyper-node; those that closures among others get beside them have two words for a name."""
    return {name.partition(" ")[0] for name in owner.strip("{}").split(", ")}


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("strategy", [*STRATEGIES, LITERAL])
def test_the_state_after_every_update_equals_recomputation(strategy: str, profile: str) -> None:
    of_profile: Profile = PROFILES[profile].but(max_changes=5)

    @given(scenarios(of_profile), st.integers(0, 1000))
    def run(scenario: Scenario, seed: int) -> None:
        follow(scenario, strategy, seed)

    run()


@pytest.mark.parametrize("profile", PROFILES)
def test_the_default_keeps_closures_and_chooses_again_as_they_grow(profile: str) -> None:
    """With thresholds so low that small programs reach them, also in the middle of a stream."""
    of_profile: Profile = PROFILES[profile].but(max_changes=5)

    @settings(max_examples=examples(60))
    @given(scenarios(of_profile), st.integers(0, 1000), st.sampled_from((-1, 0, 2, 5)), st.sampled_from((1, 2)))
    def run(scenario: Scenario, seed: int, pairs: int, trial: int) -> None:
        with (
            patch.object(target, "_MANY_PAIRS", pairs),
            patch.multiple("corollary.engines.embedded.marking.strategy", _TRIAL=trial, _PAUSE=1),
        ):
            follow(scenario, "auto", seed)

    run()


@pytest.mark.parametrize("strategy", ["dred", "dred-marking", "bf", "bf-marking"])
def test_searches_may_pause_after_any_fact(strategy: str) -> None:
    """Where limits and Ctrl-C are looked for, everything goes on as if nobody had looked."""

    @settings(max_examples=examples(60))
    @given(scenarios(POSITIVE.but(max_changes=5)), st.integers(0, 1000), st.sampled_from((1, 2, 5)))
    def run(scenario: Scenario, seed: int, budget: int) -> None:
        with patch.object(region, "BUDGET", budget):
            follow(scenario, strategy, seed)

    run()


@pytest.mark.parametrize("strategy", ["bf-marking", LITERAL, "dred-marking"])
def test_generated_streams_make_marks_and_use_every_phase(strategy: str) -> None:
    """Otherwise the test above would say little."""
    seen: Counter[str] = Counter()
    wanted = ("deletions", "backward", "forward", "insertions", "explicit", "implicit")

    @settings(max_examples=150, derandomize=True)
    @given(scenarios(PURE.but(max_changes=5, rule_changes=False)), st.integers(0, 1000))
    def run(scenario: Scenario, seed: int) -> None:
        if all(seen[name] for name in wanted):  # what is wanted has come up
            return
        found = follow(scenario, strategy, seed)
        seen.update(
            deletions=found.deletions,
            backward=found.backward,
            forward=found.forward,
            insertions=found.insertions,
            explicit=found.explicit_marks,
            implicit=found.implicit_marks,
        )

    run()
    assert all(seen[name] for name in wanted), seen


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("seed", range(3))
def test_long_streams_of_edges(strategy: str, seed: int) -> None:
    """Recursion with many proofs, facts that come back, and a table that has to grow and to reuse its numbers."""
    choose = random.Random(seed)
    kb = KnowledgeBase(
        """
        path(X, Y) :- edge(X, Y).
        path(X, Z) :- path(X, Y), path(Y, Z).
        both(X, Y) :- path(X, Y), path(Y, X), X != Y.
        far(X) :- path(X, Y), Y > X, not both(X, Y).
        degree(X, count(Y)) :- path(X, Y).
        """
    )
    edges: set[tuple[int, int]] = set()
    updates = []
    for _ in range(40):
        deleted = {edge for edge in edges if choose.random() < 0.3}
        inserted = {(choose.randrange(9), choose.randrange(9)) for _ in range(choose.randrange(6))} - edges
        edges = (edges - deleted) | inserted
        updates.append(({"insert": {"edge": sorted(inserted)}, "delete": {"edge": sorted(deleted)}}, frozenset(edges)))
    stream = kb.stream([update for update, _ in updates], strategy=strategy, policy="fail")
    for _, (_, present) in zip(stream, updates, strict=True):
        fresh = KnowledgeBase(kb.program)
        fresh.insert("edge", sorted(present))
        assert visible(kb) == visible(fresh)
