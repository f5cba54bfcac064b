"""Knowledge bases in a directory: versions, conflicts and change files, whichever engine writes and opens them."""

from __future__ import annotations

from pathlib import Path

import pytest

from corollary import KnowledgeBase, ProgramError
from tests.engine_suite.engines import Engine
from tests.engine_suite.scripts import visible

PROGRAM = """
path(X, Y) :- edge(X, Y).
path(X, Z) :- path(X, Y), path(Y, Z).
far(X, count(Y)) :- path(X, Y).
lonely(X) :- node(X), not path(X, _).
happy.
"""


def test_every_version_can_be_opened_again(engine: Engine, tmp_path: Path) -> None:
    kb = engine.create(tmp_path / "kb", PROGRAM)
    states = [visible(kb)]
    kb.insert("edge", [(1, 2), (2, 3), ("ann", 4.5)])
    states.append(visible(kb))
    kb.add_rules("back: edge(Y, X) :- path(X, Y).")
    states.append(visible(kb))
    kb.delete("edge", [(1, 2)])
    states.append(visible(kb))
    kb.remove_rules("back")
    states.append(visible(kb))
    assert [info.version for info in kb.history()] == [1, 2, 3, 4, 5]
    kb.close()
    for version, state in enumerate(states, 1):
        assert visible(KnowledgeBase.open(tmp_path / "kb", version=version)) == state
    again = engine.open(tmp_path / "kb")
    again.compact()
    assert visible(again) == states[-1]
    again.insert("edge", [(1, 2)])
    assert visible(again) == states[1]
    assert not KnowledgeBase.verify(tmp_path / "kb")


def test_a_conflict_changes_nothing(engine: Engine, tmp_path: Path) -> None:
    kb = engine.create(tmp_path / "kb", PROGRAM)
    KnowledgeBase.open(tmp_path / "kb").insert("edge", [(1, 2)])
    with pytest.raises(ProgramError, match="E433"):
        kb.insert("edge", [(5, 6)])
    assert (kb.version, kb.count("edge"), kb.count("path")) == (1, 0, 0)


def test_change_files_are_applied(engine: Engine, tmp_path: Path) -> None:
    kb = engine.create(tmp_path / "kb", PROGRAM)
    device = KnowledgeBase.create(tmp_path / "device", PROGRAM)
    device.insert("edge", [(1, 2), ("ann", 4.5)])
    device.add_rules("extra: back(Y, X) :- path(X, Y).")
    device.changes(tmp_path / "news", since=1)
    kb.apply(tmp_path / "news")
    assert visible(kb) == visible(device)
    assert not KnowledgeBase.verify(tmp_path / "kb")
