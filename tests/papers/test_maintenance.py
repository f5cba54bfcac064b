"""The worked examples of papers 000, 002 and 004 about changes, with every strategy."""

from __future__ import annotations

import pytest

from corollary import KnowledgeBase
from corollary.language import parse_program
from corollary.settings import STRATEGIES
from corollary.transactions import Change
from tests.oracle import evaluate
from tests.papers.texts import FIGURE_1, RULE_8, RULE_SET_2

pytestmark = pytest.mark.parametrize("strategy", STRATEGIES)


def _deleting(predicate: str, row: tuple[object, ...]) -> Change:
    return Change(delete={predicate: [row]})


def facts(kb: KnowledgeBase) -> dict[str, set[tuple[object, ...]]]:
    found = {name: set(kb.facts(name)) for name in kb.predicates()}
    return {name: rows for name, rows in found.items() if rows}


def derived(text: str) -> dict[str, set[tuple[object, ...]]]:
    found = evaluate(parse_program(text))
    return {name: {tuple(value.value for value in row) for row in rows} for name, rows in found.items() if rows}


def without(text: str, *rules: str) -> str:
    return "\n".join(line for line in text.split("\n") if line.split(":")[0] not in rules)


# -- 002: nonrecursive counters --------------------------------------------------------------------------------------


def test_002_a_fact_from_two_rules_stays_when_one_of_them_loses_its_fact(strategy: str) -> None:
    """As printed, Algorithm 3 deletes h although its counter is above zero; h must stay."""
    kb = KnowledgeBase("a(1). b(1). h(X) :- a(X). h(X) :- b(X). g(X) :- h(X).", strategy=strategy)
    result = kb.apply(_deleting("a", (1,)))
    assert facts(kb) == {"b": {(1,)}, "h": {(1,)}, "g": {(1,)}}
    assert sorted(result.deleted) == ["a"]
    kb.delete("b", [(1,)])
    assert facts(kb) == {}


def test_002_an_explicit_fact_counts_too(strategy: str) -> None:
    kb = KnowledgeBase("a(1). h(1). h(X) :- a(X).", strategy=strategy)
    kb.delete("a", [(1,)])
    assert facts(kb) == {"h": {(1,)}}


def test_002_a_recursive_fact_that_a_nonrecursive_rule_derives_stays(strategy: str) -> None:
    text = "a(1). b(1). c(1, 2). h(X) :- a(X). h(X) :- b(X). h(Y) :- h(X), c(X, Y). h(X) :- h(Y), c(X, Y)."
    kb = KnowledgeBase(text, strategy=strategy)
    kb.delete("a", [(1,)])
    assert facts(kb)["h"] == {(1,), (2,)}
    kb.delete("b", [(1,)])  # 1 and 2 only support each other now
    assert "h" not in facts(kb)


# -- 004: Examples 1 and 2 -------------------------------------------------------------------------------------------


def test_004_example_1_two_updates_one_after_the_other(strategy: str) -> None:
    kb = KnowledgeBase("p1(c). q(X) :- p1(X), p2(X).", strategy=strategy)
    assert kb.count("q") == 0
    kb.insert("p2", [("c",)])
    assert facts(kb) == {"p1": {("c",)}, "p2": {("c",)}, "q": {("c",)}}
    result = kb.apply(_deleting("p1", ("c",)))
    assert facts(kb) == {"p2": {("c",)}}
    assert sorted(result.deleted) == ["p1", "q"]


def test_004_example_2_an_alternative_derivation_keeps_a_fact_and_its_consequence(strategy: str) -> None:
    text = "p1(c). p2(c). p3(c). q(X) :- p1(X), p2(X). q(X) :- p3(X). r(X) :- q(X)."
    kb = KnowledgeBase(text, strategy=strategy)
    result = kb.apply(_deleting("p1", ("c",)))
    assert facts(kb) == {"p2": {("c",)}, "p3": {("c",)}, "q": {("c",)}, "r": {("c",)}}
    assert sorted(result.deleted) == ["p1"]


