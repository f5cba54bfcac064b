"""Which module each shape of rules gets."""

import pytest

from corollary.analysis import ModuleKind, module_name, modules_of
from tests.analysis.helpers import graph_of


def module_names(text: str) -> list[str]:
    graph = graph_of(text)
    return [module_name(graph, node) for node in graph.hyper_nodes]


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("p(X, Z) :- p(X, Y), p(Y, Z).", "transitive"),
        ("p(X, Z) :- p(Y, Z), p(X, Y).", "transitive"),
        ("p(A, C) :- p(A, B), p(B, C).", "transitive"),
        ("p(X, Z) :- p(X, Y), p(Y, Z), X != Z.", "transitive-guarded"),
        ("p(X, Z) :- p(X, Y), p(Y, Z), Z != X.", "transitive-guarded"),
        ("p(X, Z) :- COMP(X, !=, Z), p(Y, Z), p(X, Y).", "transitive-guarded"),
        ("p(X, Z) :- p(X, Y), p(Y, Z). p(X, Z) :- p(X, Y), p(Y, Z), X != Z.", "transitive"),
        ("p(X, Y) :- p(Y, X). p(X, Z) :- p(X, Y), p(Y, Z).", "symmetric-transitive"),
        ("p(X, Z) :- p(X, Y), p(Y, Z). p(B, A) :- p(A, B).", "symmetric-transitive"),
        ("p(X, Y) :- p(Y, X). p(X, Z) :- p(X, Y), p(Y, Z), X != Z.", "symmetric-transitive-guarded"),
        ("p(X, Z) :- p(X, Y), e(Y, Z).", "left-linear"),
        ("p(X, Z) :- e(Y, Z), p(X, Y).", "left-linear"),
        ("p(X, Z) :- p(X, Y), e(Y, Z), X != Z.", "left-linear-guarded"),
        ("p(X, Z) :- e(X, Y), p(Y, Z).", "right-linear"),
        ("p(X, Z) :- e(X, Y), p(Y, Z), X != Z.", "right-linear-guarded"),
        ("p(X, Z) :- p(X, Y), e(Y, Z). p(X, Z) :- e(X, Y), p(Y, Z).", "left-linear+right-linear"),
        ("p(X, Z) :- p(X, Y), e(Y, Z). p(X, Z) :- p(X, Y), f(Y, Z).", "left-linear+left-linear"),
        ("p(X, Z) :- p(X, Y), p(Y, Z). p(X, Z) :- p(X, Y), e(Y, Z).", "transitive+left-linear"),
    ],
)
def test_closures_are_found_by_their_shape(text: str, name: str) -> None:
    assert module_names(text) == [name]


@pytest.mark.parametrize(
    "text",
    [
        "p(X, Y) :- p(Y, X).",
        "p(X) :- q(X), p(X).",
        "p(X, Z) :- p(X, Y), p(Z, Y).",
        "p(Z, X) :- p(X, Y), p(Y, Z).",
        "p(X, X) :- p(X, Y), p(Y, X).",
        "p(X, Z) :- p(X, Y), p(Y, Z), X < Z.",
        "p(X, Z) :- p(X, Y), p(Y, Z), X != Y.",
        "p(X, Z) :- p(X, Y), p(Y, Z), not q(X).",
        "p(X, Z) :- p(X, Y), p(Y, Z), q(X).",
        "p(X, Z) :- p(X, Y), p(Y, Z), X != Z, Y != 1.",
        "p(X, Z, W) :- p(X, Y, W), p(Y, Z, W).",
        "p(1, Z) :- p(1, Y), p(Y, Z).",
        "p(X, Z) :- p(X, _), p(_, Z).",
        "p(X, Z) :- p(X, Y), e(Y, Z, 1).",
        "p(X, Z) :- e(X, Y), p(Y, W), e(W, Z).",
        "n(X + 1) :- n(X), X < 5.",
        "even(Y) :- odd(X), e(X, Y). odd(Y) :- even(X), e(X, Y).",
    ],
)
def test_any_other_recursion_is_general(text: str) -> None:
    assert module_names(text) == ["recursive"]


def test_a_step_that_the_hyper_node_derives_itself_makes_no_linear_closure() -> None:
    text = "p(X, Z) :- p(X, Y), e(Y, Z). e(X, Y) :- p(X, Y), q(X)."
    assert module_names(text) == ["recursive"]


