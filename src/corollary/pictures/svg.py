"""The picture of a program as one SVG that needs nothing else: no script, no font, no other file."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from corollary.analysis import Dependency, ModuleKind
from corollary.pictures import style
from corollary.pictures.contents import (
    HEAD_LENGTH,
    HEADING_HEIGHT,
    HEADING_SIZE,
    RULE_SIZE,
    Contents,
    PlacedRow,
    contents_of,
)
from corollary.pictures.layout import Band, Curve, Layout, Link, Rectangle, lay_out
from corollary.pictures.measure import sans_serif, shortened
from corollary.pictures.model import NOT_STRATIFIED, Box, Edge, Picture

# XML 1.0 has no way to write these characters, not even as a reference.
_IMPOSSIBLE = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_ESCAPES = {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;"}
_TO_ESCAPE = re.compile("[&<>\"']")


def escaped(text: str) -> str:
    """The text for an element or a quoted attribute; characters that XML cannot have become U+FFFD."""
    return _TO_ESCAPE.sub(lambda found: _ESCAPES[found[0]], _IMPOSSIBLE.sub("\ufffd", text))


def element(name: str, *children: str, **attributes: str | float) -> str:
    """An element whose children are XML already; `stroke_width=2` is the attribute `stroke-width="2"`."""
    written = "".join(f' {key.rstrip("_").replace("_", "-")}="{_value(value)}"' for key, value in attributes.items())
    return f"<{name}{written}>{''.join(children)}</{name}>" if children else f"<{name}{written}/>"


def group(children: Iterable[str], **attributes: str | float) -> str:
    """The elements on a line each, in a `g`."""
    return element("g", "\n", *(f"{child}\n" for child in children), **attributes)


def number(value: float) -> str:
    """At most one digit after the point: a tenth of a pixel is not to be seen."""
    return f"{round(value, 1) + 0.0:g}" if abs(value) < 100_000 else f"{value:.1f}".removesuffix(".0")


def path(curve: Curve) -> str:
    """The `d` of a curve; pieces that go straight down or up are lines."""
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
    """The id of the head of an edge."""
    return f"corollary-{kind.value}"


def markers() -> list[str]:
    """A head for each kind of edge; it begins where its line ends and is `HEAD_LENGTH` long."""
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
    """The legend for all edges and for these kinds of modules, in as many rows as it needs, and its height."""
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
    """A picture with the contents and the places of its boxes."""

    picture: Picture
    contents: tuple[Contents, ...]
    layout: Layout


def drawing_of(picture: Picture, *, hyper_nodes: bool) -> Drawing:
    """Measures and places everything; `hyper_nodes` says whether a box is a hyper-node or a rule."""
    contents = contents_of(picture, headings=hyper_nodes)
    links = [
        Link(edge.source, edge.target, 0.0 if picture.boxes[edge.target].is_junction else HEAD_LENGTH)
        for edge in picture.edges
    ]
    layout = lay_out([content.size for content in contents], links, [box.stratum for box in picture.boxes])
    return Drawing(picture, tuple(contents), layout)


def svg(drawing: Drawing) -> str:
    """The text of an SVG document."""
    picture, layout = drawing.picture, drawing.layout
    title = shortened(picture.title, _MAX_TITLE)
    body_width = max(layout.width + _GUTTER + _BAND_SIDE, _MIN_WIDTH, sans_serif(title, _TITLE_SIZE))
    body_height = layout.height if picture.boxes else 110.0
    kinds = list(dict.fromkeys(style.kind_of(box.module) for box in picture.boxes))
    key, key_height = legend(kinds, body_width) if picture.boxes else ("", 0.0)
    width, height = body_width + 2 * _MARGIN, _HEADER + body_height + key_height + 2 * _MARGIN
    inner_left = _GUTTER + max(0.0, body_width - layout.width - _GUTTER - _BAND_SIDE) / 2
    body = _body(drawing, body_width, inner_left) if picture.boxes else _empty(body_width, body_height)
    parts = [
        element("title", escaped(f"{picture.title}: {picture.summary or _EMPTY}")),
        element("desc", escaped(_description(picture))),
        element("style", _CSS),
        element("defs", *markers()),
        element("rect", width="100%", height="100%", fill=style.BACKGROUND),
        _header(title, picture),
        group(body, transform=f"translate({number(_MARGIN)} {number(_MARGIN + _HEADER)})"),
        group([key], transform=f"translate({number(_MARGIN)} {number(_MARGIN + _HEADER + body_height)})"),
    ]
    size = {"width": number(width), "height": number(height), "viewBox": f"0 0 {number(width)} {number(height)}"}
    root = element(
        "svg",
        "\n",
        *(f"{part}\n" for part in parts),
        xmlns="http://www.w3.org/2000/svg",
        **size,
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
    # In a band taller than a screen the label stays where the reader begins.
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
