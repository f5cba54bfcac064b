"""The embedded engine says what the oracle says, with every optimisation and without any of them."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corollary import KnowledgeBase
from corollary.program import Constant, Program
from corollary.settings import OPTIMISATIONS
from tests.budgets import examples
from tests.generator import EVERYTHING, INTEGERS, POSITIVE, programs
from tests.oracle import Fact, evaluate

ALL = frozenset(OPTIMISATIONS)


def visible(program: Program, without: frozenset[str]) -> dict[str, set[Fact]]:
    kb = KnowledgeBase(program, without=without)
    found: dict[str, set[Fact]] = {}
    for predicate in kb.predicates():
        rows = [tuple(map(Constant, row)) for row in kb.facts(predicate).constants()]
        assert len(rows) == len(set(rows)) == kb.count(predicate), f"{predicate} has duplicates"
        if rows:
            found[predicate] = set(rows)
    return found


def expected(program: Program) -> dict[str, set[Fact]]:
    return {predicate: facts for predicate, facts in evaluate(program).items() if facts}


@settings(max_examples=examples(300))
@given(programs(EVERYTHING))
def test_every_feature_gives_the_facts_of_the_oracle(program: Program) -> None:
    assert visible(program, frozenset()) == expected(program)


@settings(max_examples=examples(150))
@given(programs(EVERYTHING), st.sets(st.sampled_from(sorted(ALL)), min_size=1))
def test_optimisations_can_be_left_out_without_changing_an_answer(program: Program, without: set[str]) -> None:
    assert visible(program, frozenset(without)) == expected(program)


@settings(max_examples=examples(150))
@given(programs(EVERYTHING))
def test_pairs_in_bitmaps_give_the_facts_of_the_oracle(program: Program) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("corollary.engines.embedded.relations.relation.BITMAP_FROM", 2)
        assert visible(program, frozenset()) == expected(program)
        assert visible(program, frozenset({"closures"})) == expected(program)


@settings(max_examples=examples(100))
@given(programs(EVERYTHING))
def test_comparing_columns_gives_the_facts_of_the_oracle(program: Program) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("corollary.engines.embedded.values.ordering._FEW", -1)
        assert visible(program, frozenset()) == expected(program)


@settings(max_examples=examples(100))
@given(programs(POSITIVE))
def test_recursive_programs_give_the_facts_of_the_oracle(program: Program) -> None:
    assert visible(program, frozenset()) == expected(program)


@pytest.mark.slow
@settings(max_examples=examples(3000))
@given(programs(EVERYTHING) | programs(INTEGERS))
def test_many_programs_give_the_facts_of_the_oracle(program: Program) -> None:
    want = expected(program)
    assert visible(program, frozenset()) == want
    assert visible(program, ALL) == want
