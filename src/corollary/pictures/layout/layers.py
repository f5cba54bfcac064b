"""A graph in layers in which every edge leads from one layer to the next."""

from __future__ import annotations

import heapq
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple


@dataclass
class Layers:
    """Vertices in layers: boxes, with their own numbers, and waypoints, with higher numbers, where a long edge passes a
    layer.

    `rows` are the layers from top to bottom, each from left to right; `levels` has the level of each row; `routes` has
    the vertices of each edge from top to bottom; `up` and `down` have the neighbours of each vertex.
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
    """Return the layers of vertices with known levels; `edges` lead downwards, and `boxes` is the first free number."""
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
    """Sort the neighbours of each box so that long edges are in the middle, and near boxes on either side of them."""
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


# -- layering ----------------------------------------------------------------------------------------------------------

# The layer of each box of a picture: below everything that feeds it, and with its own stratum.


class Level(NamedTuple):
    """The `step`-th layer of a stratum, from 0."""

    stratum: int
    step: int


@dataclass(frozen=True)
class LayeringProblem:
    """Vertices with their strata and widths, and acyclic edges that never lead to a smaller stratum."""

    vertices: Sequence[int]
    successors: Mapping[int, Sequence[int]]
    predecessors: Mapping[int, Sequence[int]]
    strata: Sequence[int]
    widths: Sequence[float]
    max_width: float


def levels_of(task: LayeringProblem) -> dict[int, Level]:
    """Return a level for each vertex, above those of its successors; only a single vertex may make a layer wider than
    `max_width`.

    The longest path to a vertex gives its level. If a layer is full, vertices with a short path ahead move down.
    """
    used: dict[Level, float] = {}
    levels: dict[int, Level] = {}
    order = _topological_order(task)
    for vertex in order:
        stratum = task.strata[vertex]
        above = [levels[other].step for other in task.predecessors[vertex] if levels[other].stratum == stratum]
        level = Level(stratum, max(above, default=-1) + 1)
        while used.get(level) and used[level] + task.widths[vertex] > task.max_width:
            level = Level(stratum, level.step + 1)
        levels[vertex] = level
        used[level] = used.get(level, 0.0) + task.widths[vertex]
    _pull_down(task, order, levels, used)
    return _without_empty_layers(levels)


def _pull_down(task: LayeringProblem, order: Sequence[int], levels: dict[int, Level], used: dict[Level, float]) -> None:
    """Move vertices that feed more than they need towards their targets, which shortens their edges."""
    last: dict[int, int] = {}
    for level in levels.values():
        last[level.stratum] = max(last.get(level.stratum, 0), level.step)
    for vertex in reversed(order):
        if len(task.successors[vertex]) <= len(task.predecessors[vertex]):
            continue
        here, width = levels[vertex], task.widths[vertex]
        below = [levels[other].step for other in task.successors[vertex] if levels[other].stratum == here.stratum]
        lowest = min(below, default=last[here.stratum] + 1) - 1
        for step in range(lowest, here.step, -1):
            level = Level(here.stratum, step)
            if used.get(level, 0.0) + width <= task.max_width:
                used[here] -= width
                used[level] = used.get(level, 0.0) + width
                levels[vertex] = level
                break


def _without_empty_layers(levels: dict[int, Level]) -> dict[int, Level]:
    steps: dict[int, dict[int, int]] = {}
    for stratum, step in sorted(set(levels.values())):
        numbered = steps.setdefault(stratum, {})
        numbered[step] = len(numbered)
    return {vertex: Level(level.stratum, steps[level.stratum][level.step]) for vertex, level in levels.items()}


def _topological_order(task: LayeringProblem) -> list[int]:
    """Return the vertices in topological order; among those that may come next, the one with the longest path ahead,
    which belongs near the top."""
    plain = _any_topological_order(task)
    ahead: dict[int, int] = {}
    for vertex in reversed(plain):
        ahead[vertex] = 1 + max((ahead[other] for other in task.successors[vertex]), default=0)
    missing = {vertex: len(task.predecessors[vertex]) for vertex in task.vertices}
    ready = [(-ahead[vertex], vertex) for vertex in task.vertices if not missing[vertex]]
    heapq.heapify(ready)
    order: list[int] = []
    while ready:
        _, vertex = heapq.heappop(ready)
        order.append(vertex)
        for other in task.successors[vertex]:
            missing[other] -= 1
            if not missing[other]:
                heapq.heappush(ready, (-ahead[other], other))
    return order


def _any_topological_order(task: LayeringProblem) -> list[int]:
    missing = {vertex: len(task.predecessors[vertex]) for vertex in task.vertices}
    order = [vertex for vertex in task.vertices if not missing[vertex]]
    for vertex in order:
        for other in task.successors[vertex]:
            missing[other] -= 1
            if not missing[other]:
                order.append(other)
    return order
