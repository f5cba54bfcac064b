"""Rule edges, hyper-nodes, their order, strata and stratification."""

import pytest

from corollary.analysis import analyse, check_stratification
from corollary.language import parse_program
from tests.analysis.helpers import graph_of, nodes, rule_edges


def codes(text: str) -> list[str]:
    return [error.code for error in analyse(parse_program(text)).errors]


def test_an_edge_goes_from_the_rule_that_derives_to_the_rule_that_uses() -> None:
    assert rule_edges(graph_of("a(X) :- b(X). b(X) :- c(X).")) == {"r2 -> r1"}


def test_edges_are_positive_negative_or_through_an_aggregate() -> None:
    text = """
    a(X) :- e(X).
    b(X) :- e(X), not a(X).
    c(count(X)) :- a(X).
    d(N) :- AGGREGATE(a(X), not b(X)) WITH COUNT(X) AS N, a(N).
    """
    assert rule_edges(graph_of(text)) == {
        "r1 -negative-> r2",
        "r1 -aggregate-> r3",
        "r1 -aggregate-> r4",
        "r2 -aggregate-> r4",
        "r1 -> r4",
    }


def test_everything_in_the_body_of_a_rule_with_a_head_aggregate_is_aggregated() -> None:
    text = "a(X) :- e(X). b(X) :- e(X). c(X, count(Y)) :- a(X), not b(X), e(Y)."
    assert rule_edges(graph_of(text)) == {"r1 -aggregate-> r3", "r2 -aggregate-> r3"}


def test_different_constants_keep_rules_apart() -> None:
    text = "p(1, X) :- q(X). p(2, X) :- q(X). r(X) :- p(1, X). s(X) :- p(3, X). t(X) :- p(X, X)."
    assert rule_edges(graph_of(text)) == {"r1 -> r3", "r1 -> r5", "r2 -> r5"}


def test_two_atoms_of_one_rule_may_give_one_edge_of_two_kinds() -> None:
    graph = graph_of("a(X) :- e(X). b(X) :- a(X), f(X, Y), not a(Y).")
    assert rule_edges(graph) == {"r1 -> r2", "r1 -negative-> r2"}
    assert (graph.edges(strict=False), graph.edges(strict=True)) == ([(0, 1)], [(0, 1)])


def test_hyper_nodes_are_the_rules_that_depend_on_each_other() -> None:
    text = "a(X) :- b(X). b(X) :- c(X). c(X) :- a(X). d(X) :- a(X). e(X) :- e(X)."
    graph = graph_of(text)
    assert nodes(graph) == ["r1 r2 r3", "r4", "r5"]
    assert [graph.is_recursive(node) for node in graph.hyper_nodes] == [True, False, True]


def test_rules_of_one_predicate_need_not_share_a_hyper_node() -> None:
    assert nodes(graph_of("p(X, Y) :- e(X, Y). p(X, Z) :- p(X, Y), p(Y, Z). p(X, Y) :- f(X, Y).")) == ["r1", "r3", "r2"]


def test_an_edge_inside_a_hyper_node_is_none_between_hyper_nodes() -> None:
    graph = graph_of("p(X) :- q(X). q(X) :- p(X).")
    assert graph.edges(strict=False) == []


def test_the_order_is_topological_with_ties_by_position() -> None:
    assert nodes(graph_of("a :- b. b :- c. c :- d. d :- e.")) == ["r4", "r3", "r2", "r1"]
    assert nodes(graph_of("a :- x. b :- x. c :- x.")) == ["r1", "r2", "r3"]
    assert nodes(graph_of("z :- a, b. a :- x. y :- x. b :- x.")) == ["r2", "r3", "r4", "r1"]


def test_a_hyper_node_stands_where_its_first_rule_stands() -> None:
    text = "c :- x. p :- q. d :- x. q :- p."
    assert nodes(graph_of(text)) == ["r1", "r2 r4", "r3"]


