"""The curves of the edges, when every box and every waypoint has its place.

Between two layers an edge is an S; where it passes a layer it is straight. Nothing stands between layers, and a
waypoint keeps its column of the layer free: so no edge runs through a box that it does not belong to.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from corollary.pictures.layout.geometry import Curve, Point, Rectangle, bend, straight

STUB = 12.0
_PORT_GAP = 20.0
_LOOP = 26.0
_NEXT_LOOP = 12.0


@dataclass(frozen=True)
class Column:
    """Where a route passes a layer: its place from left to right, and the top and the bottom of the layer there."""

    x: float
    top: float
    bottom: float


def spread(box: Rectangle, ends: Sequence[tuple[float, int]]) -> dict[int, float]:
    """A place on the upper or lower side of a box for each edge; `ends` says where it goes and which edge it is."""
    gap = min(_PORT_GAP, box.width * 0.7 / max(1, len(ends) - 1))
    first = box.middle - gap * (len(ends) - 1) / 2
    return {edge: first + gap * index for index, (_, edge) in enumerate(sorted(ends))}


def route(upper: Column, between: Sequence[Column], lower: Column, heads: tuple[float, float]) -> Curve:
    """The curve from the lower side of a box to the upper side of another one.

    `upper` and `lower` are ports: their `top` and `bottom` are the side of the box and the side of its layer. `heads`
    is the room that the curve leaves for an arrow's head at its upper and at its lower end.
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
    """The curve from a box to itself, on its right; each further one is wider."""
    reach = _LOOP + _NEXT_LOOP * number
    away = min(min(box.height * 0.28, 12.0) + 2.0 * number, box.height * 0.45)  # it ends beside its box
    middle = box.y + box.height / 2
    start, end = (box.right, middle + away), (box.right + head, middle - away)
    return Curve((start, (box.right + reach, start[1] + 4), (box.right + reach, end[1] - 4), end))


def loop_room(loops: int) -> float:
    """How much room a box needs on its right."""
    return _LOOP + _NEXT_LOOP * (loops - 1) if loops else 0.0


def ports(
    boxes: Mapping[int, Rectangle], routes: Mapping[int, Sequence[int]], x: Mapping[int, float]
) -> tuple[dict[int, float], dict[int, float]]:
    """Where each edge leaves its upper box and where it enters its lower one."""
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
