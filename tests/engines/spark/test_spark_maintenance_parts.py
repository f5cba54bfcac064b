"""The parts of maintenance on Spark that need no Spark: support in the driver, rules in the driver, which steps run next."""

from __future__ import annotations

import numpy as np
import pytest

from corollary.analysis import RuleGraph
from corollary.engines.spark.maintenance.change_rows import ChangeRows, contained
from corollary.engines.spark.maintenance.delta_rules import BoundRule, asks_only, heads_of, reads_one_relation
from corollary.engines.spark.maintenance.lookup import Lookup
from corollary.engines.spark.maintenance.signed_relation import SignedRelation
from corollary.engines.spark.maintenance.steps import SparkStep, steps_of_node
from corollary.engines.spark.maintenance.transaction import visible_changes
from corollary.language import parse_program
from corollary.planning import normalise
from corollary.planning.algebra import algebra_of
from corollary.program import Constant
from corollary.reasoning.maintain.transaction import next_wave, small_group


def ids(*rows: tuple[int, ...]) -> np.ndarray:
    return np.array(rows, np.int64).reshape(len(rows), -1)


def steps_of(text: str) -> list[SparkStep]:
    graph = RuleGraph.of(parse_program(text).rules)
    return [step for node in graph.hyper_nodes for step in steps_of_node(graph, node)]


def owners(steps: list[SparkStep]) -> list[str]:
    return [step.owner for step in steps]


# -- support -----------------------------------------------------------------------------------------------------------


def test_a_fact_is_visible_while_some_owner_supports_it() -> None:
    known = [(0, ids((1, 2), (2, 1), (3, 1))), (1, ids((2, 1)))]
    changes = [(0, ids((1, -1), (2, -1), (3, -1))), (2, ids((4, 2)))]
    deleted, inserted, lost = visible_changes(known, changes)
    assert deleted.tolist() == [[3, 1]]  # 1 has a derivation left, 2 another owner
    assert inserted.tolist() == [[4, 1]]
    assert lost.tolist() == [[2, 1], [3, 1]]


def test_support_below_zero_is_a_broken_invariant() -> None:
    with pytest.raises(AssertionError, match="below zero"):
        visible_changes([(0, ids((1, 1)))], [(0, ids((1, -2)))])


def test_rows_are_found_among_others() -> None:
    assert contained(ids((1, 2), (2, 1), (3, 3)), ids((3, 3), (1, 2))).tolist() == [True, False, True]


# -- rules -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ("h(Y, X) :- p(X, Y).", [[8, 4], [4, 4], [8, 4]]),
        ("h(X) :- p(X, X).", [[4]]),
        ("h(7, Y) :- p(1, Y).", [[28, 8], [28, 4], [28, 8]]),
        ("h() :- p(2, _).", []),
    ],
)
def test_rules_that_choose_rows_and_columns_run_in_the_driver(rule: str, expected: list[list[int]]) -> None:
    (one,) = parse_program(rule).rules
    tree = algebra_of(normalise(one), keep_all=True)
    assert reads_one_relation(tree)
    facts = ids((4, 8, 1), (4, 4, 1), (4, 8, 1))
    assert heads_of(tree, facts, lambda constant: number(constant)).tolist() == expected


def number(constant: Constant) -> int:
    assert isinstance(constant.value, int)
    return constant.value * 4


def test_joins_do_not_run_in_the_driver() -> None:
    (rule,) = parse_program("h(X) :- p(X, Y), q(Y).").rules
    assert not reads_one_relation(algebra_of(normalise(rule), keep_all=True))


# -- steps -------------------------------------------------------------------------------------------------------------


def test_an_aggregation_is_a_step_of_its_own_before_the_rule_that_uses_it() -> None:
    groups, rule = steps_of("r1: big(X) :- AGGREGATE(p(X, Y)) ON X WITH COUNT(Y) AS N, N > 2.")
    assert groups.source is not None
    assert list(groups.heads) == [atom.predicate for atom in rule.job.rules[0].body.sources]
    assert str(groups.node) == rule.owner == "{r1}"


