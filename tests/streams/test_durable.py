"""A stream into a knowledge base in a directory: what was applied is there when it is opened again."""

from __future__ import annotations

from pathlib import Path

import pytest

from corollary import KnowledgeBase
from corollary.settings import STREAM_STRATEGIES as STRATEGIES
from corollary.transactions import Change
from tests.engine_suite.scripts import visible

RULES = """
r1: path(X, Y) :- edge(X, Y).
r2: path(X, Z) :- path(X, Y), path(Y, Z).
r3: lonely(X) :- node(X), not path(X, _).
r4: pair(X, Y) :- lonely(X), lonely(Y).
node(1). node(2). node(3). edge(1, 2).
"""
UPDATES = [
    Change(insert={"edge": [(2, 3), (3, 1)]}),
    Change(delete={"edge": [(2, 3)]}, insert={"node": [(4,)]}),
    Change(add_rules=("r5: back(Y, X) :- path(X, Y).",), remove_rules=("r4",)),
    Change(delete={"edge": [(1, 2)]}),
]


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("until", range(1, 5))
def test_what_was_applied_is_there_when_a_stream_is_left_behind(tmp_path: Path, strategy: str, until: int) -> None:
    kb = KnowledgeBase.create(tmp_path / "kb", RULES)
    stream = kb.stream(UPDATES, strategy=strategy, policy="fail")
    for _ in range(until):
        next(stream)
    expected = KnowledgeBase(RULES)
    for update in UPDATES[:until]:
        expected.apply(update)
    assert visible(kb) == visible(expected)
    again = KnowledgeBase.open(tmp_path / "kb")
    assert visible(again) == visible(expected)
    for changed in (again, expected):
        changed.apply(Change(insert={"edge": [(4, 1)]}, delete={"node": [(3,)]}))
    assert visible(again) == visible(expected)
    assert visible(KnowledgeBase.open(tmp_path / "kb")) == visible(expected)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_stream_that_has_ended_leaves_the_knowledge_base_as_it_was_kept(tmp_path: Path, strategy: str) -> None:
    kb = KnowledgeBase.create(tmp_path / "kb", RULES)
    results = list(kb.stream(UPDATES, strategy=strategy, policy="fail"))
    assert len(results) == 4
    kb.insert("edge", [(1, 2)])
    kb.delete("edge", [(3, 1)])
    assert visible(KnowledgeBase.open(tmp_path / "kb")) == visible(kb)
    assert kb.owners("path") == {"{r1}": 1}


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_stream_that_changes_nothing_makes_no_version(tmp_path: Path, strategy: str) -> None:
    """Following changes in another way waits for the first change, and is part of its version."""
    place = tmp_path / "kb"
    kb = KnowledgeBase.create(place, RULES)
    list(kb.stream(UPDATES[:1], strategy="bf-marking" if strategy == "sets" else "sets"))
    version = kb.version
    nothing = [
        Change(),
        Change(delete={"edge": [(8, 9)]}),
        Change(insert={"edge": [(1, 2), (2, 3)]}),
        Change(add_rules=("wrong(X) :- edge(Y, Y).",)),
        Change(insert={"egde": [(1, 2)]}),
    ]
    again = KnowledgeBase.open(place)
    assert [one.is_rejected for one in again.stream(nothing, strategy=strategy)] == [False, True, False, True, True]
    assert list(again.stream([], strategy=strategy)) == []
    assert again.insert("edge", [(1, 2)]) == 0
    assert (again.version, KnowledgeBase.open(place).version) == (version, version)
    list(again.stream([Change(delete={"edge": [(1, 2)]})], strategy=strategy, policy="fail"))
    expected = KnowledgeBase(RULES)
    expected.apply(UPDATES[0])
    expected.delete("edge", [(1, 2)])
    assert visible(KnowledgeBase.open(place)) == visible(expected)
    assert not KnowledgeBase.verify(place)
    assert again.version == version + 1


def test_a_rejected_update_of_a_stream_with_a_name_is_passed_over_before_any_change(tmp_path: Path) -> None:
    place, updates = tmp_path / "kb", [Change(delete={"edge": [(8, 9)]}), UPDATES[0]]
    kb = KnowledgeBase.create(place, RULES)
    list(kb.stream([Change(insert={"node": [(7,)]})]))
    with KnowledgeBase.open(place, strategy="dred-counting").stream(updates, name="s") as stream:
        assert next(stream).is_rejected
    assert KnowledgeBase.open(place).marks == {"streams": {"s": {"updates": 1}}}
    assert not KnowledgeBase.verify(place)
    assert [one.is_rejected for one in KnowledgeBase.open(place).stream(updates, name="s")] == [False]
    assert not KnowledgeBase.verify(place)
