"""A layered drawing (Sugiyama's method): from sizes and edges to positions and curves."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from corollary.pictures.layout.geometry import Curve, Point, Rectangle, Size, bend, straight
from corollary.pictures.layout.layers import LayeringProblem, Layers, Level, in_layers, levels_of
from corollary.pictures.layout.ordering import order_rows
from corollary.pictures.layout.placing import place

# -- components --------------------------------------------------------------------------------------------------------

# The connected components of a picture: each is arranged by itself, then they are placed side by side on shelves.

BOX_GAP = 36.0
WAYPOINT_WIDTH, _NARROW_WAYPOINT = 14.0, 8.0
_MANY_WAYPOINTS = 400
COMPONENT_GAP = 56.0
_LAYER_GAP = 90.0
_USUAL_WIDTH = 1500.0
_ASPECT = 1.6


@dataclass(frozen=True)
class Component:
    """Boxes in layers, with the horizontal middle of each vertex; the leftmost box begins at 0."""

    layers: Layers
    x: Mapping[int, float]
    width: float


def arrange(sizes: Sequence[Size], downward: Mapping[int, tuple[int, int]], strata: Sequence[int]) -> list[Component]:
    """Return the components in the order of their first boxes; all boxes without an edge together are the last one."""
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
    """Return how wide a layer or a shelf should be at most: a screen, or more if the picture would become much too tall."""
    area = sum((size.width + BOX_GAP) * (size.height + _LAYER_GAP) for size in sizes)
    return max(_USUAL_WIDTH, math.sqrt(area * _ASPECT))


def shelves(components: Sequence[Component], width: float) -> list[list[Component]]:
    """Return each component on the first shelf that has room for it."""
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
    """Return the vertices 0 … count-1 in connected groups, each in order, the groups by their first."""
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


# -- layout ------------------------------------------------------------------------------------------------------------

BAND_PADDING = 26.0
_BAND_GAP = 10.0
_SHELF_GAP = 28.0
_BEND, _MAX_BEND, _BEND_PER_WIDTH = 34.0, 150.0, 0.07


@dataclass(frozen=True)
class Link:
    """An edge of the drawing; `head` is the room for the arrowhead before the target."""

    source: int
    target: int
    head: float = 0.0


@dataclass(frozen=True)
class Band:
    """The layers of one stratum, over the whole width of the drawing."""

    stratum: int
    top: float
    bottom: float


@dataclass(frozen=True)
class Layout:
    """A rectangle for each box and a curve from source to target for each link, in their order; it begins at (0, 0)."""

    boxes: tuple[Rectangle, ...]
    curves: tuple[Curve, ...]
    bands: tuple[Band, ...]
    width: float
    height: float


@dataclass(frozen=True)
class _Drawing:
    """The data that all shelves share: `downward` has the ends of each link from top to bottom."""

    sizes: Sequence[Size]
    links: Sequence[Link]
    downward: Mapping[int, tuple[int, int]]


def lay_out(sizes: Sequence[Size], links: Sequence[Link], strata: Sequence[int]) -> Layout:
    """Place boxes in layers, lower strata above higher ones, and draw the links between them.

    A link may be part of a cycle, lead from a box to itself and occur several times, but must not lead to a lower
    stratum.
    """
    backward = backward_edges(len(sizes), [(link.source, link.target) for link in links])
    downward = {
        number: (link.target, link.source) if number in backward else (link.source, link.target)
        for number, link in enumerate(links)
        if link.source != link.target
    }
    loops = [0] * len(sizes)
    for link in links:
        loops[link.source] += link.source == link.target
    # A box with a loop gets the same room on its left, so that it stays centred.
    slots = [Size(size.width + 2 * loop_room(n), size.height) for size, n in zip(sizes, loops, strict=True)]
    drawing = _Drawing(sizes, links, downward)
    rows = shelves(arrange(slots, downward, strata), usual_width(slots))
    width = max((_width(row) for row in rows), default=0.0)
    boxes: dict[int, Rectangle] = {}
    curves: dict[int, Curve] = {}
    bands: list[Band] = []
    y = 0.0
    for row in rows:
        shelf = _Shelf(drawing, row, (width - _width(row)) / 2, y)
        boxes.update(shelf.boxes)
        curves.update(shelf.curves())
        bands.extend(shelf.bands())
        y = bands[-1].bottom + _SHELF_GAP
    curves.update(_loops(links, boxes))
    height = bands[-1].bottom if bands else 0.0
    in_order = tuple(boxes[index] for index in range(len(sizes)))
    return Layout(in_order, tuple(curves[index] for index in range(len(links))), tuple(bands), width, height)


def _width(shelf: Sequence[Component]) -> float:
    return sum(component.width for component in shelf) + COMPONENT_GAP * (len(shelf) - 1)


class _Shelf:
    """Components side by side, whose layers of one level have the same height."""

    def __init__(self, drawing: _Drawing, components: Sequence[Component], left: float, top: float) -> None:
        self._drawing = drawing
        self._components = components
        self._x: list[dict[int, float]] = []
        for component in components:
            self._x.append({vertex: left + x for vertex, x in component.x.items()})
            left += component.width + COMPONENT_GAP
        self._tops, self._heights = self._heights_from(top)
        self.boxes = self._place_boxes()

    def bands(self) -> list[Band]:
        found: dict[int, Band] = {}
        for level in sorted(self._tops):
            top, bottom = self._tops[level] - BAND_PADDING, self._tops[level] + self._heights[level] + BAND_PADDING
            known = found.get(level.stratum)
            found[level.stratum] = Band(level.stratum, known.top if known else top, bottom)
        return _evenly_apart(list(found.values()))

    def curves(self) -> dict[int, Curve]:
        """Return each link's curve, from its source to its target."""
        found: dict[int, Curve] = {}
        for component, x in zip(self._components, self._x, strict=True):
            layers = component.layers
            level_of = {vertex: level for row, level in zip(layers.rows, layers.levels, strict=True) for vertex in row}
            out, into = ports(self.boxes, layers.routes, x)
            for number, way in layers.routes.items():
                link, (upper, lower) = self._drawing.links[number], (self.boxes[way[0]], self.boxes[way[-1]])
                turned = link.source == way[-1]
                between = [LayerPassage(x[w], *self._extent(level_of[w])) for w in way[1:-1]]
                curve = route(
                    LayerPassage(out[number], upper.bottom, self._extent(level_of[way[0]])[1]),
                    between,
                    LayerPassage(into[number], self._extent(level_of[way[-1]])[0], lower.y),
                    (link.head, 0.0) if turned else (0.0, link.head),
                )
                found[number] = curve.reversed() if turned else curve
        return found

    def _extent(self, level: Level) -> tuple[float, float]:
        return self._tops[level], self._tops[level] + self._heights[level]

    def _heights_from(self, top: float) -> tuple[dict[Level, float], dict[Level, float]]:
        heights: dict[Level, float] = {}
        bends: dict[Level, float] = {}
        for component, x in zip(self._components, self._x, strict=True):
            layers = component.layers
            for row, level in zip(layers.rows, layers.levels, strict=True):
                tall = [self._drawing.sizes[v].height for v in row if not layers.is_waypoint(v)]
                heights[level] = max([heights.get(level, 0.0), *tall])
                far = max((abs(x[v] - x[other]) for v in row for other in layers.down[v]), default=0.0)
                bends[level] = max(bends.get(level, 0.0), min(_MAX_BEND, _BEND + far * _BEND_PER_WIDTH))
        tops: dict[Level, float] = {}
        y, previous = top + BAND_PADDING, None
        for level in sorted(heights):
            if previous is not None:
                # Each stratum is a band, with its own padding.
                padding = 2 * BAND_PADDING + _BAND_GAP if previous.stratum != level.stratum else 0.0
                y += max(bends[previous] + 2 * STUB, padding)
            tops[level] = y
            y, previous = y + heights[level], level
        return tops, heights

    def _place_boxes(self) -> dict[int, Rectangle]:
        boxes: dict[int, Rectangle] = {}
        for component, x in zip(self._components, self._x, strict=True):
            layers = component.layers
            for row, level in zip(layers.rows, layers.levels, strict=True):
                for vertex in row:
                    if not layers.is_waypoint(vertex):
                        size = self._drawing.sizes[vertex]
                        y = self._tops[level] + (self._heights[level] - size.height) / 2
                        boxes[vertex] = Rectangle(x[vertex] - size.width / 2, y, size.width, size.height)
        return boxes


