"""Paper 002: the two programs of its motivation."""

import pytest

from corollary.analysis import RuleGraph, module_name
from corollary.language import parse_program
from corollary.reference import evaluate

TRANSITIVE = "R(?x, ?z) :- R(?x, ?y) ∧ R(?y, ?z)."
SYMMETRIC = "R(?y, ?x) :- R(?x, ?y)."


def closed(text: str) -> set[tuple[object, ...]]:
    return {tuple(constant.value for constant in row) for row in evaluate(parse_program(text))["R"]}


def modules(text: str) -> list[str]:
    graph = RuleGraph.of(parse_program(text).rules)
    return [module_name(graph, node) for node in graph.hyper_nodes]


@pytest.mark.parametrize("n", [1, 2, 12])
def test_example_1_closes_a_chain(n: int) -> None:
    found = closed(TRANSITIVE + " ".join(f"R(c{i}, c{i + 1})." for i in range(n)))
    assert found == {(f"c{i}", f"c{j}") for i in range(n + 1) for j in range(i + 1, n + 1)}
    assert len(found) == n * (n + 1) // 2


@pytest.mark.parametrize("n", [2, 3, 10])
def test_example_2_closes_a_cycle(n: int) -> None:
    edges = " ".join(f"R(c{i}, c{i + 1})." for i in range(1, n)) + f" R(c{n}, c1)."
    found = closed(TRANSITIVE + SYMMETRIC + edges)
    assert found == {(f"c{i}", f"c{j}") for i in range(1, n + 1) for j in range(1, n + 1)}
    assert len(found) == n * n


def test_a_directed_cycle_needs_no_symmetric_rule() -> None:
    assert len(closed(TRANSITIVE + "R(c1, c2). R(c2, c3). R(c3, c1).")) == 9


def test_the_two_programs_are_the_two_closure_modules() -> None:
    assert modules(TRANSITIVE) == ["transitive"]
    assert modules(TRANSITIVE + SYMMETRIC) == ["symmetric-transitive"]