def test_steps_that_need_nothing_of_each_other_are_a_wave() -> None:
    steps = steps_of("r1: a(X) :- p(X). r2: b(X) :- p(X). r3: c(X) :- a(X), b(X). r4: d(X) :- q(X).")
    touched = {"{r1}", "{r2}", "{r3}"}
    wave, later, untouched = next_wave(steps, lambda step: step.owner in touched)
    assert (owners(wave), owners(later), owners(untouched)) == (["{r1}", "{r2}"], ["{r3}"], ["{r4}"])


def test_small_steps_run_together_one_through_another() -> None:
    steps = steps_of("r1: a(X) :- p(X, Y), q(Y). r2: b(X) :- a(X). r3: c(X) :- b(X), big(X). r4: d(X) :- c(X).")
    group, rest = small_group(steps, [], lambda step: step.owner == "{r1}", lambda step: step.owner != "{r3}")
    assert (owners(group), owners(rest)) == (["{r1}", "{r2}"], ["{r3}", "{r4}"])
    group, rest = small_group(steps[1:], [], lambda step: step.owner == "{r2}", lambda step: step.owner == "{r2}")
    assert (owners(group), owners(rest)) == (["{r2}"], ["{r3}", "{r4}"])
    assert [step.only_copies for step in steps] == [False, True, False, True]  # where all do, the driver needs no job


def test_who_has_to_ask_a_recursive_step_does_not_run_in_a_group() -> None:
    steps = steps_of("""
    r1: p(X, Z) :- p(X, Y), e(Y, Z).
    r2: p(X, 9) :- q(X), r(X).
    r3: s(X) :- q(X), r(X).
    """)
    recursive = [step for step in steps if step.recursive]
    others = [step for step in steps if not step.recursive]
    group, rest = small_group(others, recursive, lambda step: True, lambda step: True)
    assert (owners(group), owners(rest)) == (["{r3}"], ["{r2}"])


@pytest.mark.parametrize(
    ("rule", "is_bound"),
    [
        ("h(X) :- c(X, Y), p(Y, X), q(7).", True),
        ("h(Z) :- c(X, Y), p(Y, Z).", False),
        ("h(X) :- c(X, Y), p(Y, _).", False),
        ("h(X) :- c(X, Y), p(Y, X), X < Y.", False),
        ("h(X) :- c(X, Y), not p(Y, X).", False),
        ("h(X) :- c(X, Y).", False),
    ],
)
def test_rules_whose_first_atom_binds_everything_only_ask_for_facts(rule: str, is_bound: bool) -> None:
    (one,) = parse_program(rule).rules
    assert asks_only(normalise(one)) is is_bound


def test_a_rule_that_only_asks_takes_its_answers_from_the_driver() -> None:
    (rule,) = parse_program("h(Y, 5) :- c(X, X, Y), p(Y, X).").rules
    bound = BoundRule(normalise(rule), ids((4, 4, 8, 1), (4, 8, 8, 1), (12, 12, 16, 1)), number)
    lookup = Lookup(None)  # type: ignore[arg-type]
    known = ChangeRows.of_ids(None, 2, ids((8, 4, 1), (16, 12, 1), (16, 12, -1)))  # type: ignore[arg-type]
    bound.ask(lookup, lambda atom: SignedRelation(None, 2, segments=(known,)))  # type: ignore[arg-type]
    assert bound.heads(lookup.run()).tolist() == [[8, 20]]
    nothing = BoundRule(normalise(rule), ids((4, 8, 8, 1)), number)
    nothing.ask(lookup, lambda atom: SignedRelation(None, 2, segments=(known,)))  # type: ignore[arg-type]
    assert nothing.heads(lookup.run()).tolist() == []