def _evenly_apart(bands: list[Band]) -> list[Band]:
    """Return the bands, enlarged towards each other until only the usual gap is left between them."""
    middles = [(above.bottom + below.top) / 2 for above, below in pairwise(bands)]
    tops = [bands[0].top, *(middle + _BAND_GAP / 2 for middle in middles)]
    bottoms = [*(middle - _BAND_GAP / 2 for middle in middles), bands[-1].bottom]
    return [Band(band.stratum, top, end) for band, top, end in zip(bands, tops, bottoms, strict=True)]


def _loops(links: Sequence[Link], boxes: Mapping[int, Rectangle]) -> dict[int, Curve]:
    found: dict[int, Curve] = {}
    seen: dict[int, int] = {}
    for number, link in enumerate(links):
        if link.source == link.target:
            found[number] = loop(boxes[link.source], seen.get(link.source, 0), link.head)
            seen[link.source] = seen.get(link.source, 0) + 1
    return found


# Edges to reverse so that a graph has no cycle.


def backward_edges(count: int, edges: Sequence[tuple[int, int]]) -> set[int]:
    """Return the positions of edges without which the vertices 0 … count-1 have no cycle; loops are not among them.

    A depth-first search in the order of the vertices finds them: they lead to a vertex that it has entered and not
    left.
    """
    out: list[list[int]] = [[] for _ in range(count)]
    for position, (source, target) in enumerate(edges):
        if source != target:
            out[source].append(position)
    entered, left = [False] * count, [False] * count
    backward: set[int] = set()
    for root in range(count):
        if entered[root]:
            continue
        entered[root] = True
        # The search has its own stack, because a chain of rules may be longer than Python's.
        stack = [(root, iter(out[root]))]
        while stack:
            vertex, rest = stack[-1]
            for position in rest:
                target = edges[position][1]
                if not entered[target]:
                    entered[target] = True
                    stack.append((target, iter(out[target])))
                    break
                if not left[target]:
                    backward.add(position)
            else:
                left[vertex] = True
                stack.pop()
    return backward


