"""A stream into a knowledge base in a directory: every update is a version, whatever the strategy."""

from __future__ import annotations

from pathlib import Path

import pytest

from corollary import KnowledgeBase
from corollary.streams.target import STRATEGIES
from corollary.transactions import Change
from tests.engines.embedded.scenarios import visible

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
def test_each_update_is_a_version_that_can_be_opened(tmp_path: Path, strategy: str) -> None:
    kb = KnowledgeBase.create(tmp_path / "kb", RULES)
    states = []
    for _ in kb.stream(UPDATES, strategy=strategy, policy="fail"):
        states.append(visible(kb))
        again = KnowledgeBase.open(tmp_path / "kb")
        assert visible(again) == states[-1]
    assert states[0] != states[1] != states[2] != states[3]
    again = KnowledgeBase.open(tmp_path / "kb")
    again.insert("edge", [(1, 2)])
    assert visible(again) == states[2]
    again.delete("edge", [(1, 2), (3, 1)])
    assert again.count("path") == 0
    assert visible(KnowledgeBase.open(tmp_path / "kb")) == visible(again)
