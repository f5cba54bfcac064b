"""Which recursion splits by an argument that its rules hand on."""

import pytest

from corollary.analysis.modules import decomposition_of
from tests.analysis.helpers import graph_of


def decompositions(text: str) -> list[tuple[dict[str, int], dict[str, int], set[str]] | None]:
    """Pivots, what is dealt out and what is copied, of each recursive hyper-node."""
    graph = graph_of(text)
    found = [decomposition_of(graph, node) for node in graph.hyper_nodes if graph.is_recursive(node)]
    return [None if one is None else (dict(one.pivots), dict(one.partitioned), set(one.replicated)) for one in found]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("p(X, Z) :- p(X, Y), e(Y, Z).", ({"p": 0}, {}, {"e"})),
        ("p(X, Z) :- e(X, Y), p(Y, Z).", ({"p": 1}, {}, {"e"})),
        ("p(X, Z) :- p(X, Y), e(Y, Z), not q(X, Z).", ({"p": 0}, {"q": 0}, {"e"})),
        ("p(X, Z) :- p(X, Y), e(X, Y, Z).", ({"p": 0}, {"e": 0}, set())),
        ("p(X, Z) :- p(X, Y), e(Y, Z), e(X, Z).", ({"p": 0}, {}, {"e"})),
        ("p(X, Y) :- p(X, Z), p(X, Y), e(Z).", ({"p": 0}, {}, {"e"})),
        ("p(X, Z) :- q(Z, X). q(Z, X) :- p(X, Y), e(Y, Z).", ({"p": 0, "q": 1}, {}, {"e"})),
        ("p(X, N + 1) :- p(X, N), N < 9.", ({"p": 0}, {}, set())),
        ("p(X, Z) :- p(X, Y), s(Y, Z), AGGREGATE(e(X, W)) ON X WITH COUNT(W) AS C, C > 1.", ({"p": 0}, {}, {"s", "e"})),
    ],
)
def test_a_preserved_argument_is_found(text: str, expected: object) -> None:
    assert decompositions(text) == [expected]


@pytest.mark.parametrize(
    "text",
    [
        "p(X, Z) :- p(X, Y), p(Y, Z).",
        "p(Y, X) :- p(X, Y).",
        "sg(X, Y) :- par(A, X), sg(A, B), par(B, Y).",
        "p(X + 0) :- p(X).",
        "p(X, Z) :- p(X, Y), e(Y, Z). p(X, Z) :- e(X, Y), p(Y, Z).",
        "p(X, Z) :- p(_, Y), e(X, Y, Z).",
        "p(1, Z) :- p(1, Y), e(Y, Z).",
        "go :- go, e(_).",
        "p(1, X) :- p(1, Y), e(Y, X), not p(2, X). p(2, X) :- s(X).",
    ],
)
def test_what_preserves_nothing_does_not_split(text: str) -> None:
    assert decompositions(text) == [None]


def test_the_choice_that_copies_least_wins() -> None:
    assert decompositions("p(X, Y, Z) :- p(X, Y, W), e(Y, W, Z).") == [({"p": 1}, {"e": 0}, set())]


def test_hyper_nodes_without_recursion_do_not_split() -> None:
    graph = graph_of("p(X) :- q(X).")
    assert decomposition_of(graph, graph.hyper_nodes[0]) is None