def test_004_example_2_inside_a_circle(strategy: str) -> None:
    """The same with q and r in one hyper-node: Backward/Forward proves q and never looks at r."""
    text = "p1(c). p2(c). p3(c). q(X) :- p1(X), p2(X), s(X). q(X) :- p3(X), s(X). r(X) :- q(X). s(X) :- r(X). s(c)."
    kb = KnowledgeBase(text, strategy=strategy)
    result = kb.apply(_deleting("p1", ("c",)))
    assert kb.count("q") == kb.count("r") == 1
    assert sorted(result.deleted) == ["p1"]
    if strategy == "backward-forward":
        assert sum(step.deleted + step.overdeleted for step in result.report.steps) == 0
    kb.delete("s", [("c",)])
    assert facts(kb) == {"p2": {("c",)}, "p3": {("c",)}}


# -- 000: the running example ----------------------------------------------------------------------------------------

# r5 is unsafe as printed: p9 limits X, and the graph stays what it is.
RUNNING = FIGURE_1.replace("p6(Y,Z) ∧ not", "p6(Y,Z) ∧ p9(X) ∧ not")
FACTS = """
p0(1, 2). p0(2, 3). p0(3, 1). p3(2, 4). p3(4, 5). p4(3, 3). p2(5, 9). p6(4, 2). p6(5, 4). p6(2, 2). p9(1). p9(2). p9(3). p9(5).
"""


def test_000_adding_rule_8_to_the_running_example(strategy: str) -> None:
    kb = KnowledgeBase(RUNNING + FACTS, strategy=strategy)
    before = facts(kb)
    assert before == derived(RUNNING + FACTS)
    kb.add_rules(RULE_8)
    after = facts(kb)
    assert after == derived(RUNNING + RULE_8 + FACTS)
    assert after != before
    assert {rule.name: rule.hyper_node for rule in kb.rules()}["r8"] == "{r2, r3, r4, r8}"
    kb.remove_rules("r8")
    assert facts(kb) == before


def test_000_deleting_rule_4_of_the_running_example(strategy: str) -> None:
    kb = KnowledgeBase(RUNNING + FACTS, strategy=strategy)
    before = facts(kb)
    with kb.transaction() as tx:
        tx.remove_rules("r4")
    assert facts(kb) == derived(without(RUNNING, "r4") + FACTS)
    assert {rule.hyper_node for rule in kb.rules()} == {"{r1}", "{r2}", "{r3}", "{r5, r6}", "{r7}"}
    assert "{r1}" not in {step.owner for step in tx.result.report.steps}
    kb.add_rules("r4: p4(X,Y) :- p2(X,Y).")
    assert facts(kb) == before


def test_000_deleting_rule_7_touches_nothing_else(strategy: str) -> None:
    kb = KnowledgeBase(RUNNING + FACTS, strategy=strategy)
    with kb.transaction() as tx:
        tx.remove_rules("r7")
    assert tx.result.report.steps == ()
    assert sorted(tx.result.deleted) == ["p7"]


# -- 000: rule set 2 -------------------------------------------------------------------------------------------------


def four_chains(n: int) -> str:
    return "\n".join(f"p{k + 1}({i + k * n}, {i + k * n + 1})." for k in range(4) for i in range(n))


def test_000_removing_rule_1_empties_p11_although_its_facts_support_each_other(strategy: str) -> None:
    """Two hyper-nodes own p11: {r1} brings it, and {r2, r3} closes it."""
    kb = KnowledgeBase(RULE_SET_2 + four_chains(3), strategy=strategy)
    before = facts(kb)
    assert len(before["p11"]) == 12
    kb.remove_rules("r1")
    assert facts(kb) == derived(without(RULE_SET_2, "r1") + four_chains(3))
    assert kb.count("p11") == 0
    kb.add_rules("r1: p11(X, Y) :- p1(X, Y).")
    assert facts(kb) == before


@pytest.mark.parametrize("rule", [f"r{number}" for number in range(1, 19)])
def test_000_every_rule_of_rule_set_2_can_go_and_come_back(strategy: str, rule: str) -> None:
    kb = KnowledgeBase(RULE_SET_2 + four_chains(2), strategy=strategy)
    before = facts(kb)
    (text,) = (line for line in RULE_SET_2.split("\n") if line.startswith(f"{rule}:"))
    kb.remove_rules(rule)
    assert facts(kb) == derived(without(RULE_SET_2, rule) + four_chains(2))
    kb.add_rules(text.replace(":=", ":-"))
    assert facts(kb) == before
