"""Which hyper-nodes follow a stream together, and what marks mean beside negation and aggregates."""

from __future__ import annotations

import pytest

from corollary import KnowledgeBase
from corollary.analysis import analyse_texts
from corollary.diagnostics import Source
from corollary.engines.embedded.marking.strategy import is_region, region_steps
from corollary.planning.steps import is_auxiliary
from corollary.settings import STREAM_STRATEGIES as STRATEGIES
from corollary.transactions import Change
from tests.engines.embedded.scenarios import engine_of

POSITIVE = (
    "r1: path(X, Y) :- edge(X, Y). r2: path(X, Z) :- edge(X, Y), path(Y, Z), X != Z. r3: back(Y, X) :- path(X, Y)."
)


def owners(program: str) -> list[str]:
    return [step.owner for step in region_steps(analyse_texts(Source(program)).graph) if not is_auxiliary(step.owner)]


def test_a_positive_program_is_one_region() -> None:
    assert owners(POSITIVE) == ["stream {r1, r2, r3}"]


def test_negation_aggregates_and_arithmetic_stay_outside() -> None:
    program = POSITIVE + (
        "r4: alone(X) :- node(X), not path(X, _). r5: n(X, count(Y)) :- path(X, Y). r6: next(X, Y + 1) :- back(X, Y)."
    )
    assert owners(program) == ["stream {r1, r2, r3}", "{r4}", "{r5}", "{r6}"]


def test_what_uses_them_is_a_region_of_its_own() -> None:
    program = POSITIVE + (
        "r4: alone(X) :- node(X), not path(X, _). r5: pair(X, Y) :- alone(X), alone(Y). "
        "r6: more(X) :- pair(X, Y), path(Y, X). r7: few(X) :- node(X), not more(X). r8: last(X) :- few(X)."
    )
    assert owners(program) == ["stream {r1, r2, r3}", "{r4}", "stream {r5, r6}", "{r7}", "stream {r8}"]


def test_a_predicate_that_others_derive_too_belongs_to_no_region() -> None:
    program = "r1: p(X) :- a(X). r2: p(X) :- b(X), not c(X). r3: q(X) :- p(X). r4: s(X) :- a(X)."
    assert owners(program) == ["{r1}", "{r2}", "stream {r3, r4}"]


def test_a_region_is_told_by_its_owner() -> None:
    (step,) = region_steps(analyse_texts(Source(POSITIVE)).graph)
    assert is_region(step)
    assert step.heads == {"path": 2, "back": 2}


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_explicit_facts_of_derived_predicates_stay_while_rules_derive_them(strategy: str) -> None:
    kb = KnowledgeBase(POSITIVE + "edge(1, 2). edge(2, 3). path(1, 3). path(7, 8).")
    updates = [
        Change(delete={"path": [(1, 3)]}),
        Change(delete={"edge": [(1, 2)], "path": [(7, 8)]}),
        Change(insert={"path": [(2, 3), (3, 9)]}, delete={"edge": [(2, 3)]}),
        Change(delete={"path": [(2, 3)]}),
    ]
    states = [sorted(kb.facts("path")) for _ in kb.stream(updates, strategy=strategy, policy="fail")]
    assert states == [[(1, 2), (1, 3), (2, 3), (7, 8)], [(2, 3)], [(2, 3), (3, 9)], [(3, 9)]]
    assert sorted(kb.facts("back")) == [(9, 3)]


def test_reports_say_which_strategy_ran() -> None:
    kb = KnowledgeBase(POSITIVE + "r4: alone(X) :- node(X), not path(X, _). node(1). node(9). edge(1, 2). edge(2, 3).")
    stream = kb.stream([Change(delete={"edge": [(1, 2)]}), Change(insert={"edge": [(1, 2)]})])
    first = next(stream)
    assert first.report is not None
    assert {step.owner: step.strategy for step in first.report.steps} == {
        "stream {r1, r2, r3}": "bf-marking",
        "{r4}": "counting",
    }
    assert {rule.strategy for rule in kb.rules() if rule.name != "r4"} == {"bf-marking"}
    next(stream)
    stream.close()
    assert [(rule.hyper_node, rule.derived) for rule in kb.rules()] == [
        ("{r1}", 2),
        ("{r2}", 1),
        ("{r3}", 3),
        ("{r4}", 1),
    ]
    assert kb.owners("path") == {"{r1}": 2, "{r2}": 1}
    assert sorted(kb.facts("path")) == [(1, 2), (1, 3), (2, 3)]


