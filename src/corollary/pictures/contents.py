"""The content of each box of an SVG, and the room that it takes: a heading, rows of rules, arcs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from corollary.analysis import ModuleKind
from corollary.pictures.layout import Curve, Rectangle, Size
from corollary.pictures.measure import monospaced, sans_serif, shortened
from corollary.pictures.model import Box, Edge, Picture, Row

RULE_SIZE = 12.0
HEADING_SIZE = 11.0
HEADING_HEIGHT = 24.0
HEAD_LENGTH = 9.0
_LINE_HEIGHT, _ROW_PADDING, _ROW_GAP = 16.0, 4.0, 5.0
_SIDE, _AROUND, _NAME_GAP = 7.0, 8.0, 9.0
_INDENT = monospaced("  ", RULE_SIZE)
_JUNCTION = Size(9.0, 9.0)
# With more rules than that only their names are shown; the texts are tooltips.
_MANY_RULES = 80
_FEW_RULES = 8
_MAX_NAME, _MAX_HEADING = 24, 48
_PLAIN = ModuleKind.NONRECURSIVE.value


@dataclass(frozen=True)
class PlacedRow:
    """A rule in its box: its chip, its name, and the lines of its text; `text_x`, `baseline` is where they begin."""

    row: Row
    chip: Rectangle
    name: str
    lines: tuple[str, ...]
    text_x: float
    baseline: float

    def lines_at(self) -> list[tuple[float, float, str]]:
        """The lines with their places in the chip; all but the first are indented."""
        return [
            (self.text_x + (_INDENT if index else 0.0), self.baseline + _LINE_HEIGHT * index, line)
            for index, line in enumerate(self.lines)
        ]


@dataclass(frozen=True)
class Contents:
    """Everything is relative to the upper left corner of the box."""

    size: Size
    heading: str = ""
    rows: tuple[PlacedRow, ...] = ()
    arcs: tuple[tuple[Edge, Curve], ...] = ()
    note: str = ""


@dataclass(frozen=True)
class _Detail:
    """How much a picture shows of each rule, which depends on how many there are."""

    texts: bool
    room: int
    headings: bool


def contents_of(picture: Picture, *, headings: bool) -> list[Contents]:
    """The contents of each box, in order; `headings` says whether boxes are hyper-nodes, which have one."""
    rules = sum(len(box.rows) for box in picture.boxes)
    detail = _Detail(rules <= _MANY_RULES, 60 if rules <= _FEW_RULES else 46, headings)
    return [_contents(box, detail) for box in picture.boxes]


def _contents(box: Box, detail: _Detail) -> Contents:
    if box.is_junction:
        return Contents(_JUNCTION)
    arcs, note = arcs_of(box.inner), box.note
    if any(arc.lane >= MAX_LANES for arc in arcs):
        arcs, note = [], f"{len(arcs)} edges among these rules"
    # In a large picture the colour is enough for the many boxes of the plainest kind.
    heading = "" if not detail.headings or (not detail.texts and box.module == _PLAIN) else _heading(box)
    top = HEADING_HEIGHT + _AROUND - 2 if heading else _AROUND - 3
    left = _AROUND + side_room(arcs, on_right=False)
    right = _AROUND + side_room(arcs, on_right=True)
    written = [_written(row, detail) for row in box.rows]
    columns = 1 if detail.texts or arcs else math.ceil(math.sqrt(len(written) / 2.5))
    named = max(monospaced(name, RULE_SIZE) for name, _ in written)
    texts = max((_text_width(lines) for _, lines in written if lines), default=-_NAME_GAP)
    chip = 2 * _SIDE + named + _NAME_GAP + texts
    needed = max(sans_serif(heading, HEADING_SIZE) + 26, sans_serif(note, HEADING_SIZE) + 20)
    across = columns * chip + (columns - 1) * _ROW_GAP
    across += max(0.0, needed - left - right - across)
    rows = _place(box, written, Rectangle(left, top, across, 0.0), columns, named)
    bottom = max(row.chip.bottom for row in rows) + (HEADING_SIZE + 8 if note else 0.0)
    ends = [(row.chip.x, row.chip.right, row.chip.y + row.chip.height / 2) for row in rows]
    size = Size(math.ceil(left + across + right), math.ceil(bottom + _AROUND - (0 if heading else 3)))
    return Contents(size, heading, tuple(rows), _curves(arcs, ends), note)


def _heading(box: Box) -> str:
    return shortened(box.heading, _MAX_HEADING)


def _curves(arcs: list[Arc], rows: list[tuple[float, float, float]]) -> tuple[tuple[Edge, Curve], ...]:
    return tuple(zip((arc.edge for arc in arcs), curves_of(arcs, rows, HEAD_LENGTH), strict=True))


def _place(
    box: Box, written: list[tuple[str, tuple[str, ...]]], area: Rectangle, columns: int, named: float
) -> list[PlacedRow]:
    """The rows from top to bottom, or in a grid where only names are shown."""
    rows: list[PlacedRow] = []
    width = (area.width - (columns - 1) * _ROW_GAP) / columns
    y = area.y
    for index, (row, (name, lines)) in enumerate(zip(box.rows, written, strict=True)):
        if index and index % columns == 0:
            y = rows[-1].chip.bottom + _ROW_GAP
        x = area.x + (index % columns) * (width + _ROW_GAP)
        chip = Rectangle(x, y, width, max(1, len(lines)) * _LINE_HEIGHT + 2 * _ROW_PADDING)
        rows.append(PlacedRow(row, chip, name, lines, _SIDE + named + _NAME_GAP, _ROW_PADDING + _LINE_HEIGHT * 0.74))
    return rows


def _written(row: Row, detail: _Detail) -> tuple[str, tuple[str, ...]]:
    """The name and the lines of a rule as far as there is room for them."""
    name = shortened(row.name, _MAX_NAME)
    if not detail.texts:
        return name, ()
    whole = shortened(row.text, detail.room)
    body = row.text.removeprefix(row.head)
    if whole == row.text or body == row.text:
        return name, (whole,)
    # A long rule shows its head on one line and its body on the next.
    arrow, _, rest = body.strip().partition(" ")
    return name, (shortened(f"{row.head} {arrow}", detail.room), shortened(rest, detail.room - 2))


def _text_width(lines: tuple[str, ...]) -> float:
    return max(monospaced(line, RULE_SIZE) + (_INDENT if index else 0.0) for index, line in enumerate(lines))


# The edges inside a box: arcs beside its rows, downwards on the right, upwards on the left.


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
