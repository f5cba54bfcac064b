"""Reading a text can be stopped: limits and interrupts hold while it is read, however its clauses are read."""

from __future__ import annotations

import pytest

from corollary import KnowledgeBase, Limits
from corollary.diagnostics import ProgramError
from corollary.language import parse

TEXTS = {
    "plain rules": [f"p{i}(X, Y) :- q{i}(X, Z), q{i}(Z, Y)." for i in range(300)],
    "rules for the parser": [f"p{i}(X, N) :- AGGREGATE(q{i}(X, Y)) ON X WITH COUNT(Y) AS N." for i in range(300)],
    "mistakes": [f"p{i}(X) q{i}(X)." for i in range(50)],
    "facts of integers": [f"edge({i}, {i + 1})." for i in range(100_000)],
    "facts of texts": [f'name({i}, "n{i}").' for i in range(30_000)],
}


class _StoppedHere(Exception):
    pass


@pytest.mark.parametrize("name", TEXTS)
def test_each_way_of_reading_asks_whether_to_go_on(name: str) -> None:
    asked = 0

    def tick() -> None:
        nonlocal asked
        asked += 1

    parse("\n".join(TEXTS[name]), tick=tick)
    assert asked >= len(TEXTS[name]) // (10_000 if name.startswith("facts") else 1)


@pytest.mark.parametrize("name", TEXTS)
def test_what_a_check_raises_ends_the_reading(name: str) -> None:
    asked = 0

    def tick() -> None:
        nonlocal asked
        asked += 1
        raise _StoppedHere

    with pytest.raises(_StoppedHere):
        parse("\n".join(TEXTS[name]), tick=tick)
    assert asked == 1


def test_rules_that_take_too_long_to_read_change_nothing() -> None:
    kb = KnowledgeBase("p0(1).")
    kb.limits = Limits(seconds=1e-9)
    with pytest.raises(ProgramError, match="E302"):
        kb.add_rules("\n".join(TEXTS["rules for the parser"]))
    kb.limits = Limits()
    assert kb.rules() == []
    assert set(kb.facts("p0")) == {(1,)}
