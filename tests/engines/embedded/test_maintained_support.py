"""After every change the support of each fact is what counting from scratch gives, where steps count."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corollary import KnowledgeBase
from corollary.program import Program
from corollary.settings import STRATEGIES
from tests.budgets import examples
from tests.engine_suite.scripts import apply
from tests.engines.embedded.scenarios import Support, owner_name, support
from tests.engines.embedded.test_support import is_counted_by_bindings
from tests.generator import EVERYTHING, PURE, Scenario, programs, scenarios
from tests.oracle import evaluate
from tests.oracle.evaluator import Relations, head_facts, solutions


def counted(kb: KnowledgeBase) -> Support:
    """The support by owners that count: all but recursive hyper-nodes, and those as well where the strategy says so."""
    graph = kb.analysis.graph
    recursive = {owner_name(node) for node in graph.hyper_nodes if graph.is_recursive(node)}
    counts_recursion = any(rule.strategy == "dred-counting" for rule in kb.rules())
    return {key: counts for key, counts in support(kb).items() if counts_recursion or key[1] not in recursive}


def follow_counts(scenario: Scenario, strategy: str) -> None:
    kb = KnowledgeBase(scenario.program, strategy=strategy, without=["closures"])
    for change, program in zip(scenario.changes, scenario.programs()[1:], strict=True):
        apply(kb, change)
        assert counted(kb) == counted(KnowledgeBase(program, strategy=strategy, without=["closures"]))


@settings(max_examples=examples(100))
@given(scenarios(EVERYTHING), st.sampled_from(STRATEGIES))
def test_support_after_changes_is_that_of_a_new_knowledge_base(scenario: Scenario, strategy: str) -> None:
    follow_counts(scenario, strategy)


@settings(max_examples=examples(100))
@given(scenarios(PURE))
def test_recursive_counters_after_changes_are_those_of_a_new_knowledge_base(scenario: Scenario) -> None:
    follow_counts(scenario, "dred-counting")


@settings(max_examples=examples(150))
@given(scenarios(EVERYTHING.but(mixed_closures=30, max_changes=3)))
def test_counters_of_modules_after_changes_are_those_of_a_new_knowledge_base(scenario: Scenario) -> None:
    def of_modules(program: Program, kb: KnowledgeBase | None = None) -> Support:
        kb = kb or KnowledgeBase(program, strategy="dred-counting-modules")
        return {key: counts for key, counts in support(kb).items() if " external" in key[1]}

    kb = KnowledgeBase(scenario.program, strategy="dred-counting-modules")
    for change, program in zip(scenario.changes, scenario.programs()[1:], strict=True):
        apply(kb, change)
        assert of_modules(program, kb) == of_modules(program)


@settings(max_examples=examples(100))
@given(programs(EVERYTHING))
def test_recursive_counters_are_the_numbers_of_rule_instances(program: Program) -> None:
    facts = Relations()
    for predicate, known in evaluate(program).items():
        facts.add(predicate, known)
    kb = KnowledgeBase(program, strategy="dred-counting", without=["closures"])
    found = support(kb)
    graph = kb.analysis.graph
    for node in graph.hyper_nodes:
        rules = [graph.rules[name] for name in node.rules]
        if all(map(is_counted_by_bindings, rules)):
            for predicate in {rule.head.predicate for rule in rules}:
                expected: Counter = Counter()
                for rule in rules:
                    if rule.head.predicate == predicate:
                        expected.update(head_facts(rule, solutions(rule.body, facts)))
                assert found.get((predicate, owner_name(node)), {}) == expected


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_fact_of_two_derivations_stays_when_one_goes(strategy: str) -> None:
    kb = KnowledgeBase("e(1, 2). e(1, 3). p(X) :- e(X, _).", strategy=strategy)
    kb.delete("e", [(1, 2)])
    assert support(kb)["p", "{r1}"] == {next(iter(support(kb)["p", "{r1}"])): 1}
    kb.delete("e", [(1, 3)])
    assert kb.count("p") == 0
