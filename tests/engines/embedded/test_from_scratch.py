"""Changes that are so large that everything is derived from scratch give the same facts, differences and state."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corollary import Change, KnowledgeBase, Limits, ProgramError
from corollary.engines.embedded.maintenance.journal import SupportChange
from tests.budgets import examples
from tests.engine_suite.scripts import apply, difference, expected, minus, visible
from tests.engines.embedded.scenarios import deriving_everything, engine_of
from tests.engines.embedded.trusted_state import check_state, keep_journal, keep_with, note, support_of
from tests.generator import EVERYTHING, Scenario, scenarios

WAYS = st.lists(st.booleans(), min_size=1, max_size=4)  # for each change whether everything is derived
CHAIN = "p0(X) :- e(X). " + " ".join(f"p{n}(X) :- p{n - 1}(X), f(X)." for n in range(1, 15))


@settings(max_examples=examples(80))
@given(scenarios(EVERYTHING.but(max_changes=4)), WAYS, st.booleans())
def test_deriving_everything_and_following_changes_take_turns(
    scenario: Scenario, ways: list[bool], is_kept: bool
) -> None:
    program, *later = scenario.programs()
    kb = KnowledgeBase(program)
    journal = keep_journal(kb) if is_kept else None
    before = visible(kb)
    for number, (change, after_change) in enumerate(zip(scenario.changes, later, strict=True)):
        with deriving_everything(ways[number % len(ways)]):
            result = apply(kb, change)
        after = expected(after_change)
        assert difference(result) == (minus(after, before), minus(before, after))
        check_state(kb, after_change, journal)
        before = after


CLOSURES = """
t(X, Y) :- e(X, Y). t(X, Z) :- t(X, Y), t(Y, Z).
s(X, Y) :- f(X, Y). s(Y, X) :- s(X, Y). s(X, Z) :- s(X, Y), s(Y, Z).
one_way(X, Y) :- t(X, Y), not t(Y, X).
both(X, Y) :- t(X, Y), s(X, Y).
"""
FACTS = st.lists(st.tuples(st.sampled_from("ef"), st.integers(0, 5), st.integers(0, 5)), max_size=12)


@settings(max_examples=examples(120))
@given(FACTS, st.lists(st.tuples(FACTS, FACTS, st.booleans(), st.booleans()), min_size=2, max_size=5))
def test_results_stay_readable_while_closures_change(start, script) -> None:
    """What went and came is found when somebody looks, perhaps after the closures have changed again."""

    def rows(facts) -> dict[str, list[tuple[int, int]]]:
        return {name: [row for predicate, *row in facts if predicate == name] for name in "ef"}

    kb = KnowledgeBase(CLOSURES)
    for name, known in rows(start).items():
        kb.insert(name, known)
    kb.materialise()
    explicit, states, results = set(start), [], []
    for gone, new, is_anew, is_looked_at in [([], [], False, False), *script]:
        with deriving_everything(is_anew):
            results.append(kb.apply(Change(delete=rows(gone), insert=rows(new))))
        explicit = (explicit - set(gone)) | set(new)
        fresh = KnowledgeBase(CLOSURES, updates=False)
        for name, known in rows(explicit).items():
            fresh.insert(name, known)
        states.append(visible(fresh))
        if is_looked_at:
            assert visible(kb) == states[-1]
    assert visible(kb) == states[-1]
    for before, after, result in zip(states, states[1:], results[1:], strict=False):
        assert difference(result) == (minus(after, before), minus(before, after))


@settings(max_examples=examples(20))
@given(scenarios(EVERYTHING.but(max_changes=2)))
def test_a_change_that_cannot_be_written_leaves_everything_as_it_was(scenario: Scenario) -> None:
    kb = KnowledgeBase(scenario.program)
    engine = engine_of(kb)
    journal = keep_journal(kb)
    is_full = True

    def write(changes: list[SupportChange]) -> None:
        if is_full:
            raise OSError("the disk is full")
        note(changes, journal)

    with deriving_everything(True):
        keep_with(kb, write)
        supported, commits = support_of(engine), engine.commits
        for change in scenario.changes:
            if change.add_rules or change.remove_rules:
                continue
            with pytest.raises(OSError, match="full"):
                apply(kb, change)
            assert (support_of(engine), engine.commits) == (supported, commits)
            check_state(kb, scenario.program)
        is_full = False
        for change, after_change in zip(scenario.changes, scenario.programs()[1:], strict=True):
            apply(kb, change)
            check_state(kb, after_change, journal)


def test_a_large_change_of_many_hyper_nodes_derives_everything() -> None:
    rows = [(n,) for n in range(5_000)]
    kb = KnowledgeBase(CHAIN)
    kb.insert("e", rows)
    kb.insert("f", rows)
    assert kb.count("p14") == 5_000
    result = kb.apply(Change(delete={"e": rows[:4_000]}))
    assert {step.strategy for step in result.report.steps} == {"recompute"}
    assert (len(result.deleted["p14"]), kb.count("p14")) == (4_000, 1_000)
    result = kb.apply(Change(insert={"e": rows[:10]}))
    assert {step.strategy for step in result.report.steps} == {"counting"}
    assert kb.count("p14") == 1_010


def test_a_large_change_that_is_stopped_leaves_everything_as_it_was() -> None:
    kb = KnowledgeBase(CHAIN, limits=Limits(facts=40_000))
    kb.insert("e", [(n,) for n in range(1_000)])
    kb.insert("f", [(n,) for n in range(3_000)])
    before = visible(kb)
    with pytest.raises(ProgramError, match="facts"):
        kb.insert("e", [(n,) for n in range(3_000)])
    assert visible(kb) == before
    assert kb.insert("e", [(1_000,)]) == 1
    assert kb.count("p14") == 1_001
    assert engine_of(kb).count("e") == 1_001


@pytest.mark.parametrize("strategy", ["auto", "dred", "backward-forward", "dred-counting"])
def test_growth_goes_on_where_the_last_round_brought_facts_of_some_heads_only(strategy: str) -> None:
    program = "q(X) :- p(X). p(X + 1) :- q(X), X < 6000, not stop(X). p(X) :- start(X). stop(3). start(0)."
    kb = KnowledgeBase(program, strategy=strategy)
    assert (kb.count("p"), kb.count("q")) == (4, 4)
    kb.delete("stop", [(3,)])
    kb.insert("start", [(-3000,)])
    assert (kb.count("p"), kb.count("q")) == (9001, 9001)