def test_the_rules_of_a_hyper_node_keep_the_order_of_the_text() -> None:
    assert nodes(graph_of("last: p :- q. first: q :- p.")) == ["last first"]


def test_a_stratum_counts_the_strict_edges_on_the_longest_way() -> None:
    text = """
    a(X) :- e(X).
    b(X) :- a(X).
    c(X) :- e(X), not b(X).
    d(X, count(Y)) :- c(X), e(Y).
    f(X) :- a(X), not d(X, 1).
    g(X) :- f(X), b(X).
    h(X) :- e(X).
    """
    graph = graph_of(text)
    assert nodes(graph) == ["r1", "r2", "r3", "r4", "r5", "r6", "r7"]
    assert [graph.strata[node] for node in graph.hyper_nodes] == [0, 0, 1, 2, 3, 3, 0]


def test_no_rules_make_an_empty_graph() -> None:
    graph = graph_of("p(1).")
    assert (nodes(graph), graph.edges(strict=True), graph.strata) == ([], [], {})


@pytest.mark.parametrize(
    "text",
    [
        "p(X) :- q(X), not p(X).",
        "p(X) :- q(X), not r(X). r(X) :- p(X).",
        "p(X) :- q(X), not r(X). r(X) :- q(X), not p(X).",
        "p(count(X)) :- p(X).",
        "p(X, N) :- AGGREGATE(p(X, Y)) ON X WITH SUM(Y) AS N.",
        "p(N) :- q(X), AGGREGATE(r(Y)) WITH SUM(Y) AS N. r(X) :- p(X).",
        "p(X, Y) :- q(X, Y), not p(Y, X).",
        "p(1, X) :- q(X), not p(Y, X).",
    ],
)
def test_a_rule_that_depends_on_its_own_negation_or_aggregate_is_rejected(text: str) -> None:
    assert codes(text) == ["E203"]


@pytest.mark.parametrize(
    "text",
    [
        "p(X) :- q(X), not r(X). r(X) :- q(X).",
        "p(X) :- p(X), not r(X). r(X) :- q(X).",
        "p(2, X) :- q(X), not p(3, X).",
        "p(2, X) :- q(X), not p(3, X). p(3, X) :- q(X), not p(4, X).",
        "p(a, N) :- AGGREGATE(p(b, X)) WITH SUM(X) AS N.",
        "p(1, sum(X)) :- p(2, X).",
        "p(X, Y) :- q(X), r(Y), not s(X, Y). s(X, X) :- q(X).",
        "p(1, 2) :- q(1), not p(X, X).",
    ],
)
def test_what_only_looks_like_a_cycle_is_accepted(text: str) -> None:
    assert codes(text) == []


def test_each_rejected_hyper_node_is_told_once() -> None:
    text = "p(X) :- q(X), not p(X). a(X) :- q(X), not b(X). b(X) :- q(X), not a(X). c(X) :- a(X), not c(X)."
    assert codes(text) == ["E203", "E203", "E203"]


def test_the_shortest_cycle_is_told_from_the_negation_on() -> None:
    text = """
    a(X) :- b(X), n(X).
    b(X) :- n(X), not c(X).
    c(X) :- d(X).
    d(X) :- a(X).
    c(X) :- b(X).
    """
    (error,) = check_stratification(graph_of(text))
    assert error.message == "the program is not stratified: 'b' negates facts that depend on 'b'"
    assert [note for note in error.notes if not note.startswith(" ")] == [
        "r2: b(X) :- n(X), not c(X).",
        "r5: c(X) :- b(X).",
    ]


def test_a_cycle_through_constants_is_one_rule_by_rule() -> None:
    text = "p(1, X) :- q(X), not p(2, X). p(2, X) :- p(3, X). p(3, X) :- p(1, X)."
    (error,) = check_stratification(graph_of(text))
    assert [note.split(":")[0] for note in error.notes[::2]] == ["r1", "r2", "r3"]
