"""The picture of a program for Graphviz: hyper-nodes as clusters, or every box as a node."""

from __future__ import annotations

import re
from collections.abc import Iterator

from corollary.analysis import Dependency
from corollary.pictures import style
from corollary.pictures.model import Box, Edge, Picture

_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
# Graphviz reads entities (&lt;) and escapes (\\N, \\l) in labels.
_ESCAPES = str.maketrans({"&": "&amp;", "\\": "\\\\", '"': '\\"'})
_LOOK = {
    Dependency.POSITIVE: "style=solid, arrowhead=normal",
    Dependency.NEGATIVE: "style=dashed, arrowhead=odot",
    Dependency.AGGREGATE: "style=dotted, penwidth=1.8, arrowhead=diamond",
}


def dot(picture: Picture, *, clusters: bool) -> str:
    """Return the text of a DOT file; with `clusters`, a box contains its rules and their edges."""
    lines = [
        "digraph {",
        f"  graph [label={quoted(picture.title, picture.summary)}, labelloc=t, labeljust=l, compound=true, rankdir=TB,",
        f'         fontname="Helvetica", bgcolor="{style.BACKGROUND}", nodesep=0.35, ranksep=0.55];',
        '  node [shape=box, style="rounded,filled", fontname="Courier", fontsize=11, margin="0.12,0.06"];',
        '  edge [fontname="Helvetica", fontsize=10, arrowsize=0.8];',
    ]
    if not picture.boxes:
        lines.append('  empty [shape=plaintext, style="", label="This program has no rules."];')
    for number, box in enumerate(picture.boxes):
        lines.extend(_cluster(number, box) if clusters and not box.is_junction else _node(number, box))
    for edge in picture.edges:
        lines.append(_edge(picture, edge, clusters=clusters))
    lines.extend(_legend(picture))
    return "\n".join([*lines, "}"]) + "\n"


def quoted(*lines: str) -> str:
    """Return a DOT string of these lines, left-aligned if there are several; all special characters are escaped."""
    safe = [_CONTROL.sub("\ufffd", line).translate(_ESCAPES) for line in lines]
    return '"' + (safe[0] if len(safe) == 1 else "".join(f"{line}\\l" for line in safe)) + '"'


def _cluster(number: int, box: Box) -> Iterator[str]:
    colours = style.PALETTES[style.kind_of(box.module)]
    yield f"  subgraph cluster_{number} {{"
    yield f'    label={quoted(_caption(box))}; labeljust=l; fontname="Helvetica-Bold"; fontsize=11;'
    yield f'    style="rounded,filled"; fillcolor="{colours.light}"; color="{colours.line}";'
    yield f'    fontcolor="{colours.dark}";'
    for position, row in enumerate(box.rows):
        label = quoted(f"{row.name}  {row.text}")
        yield f'    {_rule(number, position)} [label={label}, fillcolor="#ffffff", color="{colours.line}"];'
    for edge in box.inner:
        ends = f"{_rule(number, edge.source)} -> {_rule(number, edge.target)}"
        yield f"    {ends} [{_attributes(edge)}];"
    yield "  }"


def _node(number: int, box: Box) -> Iterator[str]:
    colours = style.PALETTES[style.kind_of(box.module)]
    if box.is_junction:
        yield f'  {_rule(number, 0)} [shape=point, width=0.08, color="{style.MUTED}", label=""];'
        return
    rows = [f"{row.name}  {row.text}" for row in box.rows]
    label = quoted(_caption(box), *rows)
    yield f'  {_rule(number, 0)} [label={label}, fillcolor="{colours.light}", color="{colours.line}"];'


def _edge(picture: Picture, edge: Edge, *, clusters: bool) -> str:
    """Return a line for an edge; between clusters, Graphviz needs an edge between two rules, which it cuts at the borders."""
    source, target = picture.boxes[edge.source], picture.boxes[edge.target]
    attributes = _attributes(edge)
    start, end = _rule(edge.source, len(source.rows) - 1), _rule(edge.target, 0)
    if not clusters:
        start = _rule(edge.source, 0)
    if clusters and not source.is_junction:
        attributes += f", ltail=cluster_{edge.source}"
    if clusters and not target.is_junction:
        attributes += f", lhead=cluster_{edge.target}"
    if target.is_junction:
        attributes += ", arrowhead=none"
    return f"  {start} -> {end} [{attributes}];"


def _attributes(edge: Edge) -> str:
    tooltip = quoted(f"{edge.kind.value}: {edge.reason}")
    return f'{_LOOK[edge.kind]}, color="{style.EDGES[edge.kind].colour}", tooltip={tooltip}'


def _caption(box: Box) -> str:
    note = f" · {box.note}" if box.note else ""
    return f"{box.heading} · stratum {box.stratum}{note}"


def _rule(box: int, row: int) -> str:
    return f"r{box}_{max(row, 0)}"


def _legend(picture: Picture) -> Iterator[str]:
    kinds = {edge.kind for edge in picture.edges} | {edge.kind for box in picture.boxes for edge in box.inner}
    for kind in Dependency:
        if kind in kinds:
            name = kind.value
            yield f"  legend_{name} [shape=point, width=0.04];"
            yield f'  legend_{name}_end [shape=plaintext, style="", label={quoted(name)}];'
            look = f'{_LOOK[kind]}, color="{style.EDGES[kind].colour}"'
            yield f"  legend_{name} -> legend_{name}_end [{look}, label={quoted(style.EDGES[kind].meaning)}];"
