"""The parts of a picture that no edge connects: each is arranged alone, then they stand side by side on shelves."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from corollary.pictures.layout.geometry import Size
from corollary.pictures.layout.layering import LayeringProblem, Level, levels_of
from corollary.pictures.layout.layers import Layers, in_layers
from corollary.pictures.layout.ordering import order_rows
from corollary.pictures.layout.placing import place

BOX_GAP = 36.0
WAYPOINT_WIDTH, _NARROW_WAYPOINT = 14.0, 8.0
_MANY_WAYPOINTS = 400
COMPONENT_GAP = 56.0
_LAYER_GAP = 90.0
_USUAL_WIDTH = 1500.0
_ASPECT = 1.6


@dataclass(frozen=True)
class Component:
    """Boxes in layers with the middle of each vertex from left to right, the leftmost box beginning at 0."""

    layers: Layers
    x: Mapping[int, float]
    width: float


def arrange(sizes: Sequence[Size], downward: Mapping[int, tuple[int, int]], strata: Sequence[int]) -> list[Component]:
    """The components in the order of their first boxes; all boxes without an edge together are the last one."""
    limit = usual_width(sizes)
    groups = _connected(len(sizes), downward.values())
    lonely = [group[0] for group in groups if len(group) == 1]
    parts = [group for group in groups if len(group) > 1] + ([lonely] if lonely else [])
    edges_of: dict[int, dict[int, tuple[int, int]]] = {}
    part_of = {vertex: number for number, part in enumerate(parts) for vertex in part}
    for edge, ends in downward.items():
        edges_of.setdefault(part_of[ends[0]], {})[edge] = ends
    return [_component(part, edges_of.get(number, {}), sizes, strata, limit) for number, part in enumerate(parts)]


def usual_width(sizes: Sequence[Size]) -> float:
    """How wide a layer or a shelf should be at most: a screen, or more where the picture would get much too tall."""
    area = sum((size.width + BOX_GAP) * (size.height + _LAYER_GAP) for size in sizes)
    return max(_USUAL_WIDTH, math.sqrt(area * _ASPECT))


def shelves(components: Sequence[Component], width: float) -> list[list[Component]]:
    """Each component on the first shelf that has room for it."""
    found: list[list[Component]] = []
    free: list[float] = []
    for component in components:
        needed = component.width + COMPONENT_GAP
        number = next((number for number, room in enumerate(free) if needed <= room), len(found))
        if number == len(found):
            found.append([])
            free.append(width + COMPONENT_GAP)
        found[number].append(component)
        free[number] -= needed
    return found


def _component(
    vertices: Sequence[int],
    edges: Mapping[int, tuple[int, int]],
    sizes: Sequence[Size],
    strata: Sequence[int],
    limit: float,
) -> Component:
    layers = in_layers(_levels(vertices, edges, sizes, strata, limit), edges, len(sizes))
    order_rows(layers)

    many = layers.size - len(vertices) > _MANY_WAYPOINTS
    passage = _NARROW_WAYPOINT if many else WAYPOINT_WIDTH

    def half(vertex: int) -> float:
        return (passage if layers.is_waypoint(vertex) else sizes[vertex].width + BOX_GAP) / 2

    x = place(layers, lambda left, right: half(left) + half(right))
    ends = [(middle, passage if layers.is_waypoint(v) else sizes[v].width) for v, middle in x.items()]
    left = min(middle - width / 2 for middle, width in ends)
    right = max(middle + width / 2 for middle, width in ends)
    return Component(layers, {vertex: middle - left for vertex, middle in x.items()}, right - left)


def _levels(
    vertices: Sequence[int],
    edges: Mapping[int, tuple[int, int]],
    sizes: Sequence[Size],
    strata: Sequence[int],
    limit: float,
) -> dict[int, Level]:
    successors: dict[int, list[int]] = {vertex: [] for vertex in vertices}
    predecessors: dict[int, list[int]] = {vertex: [] for vertex in vertices}
    for source, target in dict.fromkeys(edges.values()):
        successors[source].append(target)
        predecessors[target].append(source)
    widths = [size.width + BOX_GAP for size in sizes]
    return levels_of(LayeringProblem(vertices, successors, predecessors, strata, widths, limit))


def _connected(count: int, edges: Iterable[tuple[int, int]]) -> list[list[int]]:
    """The vertices 0 … count-1 in groups that edges connect, each in order, the groups by their first."""
    leader = list(range(count))

    def find(vertex: int) -> int:
        while leader[vertex] != vertex:
            leader[vertex] = leader[leader[vertex]]
            vertex = leader[vertex]
        return vertex

    for source, target in edges:
        one, other = sorted((find(source), find(target)))
        leader[other] = one
    groups: dict[int, list[int]] = {}
    for vertex in range(count):
        groups.setdefault(find(vertex), []).append(vertex)
    return list(groups.values())
