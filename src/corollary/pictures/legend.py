"""What the lines and the colours of an SVG mean."""

from __future__ import annotations

from collections.abc import Sequence

from corollary.analysis import Dependency, ModuleKind
from corollary.pictures import style
from corollary.pictures.contents import HEAD_LENGTH
from corollary.pictures.markers import marker_of
from corollary.pictures.measure import sans_serif
from corollary.pictures.xml import element, escaped, group, number

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
