"""The picture of a program for a terminal: its boxes in topological order, each with what it needs and feeds."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from corollary.analysis import Dependency
from corollary.pictures.model import Box, Edge, Picture
from corollary.pictures.style import EDGES

ARROWS = {Dependency.POSITIVE: "──▶", Dependency.NEGATIVE: "╌╌○", Dependency.AGGREGATE: "══◆"}
_SHOWN = 12


def text(picture: Picture, *, hyper_nodes: bool) -> str:
    """Return a listing by stratum; `hyper_nodes` tells whether a box is a hyper-node or a rule."""
    lines = [" · ".join([picture.title, *picture.counts])]
    if not picture.boxes:
        lines += ["", "This program has no rules."]
        return "\n".join(lines) + "\n"
    needs, feeds = _by_box(picture, incoming=True), _by_box(picture, incoming=False)
    # The topological order may return to a stratum, but each is listed once.
    for stratum in sorted({box.stratum for box in picture.boxes}):
        lines += ["", f"stratum {stratum}"]
        for number, box in enumerate(picture.boxes):
            if box.stratum == stratum:
                lines += ["", *_box(box, hyper_nodes=hyper_nodes)]
                lines += _edges(picture, needs.get(number, ()), incoming=True)
                lines += _edges(picture, feeds.get(number, ()), incoming=False)
    return "\n".join([*lines, "", _legend()]) + "\n"


def _box(box: Box, *, hyper_nodes: bool) -> Iterator[str]:
    if not hyper_nodes:
        yield f"  {box.rows[0].name}: {_printable(box.rows[0].text)}"
        if box.note:
            yield f"    {box.note}"
        return
    yield f"  {box.name}  {box.heading}"
    for position, row in enumerate(box.rows):
        yield f"    {row.name}: {_printable(row.text)}"
        for kind, ends in _by_kind(edge for edge in box.inner if edge.source == position):
            yield f"      {ARROWS[kind]} {_listed([box.rows[edge.target].name for edge in ends])}"
    if box.note:
        yield f"    {box.note}"


def _edges(picture: Picture, edges: Sequence[Edge], *, incoming: bool) -> Iterator[str]:
    """Yield a line for each kind of edge, with the arrow in the direction of the data: `needs r1 ──▶`, `feeds ──▶ r3`."""
    word = "needs" if incoming else "feeds"
    for kind, same in _by_kind(edges):
        names = _listed([picture.boxes[edge.source if incoming else edge.target].name for edge in same])
        yield f"    {word} {names} {ARROWS[kind]}" if incoming else f"    {word} {ARROWS[kind]} {names}"


def _by_box(picture: Picture, *, incoming: bool) -> dict[int, list[Edge]]:
    found: dict[int, list[Edge]] = {}
    for edge in picture.edges:
        found.setdefault(edge.target if incoming else edge.source, []).append(edge)
    return found


def _by_kind(edges: Iterable[Edge]) -> Iterator[tuple[Dependency, list[Edge]]]:
    kept = list(edges)
    for kind in Dependency:
        if same := [edge for edge in kept if edge.kind is kind]:
            yield kind, same


def _listed(names: Sequence[str]) -> str:
    more = f", … {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + more


def _printable(rule: str) -> str:
    """Return the rule without characters that would move the cursor of a terminal."""
    return "".join(character if character.isprintable() else "\ufffd" for character in rule)


def _legend() -> str:
    return "   ".join(f"{ARROWS[kind]} {EDGES[kind].meaning}" for kind in Dependency)
