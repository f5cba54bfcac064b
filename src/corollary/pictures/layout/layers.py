"""A graph in layers whose every edge leads from one layer to the next."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from corollary.pictures.layout.layering import Level


@dataclass
class Layers:
    """Vertices are boxes, by their own number, or waypoints, with higher ones: places where a long edge passes a layer.

    `rows` are the layers from top to bottom, each from left to right; `levels` says which level a row stands for;
    `routes` has the vertices of each edge from top to bottom; `up` and `down` have the neighbours of each vertex.
    """

    rows: list[list[int]]
    levels: list[Level]
    routes: dict[int, list[int]] = field(default_factory=dict)
    up: dict[int, list[int]] = field(default_factory=dict)
    down: dict[int, list[int]] = field(default_factory=dict)
    first_waypoint: int = 0

    def is_waypoint(self, vertex: int) -> bool:
        return vertex >= self.first_waypoint

    @property
    def size(self) -> int:
        return len(self.up)


def in_layers(levels: Mapping[int, Level], edges: Mapping[int, tuple[int, int]], boxes: int) -> Layers:
    """The layers of vertices whose levels are known; `edges` lead downwards, and `boxes` is the first free number."""
    rows_of_levels: list[Level] = sorted(set(levels.values()))
    row_of = {level: index for index, level in enumerate(rows_of_levels)}
    layers = Layers([[] for _ in rows_of_levels], rows_of_levels, first_waypoint=boxes)
    for vertex, level in levels.items():
        _add(layers, vertex, row_of[level])
    free = boxes
    for edge, (source, target) in edges.items():
        upper, lower = row_of[levels[source]], row_of[levels[target]]
        route = [source, *range(free, free + lower - upper - 1), target]
        free += lower - upper - 1
        for offset, waypoint in enumerate(route[1:-1], 1):
            _add(layers, waypoint, upper + offset)
        _connect(layers, route)
        layers.routes[edge] = route
    _sort_by_length(layers)
    return layers


def _add(layers: Layers, vertex: int, row: int) -> None:
    layers.rows[row].append(vertex)
    layers.up[vertex], layers.down[vertex] = [], []


def _connect(layers: Layers, route: Sequence[int]) -> None:
    for above, below in pairwise(route):
        layers.down[above].append(below)
        layers.up[below].append(above)


def _sort_by_length(layers: Layers) -> None:
    """Sorts the neighbours of each box so that long edges are in the middle, and near boxes on either side of them."""
    above: dict[int, list[tuple[int, int]]] = {}
    below: dict[int, list[tuple[int, int]]] = {}
    for route in layers.routes.values():
        below.setdefault(route[0], []).append((len(route), route[1]))
        above.setdefault(route[-1], []).append((len(route), route[-2]))
    for neighbours, found in ((layers.down, below), (layers.up, above)):
        neighbours.update((vertex, _longest_inside(ends)) for vertex, ends in found.items())


def _longest_inside(ends: list[tuple[int, int]]) -> list[int]:
    by_length: dict[int, list[int]] = {}
    for length, vertex in ends:
        by_length.setdefault(length, []).append(vertex)
    left: list[int] = []
    right: list[int] = []
    for length in sorted(by_length):
        same = by_length[length]
        half = (len(same) + 1) // 2
        left, right = left + same[:half], same[half:] + right
    return left + right
