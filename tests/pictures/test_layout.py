"""The steps of the layered layout, one by one."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corollary.pictures.layout.layers import LayeringProblem, Level, in_layers, levels_of
from corollary.pictures.layout.layout import backward_edges
from corollary.pictures.layout.ordering import crossings, order_rows
from corollary.pictures.layout.placing import place, settle


def task(edges: list[tuple[int, int]], strata: list[int], max_width: float = 1000.0) -> LayeringProblem:
    vertices = range(len(strata))
    successors = {v: [target for source, target in edges if source == v] for v in vertices}
    predecessors = {v: [source for source, target in edges if target == v] for v in vertices}
    return LayeringProblem(vertices, successors, predecessors, strata, [100.0] * len(strata), max_width)


def test_only_edges_that_close_a_cycle_are_turned_round() -> None:
    assert backward_edges(4, [(0, 1), (1, 2), (2, 0), (2, 3), (3, 3), (0, 3)]) == {2}


def test_a_cycle_longer_than_pythons_stack_is_turned_round() -> None:
    count = 5000
    assert backward_edges(count, [(i, (i + 1) % count) for i in range(count)]) == {count - 1}


def test_the_longest_way_gives_the_layer() -> None:
    levels = levels_of(task([(0, 1), (1, 2), (0, 2), (2, 3)], [0, 0, 0, 0]))
    assert [levels[v].step for v in range(4)] == [0, 1, 2, 3]


def test_a_box_that_only_feeds_stands_next_to_what_it_feeds() -> None:
    levels = levels_of(task([(0, 1), (1, 2), (3, 2)], [0, 0, 0, 0]))
    assert levels[3] == Level(0, 1)


def test_a_higher_stratum_begins_a_new_layer() -> None:
    levels = levels_of(task([(0, 1), (0, 2)], [0, 0, 1]))
    assert levels == {0: Level(0, 0), 1: Level(0, 1), 2: Level(1, 0)}


def test_a_full_layer_goes_on_in_the_next() -> None:
    levels = levels_of(task([(0, 4), (1, 4), (2, 4), (3, 4)], [0] * 5, max_width=200.0))
    assert sorted(level.step for level in levels.values()) == [0, 0, 1, 1, 2]
    assert levels[4].step == 2


def test_a_long_edge_gets_a_waypoint_in_each_layer_that_it_passes() -> None:
    layers = in_layers({0: Level(0, 0), 1: Level(0, 1), 2: Level(1, 0)}, {0: (0, 1), 1: (1, 2), 2: (0, 2)}, 3)
    assert layers.routes == {0: [0, 1], 1: [1, 2], 2: [0, 3, 2]}
    assert layers.rows == [[0], [1, 3], [2]]
    assert layers.is_waypoint(3)


def test_sweeps_remove_the_crossings_that_can_be_removed() -> None:
    levels = {v: Level(0, v // 4) for v in range(12)}
    edges = {v: (v, 4 + 3 - v) for v in range(4)} | {4 + v: (4 + v, 8 + (v + 2) % 4) for v in range(4)}
    layers = in_layers(levels, edges, 12)
    assert crossings(layers) > 0
    order_rows(layers)
    assert crossings(layers) == 0
    assert [sorted(row) for row in layers.rows] == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11]]


def test_crossings_are_counted() -> None:
    layers = in_layers({0: Level(0, 0), 1: Level(0, 0), 2: Level(0, 1), 3: Level(0, 1)}, {0: (0, 3), 1: (1, 2)}, 4)
    layers.rows[:] = [[0, 1], [2, 3]]
    assert crossings(layers) == 1


def test_a_chain_is_a_straight_line() -> None:
    layers = in_layers({v: Level(0, v) for v in range(5)}, {v: (v, v + 1) for v in range(4)}, 5)
    assert len({round(x, 6) for x in place(layers, lambda left, right: 50.0).values()}) == 1


def test_settling_leaves_what_is_fine_and_shares_what_is_not() -> None:
    assert settle([0.0, 100.0], [1.0, 1.0], [50.0]) == [0.0, 100.0]
    assert settle([0.0, 0.0], [1.0, 1.0], [50.0]) == [-25.0, 25.0]
    assert settle([0.0, 0.0], [3.0, 1.0], [40.0]) == [-10.0, 30.0]


@given(st.lists(st.tuples(st.floats(-500, 500), st.floats(0.1, 9)), min_size=1, max_size=12))
def test_settling_keeps_every_gap(wanted: list[tuple[float, float]]) -> None:
    places = settle([x for x, _ in wanted], [w for _, w in wanted], [30.0] * (len(wanted) - 1))
    assert all(right - left >= 30.0 - 1e-6 for left, right in pairwise(places))
    shift = sum(w * (x - place) for (x, w), place in zip(wanted, places, strict=True))
    assert shift == pytest.approx(0, abs=1e-6)
