"""Graphs against networkx, which knows better."""

from __future__ import annotations

from itertools import pairwise

import networkx as nx
from hypothesis import given
from hypothesis import strategies as st

from corollary.analysis.digraph import Digraph

_NODES = st.integers(0, 9)
_EDGES = st.lists(st.tuples(_NODES, _NODES, st.sampled_from("ab")), max_size=30)


def _both(edges: list[tuple[int, int, str]]) -> tuple[Digraph[int, str], nx.DiGraph[int]]:
    ours: Digraph[int, str] = Digraph(range(10))
    theirs: nx.DiGraph[int] = nx.DiGraph()
    theirs.add_nodes_from(range(10))
    for source, target, kind in edges:
        ours.connect(source, target, kind)
        theirs.add_edge(source, target)
    return ours, theirs


def _sets(components: object) -> set[frozenset[int]]:
    return {frozenset(component) for component in components}  # type: ignore[attr-defined]


@given(_EDGES)
def test_components_and_their_order(edges: list[tuple[int, int, str]]) -> None:
    ours, theirs = _both(edges)
    found = ours.components()
    assert _sets(found) == _sets(nx.strongly_connected_components(theirs))
    place = {node: position for position, component in enumerate(found) for node in component}
    assert all(place[target] <= place[source] for source, target, _ in edges)


@given(_EDGES, _NODES)
def test_what_is_reached_and_by_which_way(edges: list[tuple[int, int, str]], start: int) -> None:
    ours, theirs = _both(edges)
    reached = ours.reached_from([start])
    assert reached == nx.descendants(theirs, start) | {start}
    for target in reached:
        path = ours.shortest_path(start, target)
        assert (path[0], path[-1]) == (start, target)
        assert all(ours.has_edge(*step) for step in pairwise(path))
        assert len(path) == len(nx.shortest_path(theirs, start, target))


@given(_EDGES, st.permutations(range(10)))
def test_topological_order(edges: list[tuple[int, int, str]], keys: list[int]) -> None:
    downwards = [(source, target, kind) for source, target, kind in edges if source < target]
    ours, theirs = _both(downwards)
    expected = nx.lexicographical_topological_sort(theirs, key=lambda node: keys[node])
    assert list(ours.topological_order(keys.__getitem__)) == list(expected)


@given(_EDGES, st.sets(_NODES))
def test_parts_copies_and_what_is_left(edges: list[tuple[int, int, str]], chosen: set[int]) -> None:
    ours, theirs = _both(edges)
    kinds = {(s, t): {kind for a, b, kind in edges if (a, b) == (s, t)} for s, t, _ in edges}
    assert {(s, t): set(found) for s, t, found in ours.edges()} == kinds
    assert sorted(ours.edges_into(range(10))) == sorted(ours.edges_out_of(range(10)))
    assert {edge[:2] for edge in ours.inside(chosen).edges()} == set(theirs.subgraph(chosen).edges)
    copy = ours.copy()
    copy.remove(chosen)
    theirs.remove_nodes_from(chosen)
    assert set(copy.nodes) == set(theirs.nodes)
    assert {edge[:2] for edge in copy.edges()} == set(theirs.edges)
    assert {(s, t): set(found) for s, t, found in ours.edges()} == kinds


@given(_EDGES, _EDGES, st.sets(_NODES))
def test_a_copy_and_its_original_change_apart(
    edges: list[tuple[int, int, str]], more: list[tuple[int, int, str]], gone: set[int]
) -> None:
    ours, _ = _both(edges)
    before = [ours.edges(), ours.edges_into(ours.nodes)]
    copied = ours.copy()
    for source, target, kind in more:
        copied.connect(source, target, kind)
    copied.remove(gone)
    assert [ours.edges(), ours.edges_into(ours.nodes)] == before
    other = ours.copy()
    ours.remove(gone)
    assert [other.edges(), other.edges_into(other.nodes)] == before
    expected, _ = _both([*edges, *more])
    expected.remove(gone)
    assert sorted(map(str, copied.edges())) == sorted(map(str, expected.edges()))