# The curves of the edges, after every box and every waypoint has its position.
#
# Between two layers an edge is an S; through a layer it is straight. Nothing is placed between layers, and a waypoint
# keeps its column of the layer free: so no edge crosses a box that it does not belong to.


STUB = 12.0
_PORT_GAP = 20.0
_LOOP = 26.0
_NEXT_LOOP = 12.0


@dataclass(frozen=True)
class LayerPassage:
    """The point where a route passes a layer: its horizontal position, and the top and the bottom of the layer there."""

    x: float
    top: float
    bottom: float


def spread(box: Rectangle, ends: Sequence[tuple[float, int]]) -> dict[int, float]:
    """Return a position on the upper or lower side of a box for each edge; `ends` tells where each edge leads."""
    gap = min(_PORT_GAP, box.width * 0.7 / max(1, len(ends) - 1))
    first = box.middle - gap * (len(ends) - 1) / 2
    return {edge: first + gap * index for index, (_, edge) in enumerate(sorted(ends))}


def route(
    upper: LayerPassage, between: Sequence[LayerPassage], lower: LayerPassage, heads: tuple[float, float]
) -> Curve:
    """Return the curve from the lower side of a box to the upper side of another one.

    `upper` and `lower` are ports: their `top` and `bottom` are the side of the box and the side of its layer. `heads`
    is the room for an arrowhead at the upper and at the lower end.
    """
    points: list[Point] = [(upper.x, upper.top + heads[0])]
    _go_straight(points, (upper.x, upper.bottom + STUB))
    for column in between:
        points.extend(bend(points[-1], (column.x, column.top - STUB)))
        _go_straight(points, (column.x, column.bottom + STUB))
    points.extend(bend(points[-1], (lower.x, lower.top - STUB)))
    _go_straight(points, (lower.x, lower.bottom - heads[1]))
    return Curve(tuple(points))


def loop(box: Rectangle, number: int, head: float) -> Curve:
    """Return the curve from a box to itself, on its right; each further one is wider."""
    reach = _LOOP + _NEXT_LOOP * number
    away = min(min(box.height * 0.28, 12.0) + 2.0 * number, box.height * 0.45)  # it ends beside its box
    middle = box.y + box.height / 2
    start, end = (box.right, middle + away), (box.right + head, middle - away)
    return Curve((start, (box.right + reach, start[1] + 4), (box.right + reach, end[1] - 4), end))


def loop_room(loops: int) -> float:
    """Return how much room a box needs on its right."""
    return _LOOP + _NEXT_LOOP * (loops - 1) if loops else 0.0


def ports(
    boxes: Mapping[int, Rectangle], routes: Mapping[int, Sequence[int]], x: Mapping[int, float]
) -> tuple[dict[int, float], dict[int, float]]:
    """Return where each edge leaves its upper box, and where it enters its lower one."""
    leaving: dict[int, list[tuple[float, int]]] = {}
    entering: dict[int, list[tuple[float, int]]] = {}
    for edge, way in routes.items():
        leaving.setdefault(way[0], []).append((x[way[1]], edge))
        entering.setdefault(way[-1], []).append((x[way[-2]], edge))
    out = {edge: place for box, ends in leaving.items() for edge, place in spread(boxes[box], ends).items()}
    into = {edge: place for box, ends in entering.items() for edge, place in spread(boxes[box], ends).items()}
    return out, into


def _go_straight(points: list[Point], to: Point) -> None:
    if points[-1] != to:
        points.extend(straight(points[-1], to))
