"""Draws pictures/architecture from the code: `python docs/generate_architecture.py`.

- `packages.svg`: which package imports which.
- `delete_one_edge.svg` and `add_a_rule.svg`: the files that a change enters, with their order and the functions that run there.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType

sys.path.insert(0, str(Path(__file__).parents[1]))

from corollary import KnowledgeBase
from corollary.analysis import Dependency
from corollary.pictures import style
from corollary.pictures.layout import Rectangle, Size, lay_out
from corollary.pictures.layout.layout import Link
from corollary.pictures.style import monospaced, sans_serif
from corollary.pictures.svg import element, escaped, group, marker_of, markers, number, path
from docs.source_imports import SOURCE, imports, layers, module_of, package_of

PICTURES = Path(__file__).with_name("pictures") / "architecture"
PROGRAM = """
reach(X, Y) :- edge(X, Y).
reach(X, Z) :- reach(X, Y), edge(Y, Z).
busy(X, count(Y)) :- reach(X, Y).
edge(1, 2). edge(2, 3). edge(3, 4). edge(4, 1).
"""

_MARGIN, _HEADER = 28.0, 62.0
_NAME_SIZE, _SMALL = 14.0, 12.0
_HEAD = 9.0


def pictures() -> dict[str, str]:
    """Return the text of each picture by the name of its file."""
    return {
        "packages.svg": picture_of_packages(),
        "delete_one_edge.svg": picture_of_a_way("Deleting one edge", "kb.delete", way_of_a_deletion()),
        "add_a_rule.svg": picture_of_a_way("Adding a rule", "kb.add_rules", way_of_a_rule()),
    }


# -- packages ------------------------------------------------------------------------------------------------------------


def picture_of_packages() -> str:
    names = [name for name in layers() if name in imports()]
    edges = [(one, other) for one in names for other in names if other in imports()[one]]
    shown = [edge for edge in edges if not _is_implied(edge, edges)]
    sizes = [Size(sans_serif(name, _NAME_SIZE) + 32, 34.0) for name in names]
    links = [Link(names.index(one), names.index(other), _HEAD) for one, other in shown]
    layout = lay_out(sizes, links, [0] * len(names))
    attributes = {
        "stroke": style.EDGES[Dependency.POSITIVE].colour,
        "marker_end": f"url(#{marker_of(Dependency.POSITIVE)})",
    }
    curves = [element("path", d=path(curve), **attributes) for curve in layout.curves]
    boxes = [_package(name, place) for name, place in zip(names, layout.boxes, strict=True)]
    body = [group(curves, fill="none", stroke_width=1.6), group(boxes)]
    summary = (
        f"{len(names)} packages · an arrow leads to what is imported · imports that other arrows imply are left out"
    )
    return _document("Packages", summary, body, layout.width, layout.height)


def _is_implied(edge: tuple[str, str], edges: Iterable[tuple[str, str]]) -> bool:
    """Whether there is another way from the one end to the other."""
    known = [one for one in edges if one != edge]
    reached, waiting = {edge[0]}, [edge[0]]
    while waiting:
        here = waiting.pop()
        new = {target for source, target in known if source == here} - reached
        reached |= new
        waiting += new
    return edge[1] in reached


def _package(name: str, place: Rectangle) -> str:
    colours = _colours(name)
    middle = {"text_anchor": "middle", "font_size": _NAME_SIZE, "font_weight": "600", "fill": colours.dark}
    frame = element("rect", width=place.width, height=place.height, rx=9, fill=colours.light, stroke=colours.line)
    words = element("text", escaped(name), x=place.width / 2, y=place.height / 2 + 5, **middle)
    return element("g", frame, words, transform=f"translate({number(place.x)} {number(place.y)})")


def _colours(package: str) -> style.Palette:
    """Return the colours of a package: those of the engines, of what reasons, of what users call, and of what lies below."""
    palettes = list(style.PALETTES.values())
    groups = (
        (palettes[2], ("engines",)),
        (palettes[6], ("reasoning", "planning", "analysis")),
        (palettes[5], ("cli", "knowledge_base", "streams", "store", "backends")),
        (palettes[1], ("sources", "results", "transactions")),
    )
    return next((colours for colours, names in groups if package.partition("/")[0] in names), palettes[0])


# -- the way of a change -------------------------------------------------------------------------------------------------


@dataclass
class Station:
    """A file on the way of a change, with the functions that ran there.

    `number` counts files in the order of their first calls; `parent` is the number of the file that called it first.
    """

    file: str
    number: int
    parent: int
    depth: int
    functions: list[str] = field(default_factory=list)


def way_of_a_deletion() -> list[Station]:
    kb = KnowledgeBase(PROGRAM)
    kb.delete("edge", [(4, 1)])  # from here on every kernel is there
    kb.insert("edge", [(4, 1)])
    return _way(lambda: kb.delete("edge", [(4, 1)]))


def way_of_a_rule() -> list[Station]:
    kb = KnowledgeBase(PROGRAM)
    kb.delete("edge", [(4, 1)])
    kb.add_rules("far(X, Y) :- reach(X, Y), not edge(X, Y).")
    return _way(lambda: kb.add_rules("back(X, Y) :- reach(Y, X), not edge(Y, X)."))


def files_on(way: Iterable[Station]) -> set[str]:
    return {station.file for station in way}


def _way(change: Callable[[], object]) -> list[Station]:
    """Return the files that a change enters, each after the one that called it first, with the functions that ran there.

    Compiled kernels are left out: not every version of Python tells a profiler about them.
    """
    stations: list[Station] = []
    at: dict[str, int] = {}
    root = f"{SOURCE}/"

    def see(frame: FrameType, event: str, _: object) -> None:
        code = frame.f_code
        if event != "call" or not code.co_filename.startswith(root) or code.co_name.startswith("<"):
            return
        if frame.f_back is None:  # a kernel
            return
        file = code.co_filename.removeprefix(root)
        if file not in at:
            parent = _caller(frame, root, at)
            at[file] = len(stations)
            stations.append(Station(file, len(stations), parent, stations[parent].depth + 1 if parent >= 0 else 0))
        functions = stations[at[file]].functions
        if code.co_qualname not in functions:
            functions.append(code.co_qualname)

    collects = gc.isenabled()
    gc.disable()  # what is collected would come in between
    before = sys.getprofile()
    sys.setprofile(see)
    try:
        change()
    finally:
        sys.setprofile(before)
        if collects:
            gc.enable()
    return list(_below(-1, stations))


def _below(number: int, stations: list[Station]) -> Iterator[Station]:
    for station in stations:
        if station.parent == number:
            yield station
            yield from _below(station.number, stations)


def _caller(frame: FrameType, root: str, at: dict[str, int]) -> int:
    """Return the file that the nearest caller of another file stands in."""
    own, above = frame.f_code.co_filename, frame.f_back
    while above is not None:
        name = above.f_code.co_filename
        if name != own and name.startswith(root) and name.removeprefix(root) in at:
            return at[name.removeprefix(root)]
        above = above.f_back
    return -1


_ROW, _INDENT, _CHIP = 25.0, 16.0, 19.0
_NUMBERS, _COLUMN_GAP = 30.0, 20.0
_SHOWN = 46  # characters of the names of functions


def picture_of_a_way(title: str, call: str, way: list[Station]) -> str:
    """Return the picture of a change: one row for each file, under the one that called it first."""
    column = max(_left(station) + _chip(station) for station in way) + _COLUMN_GAP
    texts = [_functions(station) for station in way]
    width = column + max(monospaced(text, _SMALL) for text in texts)
    row_of = {station.number: row for row, station in enumerate(way)}
    lines, rows = [], []
    for row, (station, text) in enumerate(zip(way, texts, strict=True)):
        if station.parent >= 0:
            above = row_of[station.parent]
            x = _left(way[above]) + 8
            line = (
                f"M{number(x)} {number(above * _ROW + _CHIP)}V{number(row * _ROW + _CHIP / 2)}H{number(_left(station))}"
            )
            lines.append(element("path", d=line))
        rows.append(_station(station, text, row * _ROW, column))
    functions = sum(len(station.functions) for station in way)
    deepest = max(station.depth for station in way) + 1
    summary = (
        f"{call} enters {len(way)} files, each shown below the first that calls it"
        f" · {functions} functions · {deepest} files deep"
    )
    body = [group(lines, fill="none", stroke="#cbc7bd", stroke_width=1.2), group(rows)]
    return _document(title, summary, body, width, len(way) * _ROW)


def _left(station: Station) -> float:
    return _NUMBERS + station.depth * _INDENT


def _chip(station: Station) -> float:
    return sans_serif(station.file, _SMALL) + 16


def _functions(station: Station) -> str:
    """Return the names of the functions that ran in a file, as many as there is room for."""
    names = list(dict.fromkeys(name.split(".")[-1] for name in station.functions))
    shown: list[str] = []
    while names and len(", ".join([*shown, names[0]])) <= _SHOWN:
        shown.append(names.pop(0))
    return ", ".join(shown) + (f", and {len(names)} more" if names else "")


def _station(station: Station, text: str, top: float, column: float) -> str:
    colours = _colours(package_of(module_of(SOURCE / station.file)) or "")
    left = _left(station)
    place = {"x": _NUMBERS - 10, "y": 13.5, "font_size": 10.5, "text_anchor": "end", "fill": style.MUTED}
    frame = element("rect", x=left, width=_chip(station), height=_CHIP, rx=5, fill=colours.light, stroke=colours.line)
    name = element("text", escaped(station.file), x=left + 8, y=13.5, font_size=_SMALL, fill=colours.dark)
    font = {"font_family": style.MONOSPACE, "font_size": _SMALL, "fill": style.MUTED}
    words = element("text", escaped(text), x=column, y=13.5, **font)
    order = element("text", str(station.number + 1), **place)
    return element("g", order, frame, name, words, transform=f"translate(0 {number(top)})")


# -- documents -----------------------------------------------------------------------------------------------------------


def _document(title: str, summary: str, body: list[str], width: float, height: float) -> str:
    wide = max(width, sans_serif(summary, 13.0)) + 2 * _MARGIN
    high = height + _HEADER + 2 * _MARGIN
    indent = _MARGIN + max(0.0, wide - 2 * _MARGIN - width) / 2
    heading = [
        element("text", escaped(title), x=_MARGIN, y=_MARGIN + 15, font_size=20, font_weight="700"),
        element("text", escaped(summary), x=_MARGIN, y=_MARGIN + 38, font_size=13, fill=style.MUTED),
    ]
    parts = [
        element("title", escaped(f"{title}: {summary}")),
        element("defs", *markers()),
        element("rect", width="100%", height="100%", fill=style.BACKGROUND),
        group(heading),
        group(body, transform=f"translate({number(indent)} {number(_MARGIN + _HEADER)})"),
    ]
    size = {"width": number(wide), "height": number(high), "viewBox": f"0 0 {number(wide)} {number(high)}"}
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


def write() -> Iterator[Path]:
    PICTURES.mkdir(exist_ok=True)
    for name, text in pictures().items():
        (PICTURES / name).write_text(text, encoding="utf-8")
        yield PICTURES / name


if __name__ == "__main__":
    for written in write():
        print(written)