def test_auto_follows_large_updates_set_by_set() -> None:
    kb = KnowledgeBase(POSITIVE + "edge(1, 2).")
    small = Change(insert={"edge": [(2, 3)]})
    large = Change(insert={"edge": [(n, n + 1) for n in range(10_000, 18_000, 2)]})
    names = []
    for result in kb.stream([small, large, Change(delete={"edge": [(1, 2)]})], strategy="auto"):
        assert result.report is not None
        names.append(result.report.steps[0].strategy)
    assert names[0] == names[2] == "bf-marking"
    assert names[1] != "bf-marking"
    assert kb.count("back") == 4001


def test_facts_that_never_end_take_no_more_memory() -> None:
    """Numbers of facts that have gone are used again."""
    from tests.engines.embedded.scenarios import engine_of

    kb = KnowledgeBase(POSITIVE)
    updates = [
        Change(
            insert={"edge": [(n, n + 1)]},
            delete={"edge": [(n - 20, n - 19)]} if n > 20 else {},
        )
        for n in range(1, 3000)
    ]
    stream = kb.stream(updates, policy="fail")
    for _ in stream:
        pass
    strategy = stream._target.strategy
    assert strategy is not None
    (region,) = strategy._regions.values()
    assert region._table.capacity == 1024
    assert region.size == kb.count("edge") + kb.count("path") + kb.count("back") == 20 + 2 * 210
    assert engine_of(kb).visible("path").size < 10_000


@pytest.mark.parametrize("strategy", ["auto", "dred", "dred-marking", "bf", "bf-marking"])
def test_a_fact_that_becomes_explicit_while_it_is_derived(strategy: str) -> None:
    """Nobody sees a change when path(0, 3) is stated, but it carries path(3, 3) when its derivation goes."""
    kb = KnowledgeBase("""
        edge(3, 0). edge(0, 1). edge(1, 3).
        path(X, Y) :- edge(X, Y). path(X, Z) :- edge(X, Y), path(Y, Z).
    """)
    updates = [Change(insert={"path": [(0, 3)]}), Change(delete={"edge": [(1, 3)]})]
    for _ in kb.stream(updates, strategy=strategy):
        pass
    assert sorted(kb.facts("path")) == [(0, 1), (0, 3), (3, 0), (3, 1), (3, 3)]


CLOSURE = "path(X, Y) :- edge(X, Y). path(X, Z) :- path(X, Y), path(Y, Z). near(X, Y) :- path(X, Y), road(X, Y)."


def test_the_default_keeps_large_closures_and_follows_small_ones_with_their_readers() -> None:
    for length, keeps in ((10, False), (60, True)):
        kb = KnowledgeBase(CLOSURE)
        kb.insert("edge", [(n, n + 1) for n in range(length)])
        (result,) = kb.stream([Change(insert={"road": [(0, length)]})])
        assert list(result.inserted["near"]) == [(0, length)]
        assert bool(engine_of(kb)._closed) == keeps
        (result,) = kb.stream([Change(delete={"edge": [(3, 4)]})])
        assert (len(result.deleted["near"]), kb.count("path")) == (1, 6 + (length - 4) * (length - 3) // 2)


def test_the_default_chooses_again_when_a_closure_has_grown() -> None:
    kb = KnowledgeBase(CLOSURE)
    updates = [Change(insert={"edge": [(n, n + 1)]}) for n in range(60)]
    kept = []
    for result in kb.stream(updates):
        assert len(result.inserted["path"]) == result.number
        kept.append(bool(engine_of(kb)._closed))
    assert not kept[0]
    assert kept[-1]
    assert kept == sorted(kept)


def test_the_default_stops_looking_ahead_where_no_mark_is_passed_on(monkeypatch) -> None:
    monkeypatch.setattr("corollary.engines.embedded.marking.strategy._TRIAL", 4)
    monkeypatch.setattr("corollary.engines.embedded.marking.strategy._PAUSE", 5)
    text = "pair(X, Y) :- a(X), b(Y), X != Y."
    kb = KnowledgeBase(text)
    kb.insert("a", [(n,) for n in range(40)])  # nothing is derived from it: b is empty
    marks = [
        result.statistics.explicit_marks for result in kb.stream([Change(delete={"a": [(n,)]}) for n in range(20)])
    ]
    assert marks == [1, 1, 1, 1, 0, 0, 0, 0, 0, 1, 1, 1, 1, 0, 0, 0, 0, 0, 1, 0]  # the last has no successor
    kb = KnowledgeBase(text)
    kb.insert("a", [(n,) for n in range(40)])
    updates = [Change(insert={"b": [(n,)]}, delete={"b": [(n - 1,)]} if n else {}) for n in range(20)]
    marks = [result.statistics.explicit_marks for result in kb.stream(updates)]
    assert marks == [1] * 19 + [0]
