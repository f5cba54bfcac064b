"""The little XML that the SVG needs: escaped text, attributes and numbers without noise."""

from __future__ import annotations

import re
from collections.abc import Iterable

from corollary.pictures.layout import Curve

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
