"""Registered modules: what their four functions find, and what the other rules make of it, is what all rules derive."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corollary import Change, KnowledgeBase
from corollary.planning import NormalRule, normalise
from corollary.program import Atom, Variable
from corollary.reasoning.maintain import chooser
from corollary.reasoning.maintain.modules import forget_module, modules_among, register_module, registered_modules
from tests.budgets import examples
from tests.engine_suite.scripts import follow
from tests.generator import PURE, Scenario, scenarios

TEXT = """
near(X, Y) :- street(X, Y).
near(Y, X) :- near(X, Y).
near(X, Z) :- near(X, Y), lane(Y, Z).
street(X, X) :- near(X, _), square(X).
"""
calls: Counter[str] = Counter()


class Symmetric:
    """`p(Y, X) :- p(X, Y)` by turning arrays around."""

    def __init__(self, rules: Sequence[NormalRule]) -> None:
        self.predicates = {rule.head.predicate for rule in rules}

    def diff(self, facts: Any, *, lost: bool) -> Mapping[str, Any]:
        calls["lost" if lost else "gained"] += 1
        return {}

    def add(self, facts: Any, new: Mapping[str, Any]) -> Mapping[str, Any]:
        calls["add"] += 1
        return self.turned(facts, new)

    def overdelete(self, facts: Any, deleted: Mapping[str, Any]) -> Mapping[str, Any]:
        calls["overdelete"] += 1
        return self.turned(facts, deleted)

    def rederive(self, facts: Any, deleted: Mapping[str, Any]) -> Mapping[str, Any]:
        calls["rederive"] += 1
        return self.turned(facts, facts.visible(facts.rows(self.turned(facts, deleted))))

    def turned(self, facts: Any, some: Mapping[str, Any]) -> Mapping[str, Any]:
        rows = facts.arrays({name: one for name, one in some.items() if name in self.predicates})
        return facts.heads({name: pairs[:, ::-1] for name, pairs in rows.items()})


def symmetric_rules(rules: Sequence[NormalRule]) -> Collection[str]:
    return [rule.name for rule in rules if turns_around(rule)]


def turns_around(rule: NormalRule) -> bool:
    ends, sources = rule.head.arguments, rule.body.sources
    if rule.head.arity != 2 or len(sources) != 1 or rule.body.negated or rule.body.computes or rule.body.compares:
        return False
    is_plain = all(isinstance(end, Variable) for end in ends) and ends[0] != ends[1]
    return is_plain and sources[0] == Atom(rule.head.predicate, ends[::-1])


@pytest.fixture(autouse=True)
def registered() -> Iterator[None]:
    calls.clear()
    register_module("symmetric", symmetric_rules, Symmetric)
    yield
    forget_module("symmetric")


def derived_from(streets: set[tuple[int, int]], lanes: set[tuple[int, int]]) -> set[Any]:
    """Return what the rules derive by themselves."""
    with patch("corollary.reasoning.maintain.modules._REGISTERED", {}):
        expected = KnowledgeBase(TEXT)
        expected.insert("square", [(50,)])
        expected.insert("street", streets)
        expected.insert("lane", lanes)
        return set(expected.facts("near"))


def follow_streets(kb: KnowledgeBase) -> tuple[set[tuple[int, int]], set[tuple[int, int]]]:
    """Delete and insert facts beside knowledge bases that derive everything; return the streets and lanes in the end."""
    streets, lanes = {(place, place + 1) for place in range(40)}, {(7, 30), (3, 5)}
    kb.insert("square", [(50,)])
    kb.insert("street", streets)
    kb.insert("lane", lanes)
    kb.materialise()
    for deleted, inserted in (({(5, 6)}, set()), ({(30, 31)}, {(6, 5)}), (set(), {(31, 30), (50, 51)})):
        kb.delete("street", deleted)
        kb.insert("street", inserted)
        streets = (streets - deleted) | inserted
        assert set(kb.facts("near")) == derived_from(streets, lanes)
    return streets, lanes


@pytest.mark.parametrize("strategy", ["auto", "dred-counting-modules"])
def test_the_functions_are_asked_and_every_change_is_exact(strategy: str) -> None:
    follow_streets(KnowledgeBase(TEXT, strategy=strategy))
    assert {name for name in calls if calls[name]} == {"lost", "gained", "add", "overdelete", "rederive"}


@pytest.mark.parametrize("strategy", ["backward-forward", "dred", "dred-counting", "recompute"])
def test_strategies_without_modules_follow_the_rules_themselves(strategy: str) -> None:
    follow_streets(KnowledgeBase(TEXT, strategy=strategy))
    assert not calls


def test_counters_leave_the_rules_of_a_hyper_node_with_a_module_alone() -> None:
    """A rule that brings a module, and goes again, begins and ends that; the report says so."""
    text = TEXT.replace("near(Y, X) :- near(X, Y).\n", "")
    kb = KnowledgeBase(text, strategy="dred-counting-modules")
    kb.insert("street", [(place, place + 1) for place in range(10)])
    kb.insert("lane", [(3, 7), (3, 5), (6, 2)])
    kb.materialise()
    (step,) = deleted(kb, (4, 5))
    assert (step.strategy, step.reason) == ("dred-counting-modules", "")
    kb.add_rules("turn: near(Y, X) :- near(X, Y).")
    (step,) = deleted(kb, (2, 3))
    assert (step.strategy, step.reason) == (
        "dred",
        "no derivations are counted where a module takes rules: symmetric",
    )
    kb.remove_rules("turn")
    (step,) = deleted(kb, (6, 7))
    assert step.strategy == "dred-counting-modules"
    expected = KnowledgeBase(text)
    for predicate in ("street", "lane"):
        expected.insert(predicate, kb.facts(predicate))
    assert set(kb.facts("near")) == set(expected.facts("near"))


def deleted(kb: KnowledgeBase, street: tuple[int, int]) -> list[Any]:
    """Return the reports of recursive hyper-nodes."""
    return [step for step in kb.apply(Change(delete={"street": [street]})).report.steps if "," in step.owner]


def test_a_store_is_opened_without_the_module(tmp_path: Path) -> None:
    """Its facts were not counted, and have to be."""
    with KnowledgeBase.create(tmp_path / "kb", TEXT, strategy="dred-counting-modules") as kb:
        streets, lanes = follow_streets(kb)
    forget_module("symmetric")
    calls.clear()
    with KnowledgeBase.open(tmp_path / "kb") as kb:
        for street in ((17, 18), (31, 30), (8, 9)):
            kb.delete("street", [street])
            streets.remove(street)
            assert set(kb.facts("near")) == derived_from(streets, lanes)
    assert not KnowledgeBase.verify(tmp_path / "kb")
    assert not calls


@settings(max_examples=examples(300))
@given(
    scenarios(PURE.but(max_facts=12, max_groups=4, max_changes=3)), st.sampled_from(["auto", "dred-counting-modules"])
)
def test_generated_changes_give_the_facts_of_the_oracle(scenario: Scenario, strategy: str) -> None:
    with patch.object(chooser, "_mostly_changed", lambda task: ""), patch.object(chooser, "_FEW", 1 << 40):
        follow(scenario, without=["closures"], strategy=strategy)


def test_a_fact_that_a_rule_and_a_module_rederive_is_there_once() -> None:
    kb = KnowledgeBase("""
    e(0, 0). e(0, 1). e(2, 0).
    p(X, Y) :- e(X, Y).
    p(X, Y) :- p(Y, X).
    p(X, Y) :- q(X, Z), e(Z, Y).
    q(X, Y) :- p(Y, X).
    """)
    kb.materialise()
    with patch.object(chooser, "_mostly_changed", lambda task: ""), patch.object(chooser, "_FEW", 1 << 40):
        kb.delete("e", [(0, 0)])
    assert kb.count("q") == len(set(kb.facts("q"))) == 8
    assert set(kb.facts("q")) == set(kb.facts("p"))


def test_a_rule_is_taken_once() -> None:
    rules = KnowledgeBase(TEXT).analysis.evaluated.rules
    register_module("again", symmetric_rules, Symmetric)
    try:
        found = modules_among([normalise(rule) for rule in rules.values()], registered_modules())
    finally:
        forget_module("again")
    assert [(one.name, one.takes) for one in found] == [("symmetric", {"r2"})]
