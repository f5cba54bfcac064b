"""Rules mean the same after every pass."""

from __future__ import annotations

from collections.abc import Iterable

from hypothesis import given, settings
from hypothesis import strategies as st

from corollary import KnowledgeBase
from corollary.planning.optimisers import NAMES, PASSES, make_only_exact, optimised_rule, optimised_rules
from corollary.program import Clause, Constant, Program, Rule
from tests.budgets import examples
from tests.generator import EVERYTHING, INTEGERS, programs
from tests.oracle import Fact, evaluate


def with_rules(program: Program, rules: Iterable[Rule]) -> Program:
    return Program((*program.facts, *(Clause((rule.head,), rule.body, rule.name) for rule in rules)))


def visible(facts: dict[str, set[Fact]]) -> dict[str, set[Fact]]:
    return {predicate: rows for predicate, rows in facts.items() if rows}


@settings(max_examples=examples(200))
@given(programs(EVERYTHING), st.sampled_from(sorted(PASSES)))
def test_a_pass_leaves_what_rules_derive(program: Program, name: str) -> None:
    without = set(PASSES) - {name}
    changed = with_rules(program, [optimised_rule(rule, without) for rule in program.rules])
    assert visible(evaluate(changed)) == visible(evaluate(program))


@settings(max_examples=examples(100))
@given(programs(INTEGERS.but(arithmetic=False, aggregates=False)))
def test_equalities_are_joins_where_all_constants_are_exact(program: Program) -> None:
    if make_only_exact(program.rules):
        changed = with_rules(program, [optimised_rule(rule, exact=True) for rule in program.rules])
        assert visible(evaluate(changed)) == visible(evaluate(program))


@settings(max_examples=examples(150))
@given(programs(EVERYTHING))
def test_rules_without_those_that_others_subsume_derive_the_same(program: Program) -> None:
    changed = with_rules(program, optimised_rules(program.rules))
    assert visible(evaluate(changed)) == visible(evaluate(program))


@settings(max_examples=examples(75))
@given(programs(EVERYTHING), st.sets(st.sampled_from(NAMES)))
def test_a_run_without_updates_derives_the_same_with_and_without_passes(program: Program, without: set[str]) -> None:
    kb = KnowledgeBase(program, updates=False, without=without)
    found = {name: {tuple(map(Constant, row)) for row in kb.facts(name).constants()} for name in kb.predicates()}
    assert visible(found) == visible(evaluate(program))
