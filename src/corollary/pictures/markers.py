"""The heads of the edges: a triangle, the circle of a logic gate's negation, the diamond of an aggregation."""

from __future__ import annotations

from corollary.analysis import Dependency
from corollary.pictures import style
from corollary.pictures.contents import HEAD_LENGTH
from corollary.pictures.xml import element, number


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
