"""Ctrl-C: whenever it comes, what there is afterwards is the state before the change or the one after it."""

from __future__ import annotations

import os
import random
import signal
import threading
import time

import pytest

from corollary import KnowledgeBase
from corollary.transactions import Change
from tests.engine_suite.engines import NOTHING_IS_SMALL, Engine

PROGRAM = """
path(X, Y) :- edge(X, Y). path(X, Z) :- path(X, Y), edge(Y, Z).
far(X, N) :- AGGREGATE(path(X, Y)) ON X WITH COUNT(Y) AS N.
edge(1, 2). edge(2, 3). edge(3, 4).
"""
Facts = dict[str, set[tuple[object, ...]]]


def facts(kb: KnowledgeBase) -> Facts:
    return {name: set(kb.facts(name)) for name in ("edge", "path", "far")}


def after(edges: set[tuple[object, ...]]) -> Facts:
    kb = KnowledgeBase(PROGRAM.rpartition("edge(1, 2)")[0])
    kb.insert("edge", list(edges))
    return facts(kb)


@pytest.mark.parametrize(
    ("count", "settings"),
    [
        (6, {}),
        pytest.param(60, {}, marks=pytest.mark.slow),
        pytest.param(40, NOTHING_IS_SMALL, marks=pytest.mark.slow),
    ],
)
def test_an_interrupt_leaves_the_state_before_or_after(engine: Engine, count: int, settings: dict[str, int]) -> None:
    chance = random.Random(count)
    with engine(PROGRAM, on_spark=settings) as kb:
        known = facts(kb)
        took, interrupted = 1.0, 0
        for number in range(count):
            gone = chance.choice(sorted(known["edge"], key=str))
            change = Change({"edge": [(4 + number, 5 + number), (number, 1)]}, {"edge": [gone]})
            wanted = after((known["edge"] - {gone}) | {(4 + number, 5 + number), (number, 1)})
            timer = threading.Timer(chance.random() * took, lambda: os.kill(os.getpid(), signal.SIGINT))
            started = time.perf_counter()
            try:
                timer.start()  # inside: a short wait ends before start() does
                kb.apply(change)
                took = time.perf_counter() - started
                timer.join()
            except KeyboardInterrupt:
                interrupted += 1
            timer.cancel()
            found = facts(kb)
            assert found in (known, wanted)
            known = found
        kb.insert("edge", [(100, 101)])
        assert facts(kb) == after(known["edge"] | {(100, 101)})
        assert interrupted
