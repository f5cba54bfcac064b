"""The edges inside a box: arcs beside its rows, downwards on the right, upwards on the left."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from corollary.pictures.layout import Curve
from corollary.pictures.model import Edge

_FIRST_REACH, _NEXT_REACH, _ROOM = 17.0, 9.0, 5.0
_PORT = 5.0
# A loop stays between the arcs that end at its row and those that begin there, and leaves room for their heads.
_PORT_AT_LOOP, _LOOP_IN, _LOOP_OUT = 9.0, -2.0, 5.0
_LONELY_LOOP = 5.5
MAX_LANES = 16


@dataclass(frozen=True)
class Arc:
    """An edge between rows, on one side, with its lane: 0 is next to the rows."""

    edge: Edge
    on_right: bool
    lane: int

    @property
    def is_loop(self) -> bool:
        return self.edge.source == self.edge.target


def arcs_of(edges: Sequence[Edge]) -> list[Arc]:
    """Each edge in the first lane of its side that is free between its rows, short ones first."""
    lanes: dict[bool, list[list[tuple[float, float]]]] = {True: [], False: []}
    loops: dict[int, int] = {}
    found: dict[int, Arc] = {}
    for number in sorted(range(len(edges)), key=lambda n: (abs(edges[n].source - edges[n].target), n)):
        edge = edges[number]
        on_right = edge.source < edge.target
        if edge.source == edge.target:
            on_right = loops.get(edge.source, 0) % 2 == 0
            loops[edge.source] = loops.get(edge.source, 0) + 1
        found[number] = Arc(edge, on_right, _free_lane(lanes[on_right], _span(edge)))
    return [found[number] for number in range(len(edges))]


def side_room(arcs: Sequence[Arc], *, on_right: bool) -> float:
    """How much room the arcs of one side need."""
    lanes = [arc.lane for arc in arcs if arc.on_right is on_right]
    return _reach(max(lanes)) + _ROOM if lanes else 0.0


def curves_of(arcs: Sequence[Arc], rows: Sequence[tuple[float, float, float]], head: float) -> list[Curve]:
    """The curve of each arc; a row is given by its left, its right and its middle from top to bottom."""
    with_loop = {(arc.edge.source, arc.on_right) for arc in arcs if arc.is_loop}
    with_arc = {(row, arc.on_right) for arc in arcs if not arc.is_loop for row in (arc.edge.source, arc.edge.target)}
    curves: list[Curve] = []
    for arc in arcs:
        (left, right, start), (_, _, end) = rows[arc.edge.source], rows[arc.edge.target]
        side, out = (right, 1.0) if arc.on_right else (left, -1.0)
        if arc.is_loop:
            shared = (arc.edge.source, arc.on_right) in with_arc
            start, end = start + (_LOOP_OUT if shared else _LONELY_LOOP), end + (_LOOP_IN if shared else -_LONELY_LOOP)
        else:
            # An arc leaves its row on the side towards its other end, and arrives on the side that it comes from.
            start += out * (_PORT_AT_LOOP if (arc.edge.source, arc.on_right) in with_loop else _PORT)
            end -= out * (_PORT_AT_LOOP if (arc.edge.target, arc.on_right) in with_loop else _PORT)
        # A cubic curve comes three quarters of the way to its control points.
        far = side + out * _reach(arc.lane) * 4 / 3
        curves.append(Curve(((side, start), (far, start), (far, end), (side + out * head, end))))
    return curves


def _reach(lane: int) -> float:
    return _FIRST_REACH + _NEXT_REACH * lane


def _span(edge: Edge) -> tuple[float, float]:
    if edge.source == edge.target:
        return edge.source - 0.3, edge.source + 0.3
    low, high = sorted((edge.source, edge.target))
    return low + 0.35, high - 0.35


def _free_lane(lanes: list[list[tuple[float, float]]], span: tuple[float, float]) -> int:
    for number, taken in enumerate(lanes):
        if all(span[1] <= low or high <= span[0] for low, high in taken):
            taken.append(span)
            return number
    lanes.append([span])
    return len(lanes) - 1
