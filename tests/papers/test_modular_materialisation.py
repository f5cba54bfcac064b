"""Paper 002: the two programs of its motivation, and what modules save where other rules share a hyper-node with a closure."""

from random import Random

import pytest

from corollary import Change, KnowledgeBase
from corollary.analysis import RuleGraph, module_name
from corollary.language import parse_program
from tests.oracle import evaluate

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


# -- a closure among other rules -----------------------------------------------------------------------------------------

MIXED = "r(X, Y) :- e(X, Y).  r(X, Z) :- r(X, Y), r(Y, Z).  e(Y, X) :- r(X, Y), flip(X)."


def mixed(text: str = MIXED, **options: object) -> tuple[KnowledgeBase, int]:
    """A closure over 360 random edges, some of which rules turn around, and the rule instances that deriving it took."""
    random = Random(1)
    edges = sorted({(random.randrange(300), random.randrange(300)) for _ in range(360)})
    kb = KnowledgeBase(text, **options)  # type: ignore[arg-type]
    kb.insert("e", edges)
    kb.insert("flip", [(node,) for node in sorted(random.sample(range(300), 6))])
    return kb, sum(node.instances for node in kb.materialise().nodes)


def instances_of_deleting(kb: KnowledgeBase, edge: tuple[int, int]) -> int:
    result = kb.apply(Change(delete={"e": [edge]}))
    assert set(result.deleted) == {"e"}, "the closure has lost nothing"
    return sum(step.instances for step in result.report.steps)


def test_a_closure_among_other_rules_takes_no_more_instances_with_updates() -> None:
    kb, with_updates = mixed()
    _, without_updates = mixed(updates=False)
    assert kb.count("r") == 24_424
    assert with_updates < 2 * without_updates < 250_000 < mixed(strategy="dred-counting")[1]


def test_deleting_an_edge_that_changes_nothing_takes_few_instances() -> None:
    kb, derived = mixed()
    assert instances_of_deleting(kb, (1, 142)) < derived / 20


def test_modules_save_most_instances_of_counting() -> None:
    with_modules, without = (mixed(strategy=name)[0] for name in ("dred-counting-modules", "dred-counting"))
    assert 20 * instances_of_deleting(with_modules, (1, 142)) < instances_of_deleting(without, (1, 142))


@pytest.mark.parametrize("condition", ["X != Z", "not flip(Y)", "not flip(Y), X != Z", "not flip(X)"])
def test_a_closure_with_a_condition_is_a_module_too(condition: str) -> None:
    text = MIXED.replace("r(Y, Z).", f"r(Y, Z), {condition}.")
    with_modules, without = (mixed(text, strategy=name) for name in ("dred-counting-modules", "dred-counting"))
    assert with_modules[0].count("r") == without[0].count("r")
    assert 5 * with_modules[1] < without[1]
    edge = (1, 142)
    assert 10 * instances_of_deleting(with_modules[0], edge) < instances_of_deleting(without[0], edge)
