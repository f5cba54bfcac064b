"""On demand, a query has the answers that it has when everything was derived."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

from corollary import KnowledgeBase
from corollary.analysis import analyse
from corollary.program import Clause, Constant, FactBlock, Program, Query, Statement
from corollary.reasoning.demand import Demanded, demanded
from tests.budgets import examples
from tests.demand.queries import Asked, asked, asked_about_growth
from tests.generator import EVERYTHING, INTEGERS, POSITIVE
from tests.oracle import Fact, answer, evaluate


def expected(one: Asked) -> set[Fact]:
    return answer(one.query, evaluate(one.program))


def is_right(one: Asked) -> bool:
    return not analyse(one.program).errors


def rewritten(one: Asked) -> Demanded:
    return demanded(one.program.rules, one.query, {block.predicate for block in one.program.facts})


def by_oracle(program: Program, rules: Demanded) -> set[Fact]:
    """The answers of the rewritten rules over the facts of the program."""
    facts: list[Statement] = [block for block in program.facts if isinstance(block, FactBlock)]
    clauses = [Clause((rule.head,), rule.body, rule.name) for rule in rules.graph.rules.values()]
    return evaluate(Program((*facts, *clauses)))[rules.answer]


def on_demand(program: Program, query: Query, without: tuple[str, ...] = ()) -> set[Fact]:
    kb = KnowledgeBase(program, without=without)
    rows = [tuple(map(Constant, row)) for row in kb.query(query, mode="demand").constants()]
    assert len(rows) == len(set(rows)), "an answer comes once"
    assert not program.rules or not kb._backend.is_materialised, "nothing is kept"
    return set(rows)


@settings(max_examples=examples(300))
@given(asked(EVERYTHING))
def test_the_rewritten_rules_mean_the_same(one: Asked) -> None:
    assert by_oracle(one.program, rewritten(one)) == expected(one)


@settings(max_examples=examples(150))
@given(asked(POSITIVE))
def test_the_rewritten_rules_mean_the_same_where_recursion_is_all_there_is(one: Asked) -> None:
    assert by_oracle(one.program, rewritten(one)) == expected(one)


@settings(max_examples=examples(150))
@given(asked(EVERYTHING))
def test_the_embedded_engine_answers_on_demand(one: Asked) -> None:
    assert on_demand(one.program, one.query) == expected(one)


@settings(max_examples=examples(150))
@given(asked_about_growth().filter(is_right))
def test_the_rewritten_rules_mean_the_same_where_they_compute(one: Asked) -> None:
    assert by_oracle(one.program, rewritten(one)) == expected(one)


@settings(max_examples=examples(30))
@given(asked_about_growth().filter(is_right))
def test_the_embedded_engine_answers_what_is_computed(one: Asked) -> None:
    assert on_demand(one.program, one.query) == expected(one)


@settings(max_examples=examples(50))
@given(asked(EVERYTHING))
def test_everything_can_be_derived_after_a_demand(one: Asked) -> None:
    kb = KnowledgeBase(one.program)
    on_demand = kb.query(one.query, mode="demand")
    wanted = evaluate(one.program)
    assert {tuple(map(Constant, row)) for row in kb.query(one.query, mode="materialise").constants()} == expected(one)
    assert {tuple(map(Constant, row)) for row in on_demand.constants()} == expected(one)
    for predicate, facts in wanted.items():
        assert {tuple(map(Constant, row)) for row in kb.facts(predicate).constants()} == facts


@pytest.mark.slow
@settings(max_examples=examples(4000))
@given(asked(EVERYTHING) | asked(INTEGERS) | asked(POSITIVE))
def test_many_queries_have_the_same_answers_on_demand(one: Asked) -> None:
    wanted = expected(one)
    assert by_oracle(one.program, rewritten(one)) == wanted
    assert on_demand(one.program, one.query) == wanted
