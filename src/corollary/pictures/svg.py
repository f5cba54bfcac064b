"""The picture of a program as one self-contained SVG: no script, no font, no other file."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from corollary.analysis import Dependency, ModuleKind
from corollary.pictures import style
from corollary.pictures.layout import Band, Curve, Layout, Link, Rectangle, Size, lay_out
from corollary.pictures.model import NOT_STRATIFIED, Box, Edge, Picture, Row
from corollary.pictures.style import monospaced, sans_serif, shortened

# -- contents ----------------------------------------------------------------------------------------------------------

# The contents of each box of an SVG, and their size: a heading, rows of rules, arcs.

RULE_SIZE = 12.0
HEADING_SIZE = 11.0
HEADING_HEIGHT = 24.0
HEAD_LENGTH = 9.0
_LINE_HEIGHT, _ROW_PADDING, _ROW_GAP = 16.0, 4.0, 5.0
_SIDE, _AROUND, _NAME_GAP = 7.0, 8.0, 9.0
_INDENT = monospaced("  ", RULE_SIZE)
_JUNCTION = Size(9.0, 9.0)
# With more rules than this only their names are shown; the texts are tooltips.
_MANY_RULES = 80
_FEW_RULES = 8
_MAX_NAME, _MAX_HEADING = 24, 48
_PLAIN = ModuleKind.NONRECURSIVE.value


@dataclass(frozen=True)
class PlacedRow:
    """A rule in its box: its chip, its name, and the lines of its text, which begin at `text_x`, `baseline`."""

    row: Row
    chip: Rectangle
    name: str
    lines: tuple[str, ...]
    text_x: float
    baseline: float

    def lines_at(self) -> list[tuple[float, float, str]]:
        """Return the lines with their positions in the chip; all but the first are indented."""
        return [
            (self.text_x + (_INDENT if index else 0.0), self.baseline + _LINE_HEIGHT * index, line)
            for index, line in enumerate(self.lines)
        ]


@dataclass(frozen=True)
class Contents:
    """The contents of a box, relative to its upper left corner."""

    size: Size
    heading: str = ""
    rows: tuple[PlacedRow, ...] = ()
    arcs: tuple[tuple[Edge, Curve], ...] = ()
    note: str = ""


@dataclass(frozen=True)
class _Detail:
    """How much a picture shows of each rule, depending on the number of rules."""

    texts: bool
    room: int
    headings: bool


def contents_of(picture: Picture, *, headings: bool) -> list[Contents]:
    """Return the contents of each box, in order; `headings` tells whether boxes are hyper-nodes, which have a heading."""
    rules = sum(len(box.rows) for box in picture.boxes)
    detail = _Detail(rules <= _MANY_RULES, 60 if rules <= _FEW_RULES else 46, headings)
    return [_contents(box, detail) for box in picture.boxes]


def _contents(box: Box, detail: _Detail) -> Contents:
    if box.is_junction:
        return Contents(_JUNCTION)
    arcs, note = arcs_of(box.inner), box.note
    if any(arc.lane >= MAX_LANES for arc in arcs):
        arcs, note = [], f"{len(arcs)} edges among these rules"
    # In a large picture, the many boxes of the general kind are recognised by their colour alone.
    heading = "" if not detail.headings or (not detail.texts and box.module == _PLAIN) else _short_heading(box)
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


def _short_heading(box: Box) -> str:
    return shortened(box.heading, _MAX_HEADING)


def _curves(arcs: list[Arc], rows: list[tuple[float, float, float]]) -> tuple[tuple[Edge, Curve], ...]:
    return tuple(zip((arc.edge for arc in arcs), curves_of(arcs, rows, HEAD_LENGTH), strict=True))


def _place(
    box: Box, written: list[tuple[str, tuple[str, ...]]], area: Rectangle, columns: int, named: float
) -> list[PlacedRow]:
    """Return the rows from top to bottom, or in a grid if only names are shown."""
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
    """Return the name and the lines of a rule, as far as there is room for them."""
    name = shortened(row.name, _MAX_NAME)
    if not detail.texts:
        return name, ()
    whole = shortened(row.text, detail.room)
    body = row.text.removeprefix(row.head)
    if whole == row.text or body == row.text:
        return name, (whole,)
    # A long rule has its head on one line and its body on the next.
    arrow, _, rest = body.strip().partition(" ")
    return name, (shortened(f"{row.head} {arrow}", detail.room), shortened(rest, detail.room - 2))


def _text_width(lines: tuple[str, ...]) -> float:
    return max(monospaced(line, RULE_SIZE) + (_INDENT if index else 0.0) for index, line in enumerate(lines))


# The edges inside a box: arcs beside its rows, downwards on the right, upwards on the left.


_FIRST_REACH, _NEXT_REACH, _ROOM = 17.0, 9.0, 5.0
_PORT = 5.0
# A loop is placed between the arcs that end at its row and those that begin there, with room for their heads.
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
    """Return each edge in the first lane of its side that is free between its rows, short edges first."""
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
    """Return how much room the arcs of one side need."""
    lanes = [arc.lane for arc in arcs if arc.on_right is on_right]
    return _reach(max(lanes)) + _ROOM if lanes else 0.0


def curves_of(arcs: Sequence[Arc], rows: Sequence[tuple[float, float, float]], head: float) -> list[Curve]:
    """Return the curve of each arc; a row is given by its left, its right and its vertical middle."""
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
        # A cubic curve reaches three quarters of the way to its control points.
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


# -- svg ---------------------------------------------------------------------------------------------------------------

# XML 1.0 cannot represent these characters, not even as references.
_IMPOSSIBLE = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_ESCAPES = {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;"}
_TO_ESCAPE = re.compile("[&<>\"']")


def escaped(text: str) -> str:
    """Return the text for an element or a quoted attribute; characters that XML cannot represent become U+FFFD."""
    return _TO_ESCAPE.sub(lambda found: _ESCAPES[found[0]], _IMPOSSIBLE.sub("\ufffd", text))


def element(name: str, *children: str, **attributes: str | float) -> str:
    """Return an element whose children are XML already; `stroke_width=2` is the attribute `stroke-width="2"`."""
    written = "".join(f' {key.rstrip("_").replace("_", "-")}="{_value(value)}"' for key, value in attributes.items())
    return f"<{name}{written}>{''.join(children)}</{name}>" if children else f"<{name}{written}/>"


def group(children: Iterable[str], **attributes: str | float) -> str:
    """Return the elements, one per line, in a `g`."""
    return element("g", "\n", *(f"{child}\n" for child in children), **attributes)


def number(value: float) -> str:
    """Return the number with at most one digit after the point: a tenth of a pixel is invisible."""
    return f"{round(value, 1) + 0.0:g}" if abs(value) < 100_000 else f"{value:.1f}".removesuffix(".0")


def path(curve: Curve) -> str:
    """Return the `d` attribute of a curve; vertical pieces are lines."""
    x, y = curve.points[0]
    parts = [f"M{number(x)} {number(y)}"]
    for (x, _), (bx, by), (cx, cy), (dx, dy) in curve.pieces():
        if x == bx == cx == dx:
            parts.append(f"V{number(dy)}")
        else:
            parts.append("C" + " ".join(map(number, (bx, by, cx, cy, dx, dy))))
    return "".join(parts)


def _value(value: str | float) -> str:
    return escaped(value) if isinstance(value, str) else number(value)


# The heads of the edges: a triangle, the circle of a logic gate's negation, the diamond of an aggregation.


def marker_of(kind: Dependency) -> str:
    """Return the id of the head of an edge."""
    return f"corollary-{kind.value}"


def markers() -> list[str]:
    """Return a head for each kind of edge; it begins where its line ends and is `HEAD_LENGTH` long."""
    return [_marker(kind, shape) for kind, shape in _SHAPES.items()]


def _marker(kind: Dependency, shape: str) -> str:
    half, length = HEAD_LENGTH / 2, HEAD_LENGTH
    return element(
        "marker", shape, id=marker_of(kind), viewBox=f"0 {number(-half)} {number(length)} {number(length)}",
        refX=0, refY=0, markerWidth=length, markerHeight=length, markerUnits="userSpaceOnUse", orient="auto",
    )  # fmt: skip


_SHAPES = {
    Dependency.POSITIVE: element("path", d="M0-3.6L9 0L0 3.6z", fill=style.EDGES[Dependency.POSITIVE].colour),
    Dependency.NEGATIVE: element(
        "circle", cx=4.5, cy=0, r=3.6, fill=style.BACKGROUND, stroke_width=1.6,
        stroke=style.EDGES[Dependency.NEGATIVE].colour,
    ),
    Dependency.AGGREGATE: element("path", d="M0 0L4.5-3.8L9 0L4.5 3.8z", fill=style.EDGES[Dependency.AGGREGATE].colour),
}  # fmt: skip


# The legend of an SVG, for its lines and colours.


_SIZE = 11.5
_LINE, _SWATCH = 38.0, 14.0
_GAP, _AFTER = 8.0, 22.0
_ROW, _ABOVE = 22.0, 26.0


def legend(kinds: Sequence[ModuleKind], width: float) -> tuple[str, float]:
    """Return the legend for all edges and for these kinds of modules, in as many rows as needed, and its height."""
    items = [(_sample(edge), _LINE, f"{edge.value}: {look.meaning}") for edge, look in style.EDGES.items()]
    items += [(_swatch(kind), _SWATCH, kind.value) for kind in ModuleKind if kind in kinds]
    parts: list[str] = []
    x, y = 0.0, _ABOVE
    for shape, taken, words in items:
        needed = taken + _GAP + sans_serif(words, _SIZE)
        if x and x + needed > width:
            x, y = 0.0, y + _ROW
        label = element("text", escaped(words), x=taken + _GAP, y=4)
        parts.append(element("g", shape, label, transform=f"translate({number(x)} {number(y)})"))
        x += needed + _AFTER
    return group(parts, font_size=_SIZE, fill=style.MUTED), y + _ROW / 2


def _sample(kind: Dependency) -> str:
    look = style.EDGES[kind]
    end = _LINE - HEAD_LENGTH
    attributes = {"stroke_dasharray": look.dashes} if look.dashes else {}
    if kind is Dependency.AGGREGATE:
        attributes["stroke_linecap"] = "round"
    wide = 2.2 if kind is Dependency.AGGREGATE else 1.6
    return element(
        "path", d=f"M0 0H{number(end)}", fill="none", stroke=look.colour, stroke_width=wide, **attributes,
        marker_end=f"url(#{marker_of(kind)})",
    )  # fmt: skip


def _swatch(kind: ModuleKind) -> str:
    colours = style.PALETTES[kind]
    return element("rect", y=-_SWATCH / 2, width=_SWATCH, height=_SWATCH, rx=4, fill=colours.light, stroke=colours.line)


_MARGIN = 28.0
_GUTTER = 34.0
_BAND_SIDE = 22.0
_TITLE_SIZE, _SUMMARY_SIZE = 20.0, 13.0
_HEADER = 64.0
_MIN_WIDTH = 420.0
_MAX_TITLE = 60
_LABEL_AT_MOST = 300.0
_EMPTY = "This program has no rules."
_CSS = ".edge:hover path{stroke-width:3.2}.rule:hover rect{stroke-opacity:1}"


@dataclass(frozen=True)
class Drawing:
    """A picture with the contents and the positions of its boxes."""

    picture: Picture
    contents: tuple[Contents, ...]
    layout: Layout


def drawing_of(picture: Picture, *, hyper_nodes: bool) -> Drawing:
    """Measure and place everything; `hyper_nodes` tells whether a box is a hyper-node or a rule."""
    contents = contents_of(picture, headings=hyper_nodes)
    links = [
        Link(edge.source, edge.target, 0.0 if picture.boxes[edge.target].is_junction else HEAD_LENGTH)
        for edge in picture.edges
    ]
    layout = lay_out([content.size for content in contents], links, [box.stratum for box in picture.boxes])
    return Drawing(picture, tuple(contents), layout)


def svg(*drawings: Drawing) -> str:
    """Return the text of an SVG document; several drawings stand side by side."""
    pages = [_page(drawing) for drawing in drawings]
    names = [f"{one.picture.title}: {one.picture.summary or _EMPTY}" for one in drawings]
    parts = [
        element("title", escaped("; ".join(names))),
        element("desc", escaped("; ".join(_description(one.picture) for one in drawings))),
        element("style", _CSS),
        element("defs", *markers()),
        element("rect", width="100%", height="100%", fill=style.BACKGROUND),
        *pages[0].parts,
    ]
    x = pages[0].size.width
    for page in pages[1:]:
        parts.append(group(page.parts, transform=f"translate({number(x)} 0)"))
        x += page.size.width
    return document(parts, Size(x, max(page.size.height for page in pages)))


@dataclass(frozen=True)
class _Page:
    """One drawing with its title and its legend."""

    parts: tuple[str, ...]
    size: Size


def _page(drawing: Drawing) -> _Page:
    picture, layout = drawing.picture, drawing.layout
    title = shortened(picture.title, _MAX_TITLE)
    body_width = max(layout.width + _GUTTER + _BAND_SIDE, _MIN_WIDTH, sans_serif(title, _TITLE_SIZE))
    body_height = layout.height if picture.boxes else 110.0
    kinds = list(dict.fromkeys(style.kind_of(box.module) for box in picture.boxes))
    key, key_height = legend(kinds, body_width) if picture.boxes else ("", 0.0)
    inner_left = _GUTTER + max(0.0, body_width - layout.width - _GUTTER - _BAND_SIDE) / 2
    body = _body(drawing, body_width, inner_left) if picture.boxes else _empty(body_width, body_height)
    parts = (
        _header(title, picture),
        group(body, transform=f"translate({number(_MARGIN)} {number(_MARGIN + _HEADER)})"),
        group([key], transform=f"translate({number(_MARGIN)} {number(_MARGIN + _HEADER + body_height)})"),
    )
    return _Page(parts, Size(body_width + 2 * _MARGIN, _HEADER + body_height + key_height + 2 * _MARGIN))


def document(parts: Iterable[str], size: Size) -> str:
    """Return an SVG document with these elements, one per line."""
    width, height = number(size.width), number(size.height)
    root = element(
        "svg",
        "\n",
        *(f"{part}\n" for part in parts),
        xmlns="http://www.w3.org/2000/svg",
        width=width,
        height=height,
        viewBox=f"0 0 {width} {height}",
        role="img",
        font_family=style.SANS_SERIF,
        fill=style.INK,
    )
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{root}\n'


def _description(picture: Picture) -> str:
    lines = []
    for edge in picture.edges:
        source, target = picture.boxes[edge.source].name, picture.boxes[edge.target].name
        lines.append(f"{source} is {style.EDGES[edge.kind].meaning} {target}")
    return "; ".join(lines[:200]) + ("; …" if len(lines) > 200 else "") or "There are no edges between the boxes."


def _header(title: str, picture: Picture) -> str:
    counts = [count for count in picture.counts if count != NOT_STRATIFIED]
    summary = escaped(" · ".join(counts))
    if not picture.is_stratified:
        summary += " · " + element("tspan", NOT_STRATIFIED, fill=style.WARNING, font_weight="600")
    y = _MARGIN + _TITLE_SIZE * 0.75
    return group(
        [
            element("text", escaped(title), x=_MARGIN, y=y, font_size=_TITLE_SIZE, font_weight="700"),
            element("text", summary, x=_MARGIN, y=y + 22, font_size=_SUMMARY_SIZE, fill=style.MUTED),
        ]
    )


def _empty(width: float, height: float) -> list[str]:
    frame = element("rect", width=width, height=height, rx=12, fill=style.BAND)
    words = element("text", _EMPTY, x=width / 2, y=height / 2 + 5, text_anchor="middle", font_size=15, fill=style.MUTED)
    return [frame, words]


def _body(drawing: Drawing, width: float, left: float) -> list[str]:
    picture, layout = drawing.picture, drawing.layout
    moved = f"translate({number(left)} 0)"
    boxes = zip(picture.boxes, drawing.contents, layout.boxes, strict=True)
    return [
        *(_band(band, width) for band in layout.bands),
        group(_edges(picture, layout.curves), transform=moved, fill="none", stroke_width=1.6),
        group((_box(*each) for each in boxes), transform=moved),
    ]


def _band(band: Band, width: float) -> str:
    height = band.bottom - band.top
    # In a band taller than a screen the label stays at the top, where the reader begins.
    middle = band.top + min(height / 2, _LABEL_AT_MOST)
    label = element(
        "text",
        f"stratum {band.stratum}",
        x=0,
        y=0,
        transform=f"translate(19 {number(middle)}) rotate(-90)",
        text_anchor="middle",
        font_size=11,
        font_weight="600",
        letter_spacing="0.6",
        fill=style.MUTED,
    )
    return element("rect", y=band.top, width=width, height=height, rx=14, fill=style.BAND) + label


def _edges(picture: Picture, curves: tuple[Curve, ...]) -> Iterator[str]:
    for edge, curve in zip(picture.edges, curves, strict=True):
        source, target = picture.boxes[edge.source], picture.boxes[edge.target]
        yield _edge(edge, curve, (source.name, target.name), head=not target.is_junction)


def _edge(edge: Edge, curve: Curve, ends: tuple[str, str], *, head: bool = True, fine: bool = False) -> str:
    look = style.EDGES[edge.kind]
    attributes = {"d": path(curve), "stroke": look.colour}
    if look.dashes:
        attributes["stroke_dasharray"] = look.fine_dashes if fine else look.dashes
    if edge.kind is Dependency.AGGREGATE:
        attributes |= {"stroke_width": "2.2", "stroke_linecap": "round"}
    if head:
        attributes["marker_end"] = f"url(#{marker_of(edge.kind)})"
    title = element("title", escaped(f"{edge.kind.value}: {edge.reason}"))
    data = {"data_source": ends[0], "data_target": ends[1], "data_kind": edge.kind.value}
    return element("g", title, element("path", **attributes), class_="edge", **data)


def _box(box: Box, contents: Contents, place: Rectangle) -> str:
    colours = style.PALETTES[style.kind_of(box.module)]
    at = {"transform": f"translate({number(place.x)} {number(place.y)})", "class_": "box"}
    width, height = contents.size.width, contents.size.height
    if box.is_junction:
        dot = element("circle", cx=width / 2, cy=height / 2, r=width / 2, fill=style.MUTED)
        return element("g", dot, **at, data_name=box.name)
    fill = "#ffffff" if contents.heading else colours.light
    frame = element("rect", width=width, height=height, rx=9, fill=fill, stroke=colours.line, stroke_width=1.4)
    title = element("title", escaped(f"{box.name} · {box.module} · stratum {box.stratum}"))
    return element(
        "g", title, frame, _heading(contents, colours),
        *(_row(row, colours, plain=not contents.heading) for row in contents.rows),
        *_arcs(box, contents), _note(contents),
        **at, data_name=box.name,
    )  # fmt: skip


def _heading(contents: Contents, colours: style.Palette) -> str:
    if not contents.heading:
        return ""
    width, height = contents.size.width - 1.4, HEADING_HEIGHT
    bottom = f"V{number(height)}"
    shape = f"M.7 {number(height)}V9a8.3 8.3 0 0 1 8.3-8.3H{number(width - 7.6)}a8.3 8.3 0 0 1 8.3 8.3{bottom}z"
    words = element(
        "text", escaped(contents.heading), x=12, y=16, font_size=HEADING_SIZE, font_weight="600", fill=colours.dark
    )
    return element("path", d=shape, fill=colours.light) + words


def _row(placed: PlacedRow, colours: style.Palette, *, plain: bool) -> str:
    chip = placed.chip
    fill = {"fill": "none"} if plain else {"fill": colours.light, "fill_opacity": "0.45"}
    frame = element("rect", width=chip.width, height=chip.height, rx=5, **fill, stroke=colours.line, stroke_opacity=0)
    name = element("text", escaped(placed.name), x=7, y=placed.baseline, font_weight="700", fill=colours.dark)
    lines = [element("text", escaped(line), x=x, y=y, **{"xml:space": "preserve"}) for x, y, line in placed.lines_at()]
    title = element("title", escaped(f"{placed.row.name}: {placed.row.text}"))
    at = f"translate({number(chip.x)} {number(chip.y)})"
    font = {"font_family": style.MONOSPACE, "font_size": number(RULE_SIZE)}
    return element("g", title, frame, name, *lines, class_="rule", transform=at, data_rule=placed.row.name, **font)


def _arcs(box: Box, contents: Contents) -> list[str]:
    if not contents.arcs:
        return []
    names = [row.name for row in box.rows]
    arcs = [_edge(edge, curve, (names[edge.source], names[edge.target]), fine=True) for edge, curve in contents.arcs]
    return [group(arcs, fill="none", stroke_width=1.3)]


def _note(contents: Contents) -> str:
    if not contents.note:
        return ""
    y = contents.size.height - 10
    return element("text", escaped(contents.note), x=12, y=y, font_size=HEADING_SIZE, fill=style.MUTED)
