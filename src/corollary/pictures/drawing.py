"""Drawing a program: two graphs, four formats."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal, TypeAlias

from corollary.analysis import Analysis, Dependency
from corollary.pictures.dot import dot
from corollary.pictures.mermaid import mermaid
from corollary.pictures.model import Box, Edge, GraphName, Picture, picture_of
from corollary.pictures.svg import drawing_of, svg
from corollary.pictures.text import text

# -- concentration -----------------------------------------------------------------------------------------------------

# Fewer lines for the same edges: if many boxes feed the same boxes, all of their edges meet in one junction.
#
# Thirty rules that derive a predicate and forty that use it have 1,200 edges; through a junction they have 70 lines. A
# line into a junction and a line out of it stand for exactly the edge between their ends.

# Up to this many, direct edges are easier to follow.
MANY_EDGES = 250
# With more edges than this left, none is drawn.
MAX_EDGES = 3000


def concentrated(picture: Picture) -> Picture:
    """Return a picture with few edges unchanged; otherwise with junctions, and without any edge if that does not help."""
    if len(picture.edges) <= MANY_EDGES:
        return picture
    boxes, edges = _with_junctions(picture)
    if len(edges) > MAX_EDGES:
        note = f"{len(picture.edges)} edges are not drawn"
        return replace(picture, edges=(), counts=(*picture.counts, note))
    return replace(picture, boxes=tuple(boxes), edges=tuple(edges))


def _with_junctions(picture: Picture) -> tuple[list[Box], list[Edge]]:
    boxes, edges = list(picture.boxes), []
    for (kind, targets), bundle in _bundles(picture.edges).items():
        sources = sorted({edge.source for edge in bundle})
        if len(bundle) <= len(sources) + len(targets):
            edges.extend(bundle)
            continue
        junction = len(boxes)
        first, last = picture.boxes[sources[0]], max(picture.boxes[s].stratum for s in sources)
        boxes.append(Box(f"junction {junction}", (), first.module, last))
        reason = f"{len(sources)} boxes feed {len(targets)}"
        edges.extend(Edge(source, junction, kind, reason) for source in sources)
        edges.extend(Edge(junction, target, kind, reason) for target in targets)
    return boxes, edges


def _bundles(edges: tuple[Edge, ...]) -> dict[tuple[Dependency, tuple[int, ...]], list[Edge]]:
    """Return the edges by kind and by all the targets that their source feeds in this way."""
    by_source: dict[tuple[Dependency, int], list[Edge]] = {}
    for edge in edges:
        by_source.setdefault((edge.kind, edge.source), []).append(edge)
    bundles: dict[tuple[Dependency, tuple[int, ...]], list[Edge]] = {}
    for (kind, _), out in by_source.items():
        targets = tuple(sorted({edge.target for edge in out}))
        bundles.setdefault((kind, targets), []).extend(out)
    return bundles


# -- drawing -----------------------------------------------------------------------------------------------------------

Form: TypeAlias = Literal["svg", "dot", "mermaid", "text"]


def draw(analysis: Analysis, *, graph: GraphName = "both", form: Form) -> str:
    """Return the rule graph, the hyper-node graph, or both in one picture, as a text in the given format.

    The same program always gives the same text. A program with errors has a picture of what could be read.

    >>> from corollary.analysis import analyse
    >>> from corollary.language import parse_program
    >>> reach = analyse(parse_program("r1: reach(X, Z) :- reach(X, Y), edge(Y, Z)."))
    >>> print(draw(reach, form="text"))
    program · 1 rule · 1 hyper-node · 1 stratum
    <BLANKLINE>
    stratum 0
    <BLANKLINE>
      {r1}  left-linear
        r1: reach(X, Z) :- reach(X, Y), edge(Y, Z).
          ──▶ r1
    <BLANKLINE>
    ──▶ used by   ╌╌○ negated by   ══◆ aggregated by
    <BLANKLINE>
    """
    picture = picture_of(analysis, graph)
    match form:
        case "svg":
            return svg(drawing_of(concentrated(picture), hyper_nodes=graph != "rules"))
        case "dot":
            return dot(concentrated(picture), clusters=graph == "both")
        case "mermaid":
            return mermaid(concentrated(picture), subgraphs=graph == "both")
        case "text":
            return text(picture, hyper_nodes=graph != "rules")