def test_a_step_that_other_hyper_nodes_derive_makes_a_linear_closure() -> None:
    text = "e(X, Y) :- f(X, Y). p(X, Y) :- e(X, Y). p(X, Z) :- p(X, Y), e(Y, Z)."
    assert module_names(text) == ["nonrecursive", "nonrecursive", "left-linear"]


def test_a_mixed_hyper_node_has_a_closure_and_the_rest() -> None:
    text = "p(X, Z) :- p(X, Y), p(Y, Z). p(X, Y) :- q(X, Y). q(X, Y) :- p(X, Y), r(X)."
    graph = graph_of(text)
    (node,) = graph.hyper_nodes
    closure, rest = modules_of(graph, node)
    assert module_name(graph, node) == "transitive+recursive"
    assert (closure.kind, closure.rules, closure.predicate) == (ModuleKind.TRANSITIVE, ("r1",), "p")
    assert (rest.kind, rest.rules) == (ModuleKind.RECURSIVE, ("r2", "r3"))


def test_two_closures_may_share_a_hyper_node() -> None:
    text = """
    p(X, Z) :- p(X, Y), p(Y, Z).
    q(X, Z) :- q(X, Y), q(Y, Z).
    q(X, Y) :- q(Y, X).
    p(X, Y) :- q(X, Y), r(X).
    q(X, Y) :- p(X, Y), r(Y).
    """
    graph = graph_of(text)
    (node,) = graph.hyper_nodes
    assert [(module.name, module.rules) for module in modules_of(graph, node)] == [
        ("transitive", ("r1",)),
        ("symmetric-transitive", ("r2", "r3")),
        ("recursive", ("r4", "r5")),
    ]


def test_a_symmetric_rule_alone_in_a_closure_of_another_predicate_is_general() -> None:
    text = "p(X, Z) :- p(X, Y), p(Y, Z). q(X, Y) :- q(Y, X). p(X, Y) :- q(X, Y), r(X). q(X, Y) :- p(X, Y), r(Y)."
    assert module_names(text) == ["transitive+recursive"]


def test_constants_that_end_the_recursion_make_a_nonrecursive_rule() -> None:
    assert module_names("p(1, X) :- p(2, X).") == ["nonrecursive"]
    assert module_names("p(X, 1) :- p(X, 2), q(X).") == ["nonrecursive"]


def test_rules_without_recursion_are_nonrecursive() -> None:
    assert module_names("p(X) :- q(X), not r(X). s(X) :- p(X).") == ["nonrecursive", "nonrecursive"]


@pytest.mark.parametrize(
    "text",
    [
        "p(X, count(Y)) :- q(X, Y).",
        "p(X, N) :- AGGREGATE(q(X, Y)) ON X WITH SUM(Y) AS N.",
        "p(max(X)) :- q(X), not r(X).",
    ],
)
def test_a_rule_with_an_aggregate_is_an_aggregate_module(text: str) -> None:
    assert module_names(text) == ["aggregate"]


def test_a_linear_module_knows_its_step() -> None:
    graph = graph_of("p(X, Z) :- p(X, Y), e(Y, Z), X != Z.")
    (module,) = modules_of(graph, graph.hyper_nodes[0])
    assert (module.predicate, module.step, module.guarded) == ("p", "e", True)


@pytest.mark.parametrize(
    "text",
    [
        "p(X, Z) :- p(X, Y), p(Y, Z). p(X, Y) :- q(X, Y). q(X, Y) :- p(X, Y), r(X). p(X, Y) :- p(Y, X).",
        "p(X, Z) :- p(X, Y), e(Y, Z). p(X, Z) :- f(X, Y), p(Y, Z). p(X, Z) :- p(X, Y), p(Y, Z), X != Z. p(X, X) :- p(X, Y).",
        "a(X) :- b(X). b(X) :- a(X).",
    ],
)
def test_every_rule_is_in_exactly_one_module(text: str) -> None:
    graph = graph_of(text)
    for node in graph.hyper_nodes:
        names = [name for module in modules_of(graph, node) for name in module.rules]
        assert sorted(names) == sorted(node.rules)
