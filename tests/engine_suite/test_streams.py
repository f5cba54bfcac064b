"""Streams of updates: each is one transaction that subscribers hear of, or is rejected and was never there."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from corollary import Change, KnowledgeBase, Limits, ProgramError
from tests.engine_suite.engines import Engine
from tests.engine_suite.scripts import expected, visible

PROGRAM = """
path(X, Y) :- edge(X, Y).
path(X, Z) :- path(X, Y), edge(Y, Z).
lonely(X) :- node(X), not path(X, _).
node(0). edge(0, 1).
"""
UPDATES = [
    Change(insert={"edge": [(1, 2)], "node": [(1,), (2,)]}),
    Change(insert={"egde": [(7, 8)]}),
    Change(insert={"edge": [(2, 3)]}, delete={"edge": [(1, 2)]}),
]
HEARD = [
    ({"path": {(1, 2), (0, 2)}, "lonely": {(2,)}}, {}),
    ({"path": {(2, 3)}, "lonely": {(1,)}}, {"path": {(1, 2), (0, 2)}, "lonely": {(2,)}}),
]
"""What comes and goes by the first and the third update."""


def streamed(engine: Engine, kb: KnowledgeBase, updates: Sequence[Change], folder: Path, policy: str) -> int:
    """Stream the updates into the knowledge base; return how many of them were rejected. On Spark each is a micro-batch."""
    if engine.name == "embedded":
        return sum(result.is_rejected for result in kb.stream(updates, policy=policy))
    from tests.services.spark_session import shared_session

    folder.mkdir()
    for number, update in enumerate(updates):
        file = folder / f"{number}.json"
        file.write_text("".join(json.dumps(row) + "\n" for row in rows_of(update)))
        os.utime(file, (1_000_000_000 + number, 1_000_000_000 + number))  # Spark takes the oldest first
    schema = "op string, predicate string, a1 long, a2 long"
    frame = shared_session().readStream.schema(schema).option("maxFilesPerTrigger", 1).json(str(folder))
    stream = kb.write_stream(frame, policy=policy, trigger={"availableNow": True})
    stream.await_end()
    return sum(result.rejected > 0 for result in stream.results)


def rows_of(update: Change) -> list[dict[str, Any]]:
    return [
        {"op": op, "predicate": predicate, **{f"a{place}": value for place, value in enumerate(row, 1)}}
        for op, facts in (("delete", update.delete), ("insert", update.insert))
        for predicate, rows in facts.items()
        for row in rows
    ]


def test_updates_are_transactions_and_bad_ones_are_rejected(engine: Engine, tmp_path: Path) -> None:
    kb = engine(PROGRAM)
    heard: dict[str, list[tuple[set[Any], set[Any]]]] = {"path": [], "lonely": []}
    for name, told in heard.items():
        kb.subscribe(name, lambda came, went, told=told: told.append((set(came), set(went))))
    assert streamed(engine, kb, UPDATES, tmp_path / "updates", "reject") == 1
    for name, told in heard.items():
        assert told == [(came.get(name, set()), went.get(name, set())) for came, went in HEARD], name
    assert visible(kb) == expected(engine(PROGRAM + "edge(2, 3). node(1). node(2).").program)


def test_an_update_that_fails_ends_the_stream_with_what_was_before_it(engine: Engine, tmp_path: Path) -> None:
    kb = engine(PROGRAM)
    with pytest.raises(ProgramError, match="E451" if engine.name == "embedded" else "batch 1"):
        streamed(engine, kb, UPDATES, tmp_path / "updates", "fail")
    assert (kb.count("edge"), kb.count("path"), kb.count("lonely")) == (2, 3, 1)
    assert streamed(engine, kb, UPDATES[2:], tmp_path / "more", "fail") == 0
    assert set(kb.facts("path")) == {(0, 1), (2, 3)}


def test_an_update_at_a_limit_never_was(engine: Engine, tmp_path: Path) -> None:
    kb = engine(PROGRAM)
    kb.materialise()
    kb.limits = Limits(facts=8)
    with pytest.raises(ProgramError, match=r"E302|more than 8 facts"):
        streamed(engine, kb, [UPDATES[0]], tmp_path / "updates", "fail")
    assert (kb.count("edge"), kb.count("path"), kb.count("node")) == (1, 1, 1)
    kb.limits = Limits()
    assert streamed(engine, kb, [UPDATES[0]], tmp_path / "again", "fail") == 0
    assert (kb.count("edge"), kb.count("path"), kb.count("node")) == (2, 3, 3)
