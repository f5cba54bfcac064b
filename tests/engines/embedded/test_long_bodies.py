"""Plans of long bodies: what one costs follows from the length of the body, though each atom has a delta rule of its own."""

from __future__ import annotations

import pytest

from corollary import Change, KnowledgeBase
from corollary.language import parse_program
from corollary.planning import NoStatistics, Version, join_order, normalise, plan_rule


def rule_of(length: int, stem: str = "e") -> str:
    body = ", ".join(f"{stem}(X{place}, X{place + 1})" for place in range(length))
    return f"p(X0, X{length}) :- {body}."


def looks(length: int, monkeypatch: pytest.MonkeyPatch) -> int:
    """How often the planner looks at a source, for the delta rule of the atom in the middle."""
    found = 0
    expect = join_order._Planner._expect

    def counted(self: join_order._Planner, number: int) -> None:
        nonlocal found
        found += 1
        expect(self, number)

    (rule,) = map(normalise, parse_program(rule_of(length)).rules)
    versions = tuple(Version.DELTA if place == length // 2 else Version.FULL for place in range(length))
    with monkeypatch.context() as patch:
        patch.setattr(join_order._Planner, "_expect", counted)
        plan_rule(rule, NoStatistics(), versions)
    return found


def test_a_plan_looks_at_each_source_a_few_times(monkeypatch: pytest.MonkeyPatch) -> None:
    assert looks(400, monkeypatch) <= 3 * 400
    assert looks(800, monkeypatch) <= 2 * looks(400, monkeypatch) + 10


def test_statistics_are_asked_once_for_a_predicate() -> None:
    asked: list[object] = []

    class Counted(NoStatistics):
        def size(self, source: object) -> int:
            asked.append(source)
            return 1000

    (rule,) = map(normalise, parse_program(rule_of(100)).rules)
    plan_rule(rule, Counted())
    assert len(asked) == 1


@pytest.mark.parametrize("strategy", ["auto", "dred", "backward-forward"])
def test_the_first_changes_of_a_long_body_are_right(strategy: str) -> None:
    facts = "".join(f"e({one}, {(one + 1) % 5})." for one in range(5))
    kb = KnowledgeBase(facts + rule_of(100), strategy=strategy)
    assert set(kb.facts("p")) == {(one, one) for one in range(5)}
    kb.apply(Change(insert={"e": [(5, 1)]}))
    assert set(kb.facts("p")) == {(one, one) for one in range(5)} | {(5, 0)}
    kb.apply(Change(delete={"e": [(5, 1)]}))
    assert set(kb.facts("p")) == {(one, one) for one in range(5)}
