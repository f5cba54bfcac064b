"""Plans of rule changes: the worked examples of paper 000, and that looking changes nothing."""

import json

import pytest

from corollary import KnowledgeBase, ProgramError
from tests.papers.texts import FIGURE_1, RULE_8

SAFE = FIGURE_1.replace("p5(X,Y) :=", "p5(Y,Z) :=")  # r5 is unsafe as printed
CHAIN = "a: p(X) :- e(X). b: q(X) :- p(X). c: r(X) :- q(X). d: s(X) :- r(X). e(1)."


def test_adding_rule_8_influences_the_hyper_node_that_it_joins() -> None:
    assert str(KnowledgeBase(SAFE).plan_rules(add=RULE_8)) == (
        "add r8: p2(X, Z) :- p3(X, Y), p2(Y, Z).\n"
        "\n"
        "directly influenced (DIHN): {r2, r3, r4, r8}\n"
        "grown: {r2, r3, r4} and new rules into {r2, r3, r4, r8}\n"
        "\n"
        "execution plan\n"
        "  1. {r2, r3, r4, r8}  its rules change\n"
        "  2. {r5, r6}          its facts may change\n"
        "  3. {r7}              its facts may change"
    )


def test_removing_rule_4_splits_its_hyper_node() -> None:
    plan = KnowledgeBase(SAFE).plan_rules(remove="r4")
    assert repr(plan) == "<RuleChangePlan: 0 added, 1 removed, plan [{r3}, {r2}, {r5, r6}, {r7}]>"
    found = json.loads(plan.to_json())
    assert found["directly_influenced"] == [["r3"], ["r2"]]
    assert found["split"] == [{"from": ["r2", "r3", "r4"], "into": [["r3"], ["r2"]]}]
    assert [one["hyper_node"] for one in found["execution_plan"] if not one["directly_influenced"]] == [
        ["r5", "r6"],
        ["r7"],
    ]
    assert found["hyper_nodes_before"] == [["r1"], ["r2", "r3", "r4"], ["r5", "r6"], ["r7"]]


def test_removing_rules_that_nothing_uses_needs_no_plan() -> None:
    plan = KnowledgeBase(SAFE).plan_rules(remove=["r5", "r6", "r7"])
    assert [node.rules for node in plan.dropped] == [("r5", "r6"), ("r7",)]
    assert plan.execution_plan == ()
    assert str(plan).endswith("execution plan: empty, because no remaining rule uses what changes")


def test_a_rule_that_closes_a_cycle_merges_hyper_nodes() -> None:
    lines = str(KnowledgeBase(CHAIN).plan_rules(add="n: p(X) :- r(X).")).splitlines()
    assert "merged: {b} and {c} and new rules into {b, c, n}" in lines


def test_a_rule_that_nothing_uses_is_created() -> None:
    plan = KnowledgeBase(CHAIN).plan_rules(add="n: t(X) :- q(X).")
    assert [node.rules for node in plan.created] == [("n",)]
    assert "created: {n}" in str(plan).splitlines()


def test_removals_come_before_additions() -> None:
    plan = KnowledgeBase(SAFE).plan_rules(remove="r4", add="r9: p4(X, Y) :- p2(X, Y), p0(X, X).")
    assert {str(old): list(map(str, new)) for old, new in plan.split.items()} == {"{r2, r3, r4}": ["{r3}", "{r2}"]}
    assert list(map(str, plan.merged)) == list(map(str, plan.directly_influenced)) == ["{r2, r3, r9}"]
    assert list(map(str, plan.execution_plan)) == ["{r2, r3, r9}", "{r5, r6}", "{r7}"]


def test_a_plan_reaches_what_a_removed_rule_has_fed_and_what_a_new_rule_feeds() -> None:
    kb = KnowledgeBase(CHAIN)
    assert list(map(str, kb.plan_rules(remove="c", add="n: q(X) :- f(X).").execution_plan)) == ["{d}", "{n}"]


def test_looking_changes_and_derives_nothing() -> None:
    kb = KnowledgeBase(CHAIN)
    kb.plan_rules(add="n: p(X) :- r(X).", remove=["d"])
    assert not kb._is_derived
    assert [rule.name for rule in kb.rules()] == ["a", "b", "c", "d"]
    assert list(kb.facts("s")) == [(1,)]


def test_a_rule_that_exists_already_changes_nothing() -> None:
    assert str(KnowledgeBase(CHAIN).plan_rules(add="q(Y) :- p(Y).")) == "no rule changes"


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"remove": "bb"}, "E206"),
        ({"add": "n: t(X, Y) :- q(X)."}, "E202"),
        ({"add": "n: p(X) :- e(X), not s(X)."}, "E203"),
        ({"add": '@input e("e.csv") .'}, "E418"),
    ],
)
def test_a_change_that_would_be_refused_has_no_plan(change: dict[str, str], code: str) -> None:
    with pytest.raises(ProgramError) as caught:
        KnowledgeBase(CHAIN).plan_rules(**change)
    assert [diagnostic.code for diagnostic in caught.value.diagnostics] == [code]
