"""Limits hold in every way of deriving and of following changes, and reaching one changes nothing."""

from __future__ import annotations

from typing import Any

import pytest

from corollary import Limits
from corollary.diagnostics import ProgramError
from corollary.transactions import Change
from tests.engine_suite.engines import NOTHING_IS_SMALL, Engine

TREE = "n({0}2 * X) :- n({0}X). n({0}2 * X + 1) :- n({0}X). "
"""Endless, and every round doubles what it derives."""
REST = "p(X) :- q(X). q(1)."
LIMITS = pytest.mark.parametrize("limit", [{"rounds": 4}, {"facts": 20}], ids=str)


def reached(limit: dict[str, int]) -> str:
    return "E302.*not finished after 4 rounds" if "rounds" in limit else "E302.*there are more than 20 facts"


@LIMITS
@pytest.mark.parametrize("way", ["single-task", "decomposable", "rounds"])
def test_deriving_ends(engine: Engine, way: str, limit: dict[str, int]) -> None:
    first = "Y, " if way == "decomposable" else ""
    with engine(TREE.format(first) + REST, on_spark={"strategy": way}, limits=limit) as kb:
        kb.insert("n", [(0, 1) if first else (1,)])
        with pytest.raises(ProgramError, match=reached(limit)):
            kb.materialise()


@LIMITS
@pytest.mark.parametrize(
    ("strategy", "ways"),
    [
        ("auto", {}),
        ("dred", NOTHING_IS_SMALL),
        ("dred-counting", NOTHING_IS_SMALL),
        ("backward-forward", NOTHING_IS_SMALL),
        ("recompute", {"strategy": "rounds"}),
    ],
    ids=["auto", "dred", "dred-counting", "backward-forward", "recompute"],
)
def test_changes_end_and_change_nothing(
    engine: Engine, strategy: str, ways: dict[str, Any], limit: dict[str, int]
) -> None:
    with engine(TREE.format("") + REST, on_spark=ways, strategy=strategy, limits=limit) as kb:
        assert (kb.count("p"), kb.count("n")) == (1, 0)
        with pytest.raises(ProgramError, match=reached(limit)):
            kb.apply(Change({"n": [(1,)], "q": [(2,)]}))
        assert (kb.count("p"), kb.count("n")) == (1, 0)
        kb.insert("q", [(3,)])
        assert set(kb.facts("p")) == {(1,), (3,)}


@pytest.mark.parametrize("ways", [{}, NOTHING_IS_SMALL], ids=["auto", "on Spark"])
def test_what_a_change_takes_away_does_not_count(engine: Engine, ways: dict[str, Any]) -> None:
    """A change is refused exactly when there would be more facts after it than the limit."""
    rules = "r(X) :- e(X, _). s(X) :- t(X), not e(X, X). "
    with engine(rules + "e(0, 0). t(0). t(1).", on_spark=ways) as kb:
        kb.materialise()
        kb.limits = Limits(facts=4)
        with pytest.raises(ProgramError, match=r"E302.*there are more than 4 facts"):
            kb.apply(Change({"e": [(1, 1)]}, {"t": [(0,)]}))
        assert [kb.count(name) for name in "erst"] == [1, 1, 1, 2]
        kb.limits = Limits(facts=5)
        kb.apply(Change({"e": [(1, 1)]}, {"t": [(0,)]}))
        assert [kb.count(name) for name in "erst"] == [2, 2, 0, 1]
        kb.limits = Limits(facts=0)
        kb.apply(Change(delete={"e": [(0, 0), (1, 1)], "t": [(1,)]}))
        assert [kb.count(name) for name in "erst"] == [0, 0, 0, 0]


@LIMITS
def test_rules_and_demand_end_and_change_nothing(engine: Engine, limit: dict[str, int]) -> None:
    with engine(REST, limits=limit) as kb:
        kb.materialise()
        with pytest.raises(ProgramError, match=reached(limit)):
            kb.add_rules(TREE.format("") + "n(X) :- q(X).")
        assert kb.predicates() == ["p", "q"]
        kb.insert("q", [(3,)])
        assert kb.count("p") == 2
    with engine(TREE.format("") + REST + " n(1).", mode="demand", limits=limit) as kb:
        with pytest.raises(ProgramError, match=reached(limit)):
            len(kb.query("n(X)"))
        assert list(kb.query("p(X)")) == [(1,)]


def test_a_closure_stops_at_a_number_of_facts(engine: Engine) -> None:
    program = "t(X, Y) :- e(X, Y). t(X, Z) :- t(X, Y), t(Y, Z)."
    for way in ("closure", "single-task"):
        with engine(program, on_spark={"strategy": way}, updates=False, limits={"facts": 100}) as kb:
            kb.insert("e", [(i, i + 1) for i in range(30)])
            with pytest.raises(ProgramError, match=r"E302.*there are more than 100 facts"):
                kb.materialise()


@pytest.mark.parametrize("strategy", ["auto", "dred", "recompute"])
def test_a_change_that_stays_within_its_limits_is_not_refused(engine: Engine, strategy: str) -> None:
    program = "t(X, Y) :- e(X, Y). t(X, Z) :- t(X, Y), e(Y, Z). two(X, Y) :- t(X, Y). two(X, Y) :- e(X, Y)."
    edges = [(i, i + 1) for i in range(6)]
    room = 12  # what comes may be there before what goes is gone
    with engine(program, strategy=strategy, limits={"facts": 6 + 21 + 21 + room, "rounds": 8}) as kb:
        kb.insert("e", edges)
        assert kb.count("t") == 21
        with kb.transaction() as tx:
            tx.delete("e", [(5, 6)])
            tx.insert("e", [(5, 7)])
        assert (kb.count("t"), kb.count("two")) == (21, 21)
        with pytest.raises(ProgramError, match="E302"):
            kb.insert("e", [(7, 8)])
        assert (kb.count("e"), kb.count("t"), kb.count("two")) == (6, 21, 21)


def test_limits_that_are_set_later_hold_for_the_depth_of_terms(engine: Engine) -> None:
    with engine("t(f(X)) :- t(X), on(1). t(0).") as kb:
        assert kb.count("t") == 1
        for depth in (6, 3):
            kb.limits = Limits(depth=depth, rounds=20)
            with pytest.raises(ProgramError, match=f"nested more than {depth} levels deep"):
                kb.insert("on", [(1,)])
            assert (kb.count("t"), kb.count("on")) == (1, 0)
