"""Threads find the same facts and the same number of instances as one worker."""

from __future__ import annotations

from functools import partial
from random import Random

import numpy as np
import pytest

from corollary.analysis import RuleGraph
from corollary.engines.embedded import engine
from corollary.engines.embedded.engine import EmbeddedEngine
from corollary.engines.embedded.kernels import runner
from corollary.engines.embedded.relations import relation
from corollary.engines.embedded.relations.relation import Relation
from corollary.language import parse_program

PROGRAMS = {
    "pairs": "sg(X, Y) :- par(P, X), par(P, Y), X != Y. sg(X, Y) :- par(A, X), sg(A, B), par(B, Y).",
    "triples": "p(X, Y, Z) :- par(X, Y), par(Y, Z). p(X, Y, Z) :- p(Y, X, W), par(W, Z).",
    "products": "p(X, Y) :- n(X), n(Y). q(X, Y, Z) :- n(X), n(Y), n(Z).",
    "bindings": "p(X, Y) :- par(X, Z), par(Z, Y), X + 1 != Y. q(X + Y) :- p(X, Y).",
    "negation": "p(X, Y) :- par(X, Z), par(Y, Z), not par(X, Y). q :- p(X, X).",
}


@pytest.fixture(autouse=True)
def eager_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small programs are shared as well, in tiny pieces and areas, among more threads than there are cores."""
    monkeypatch.setattr(engine, "CORES", 4)
    monkeypatch.setattr(runner, "ALONE", 1)
    monkeypatch.setattr(runner, "_AREA", 100)
    monkeypatch.setattr(runner, "_LONGEST_PIECE", 3)
    runner._pool.cache_clear()
    monkeypatch.setattr(runner, "CORES", 4)


def _engine(program: str, *without: str) -> EmbeddedEngine:
    """Without updates: where support is counted, sets lead to the numbers of rows and are not shared."""
    random = Random(1)
    made = EmbeddedEngine(RuleGraph.of(parse_program(program).rules), without=frozenset({"dense-joins", *without}))
    pairs = np.array(sorted({(random.randrange(80), random.randrange(80)) for _ in range(400)}))
    made.insert("par", made.universe.encode_integers(pairs.ravel()).reshape(-1, 2))
    made.insert("n", made.universe.encode_integers(np.arange(30))[:, None])
    return made


def _facts(made: EmbeddedEngine, predicate: str) -> list[tuple[object, ...]]:
    found = made.visible(predicate)
    return [tuple(made.universe.values(row)) for row in found.facts.tolist()] if found else []


@pytest.mark.parametrize("bitmap_from", [1, relation.BITMAP_FROM])
@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS.keys())
def test_threads_change_nothing(program: str, bitmap_from: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(relation, "BITMAP_FROM", bitmap_from)
    shared, alone = _engine(program), _engine(program, "threads")
    for predicate in ("sg", "p", "q"):
        found = _facts(shared, predicate)
        assert len(found) == len(set(found))
        assert set(found) == set(_facts(alone, predicate))
    assert shared.report.rounds == alone.report.rounds


def test_threads_are_used(monkeypatch: pytest.MonkeyPatch) -> None:
    crews: list[int] = []
    run_all = runner.run_all
    monkeypatch.setattr(runner, "run_all", lambda workers, *work: (crews.append(len(workers)), run_all(workers, *work)))
    _engine(PROGRAMS["pairs"]).materialise()
    assert 4 in crews
    crews.clear()
    _engine(PROGRAMS["pairs"], "threads").materialise()
    assert set(crews) == {1}


def test_an_error_in_a_thread_is_not_lost() -> None:
    def fail() -> None:
        raise ValueError("in a thread")

    first, second = (runner.Worker(np.zeros(4, np.uint32), (0,), 1, 1) for _ in range(2))
    first.run, second.run = partial(lambda: None), fail  # type: ignore[method-assign]
    with pytest.raises(ValueError, match="in a thread"):
        runner.run_all([first, second])


def test_areas_are_pushed_together() -> None:
    workers = [runner.Worker(np.zeros(4, np.uint32), (0,), 1, 1) for _ in range(3)]
    into = Relation(1)
    into.rows = np.arange(20, dtype=np.uint32)[:, None]
    for worker, size in zip(workers, (4, 7, 12), strict=True):
        worker.state[2] = size
    assert runner.join_areas(workers, [2, 6, 10], into.rows) == 7
    assert into.rows[:7, 0].tolist() == [0, 1, 2, 3, 6, 10, 11]
