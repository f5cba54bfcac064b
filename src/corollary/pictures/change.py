"""Drawing a change of rules: the program before it and after it, with a note at each hyper-node that changes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from corollary.analysis import Analysis, HyperNode
from corollary.analysis.change_plan import RuleChangePlan, listed
from corollary.pictures.dot import dot
from corollary.pictures.drawing import Form, concentrated
from corollary.pictures.mermaid import mermaid
from corollary.pictures.model import Box, GraphName, Picture, picture_of
from corollary.pictures.svg import drawing_of, svg
from corollary.pictures.text import text

_BEFORE, _AFTER = "before", "after"


def draw_change(
    before: Analysis, after: Analysis, plan: RuleChangePlan, *, graph: GraphName = "both", form: Form
) -> str:
    """Return the graph before and after a change of rules, as a text in the given format.

    SVG has the two side by side, text one after the other; DOT and Mermaid have both in one graph.
    """
    first = _noted(before, graph, _BEFORE, _notes_before(plan, graph))
    second = _noted(after, graph, _AFTER, _notes_after(plan, graph))
    is_hyper = graph != "rules"
    match form:
        case "svg":
            return svg(*(drawing_of(concentrated(one), hyper_nodes=is_hyper) for one in (first, second)))
        case "dot":
            return dot(concentrated(_together(first, second)), clusters=graph == "both")
        case "mermaid":
            return mermaid(concentrated(_together(first, second)), subgraphs=graph == "both")
        case "text":
            return text(first, hyper_nodes=is_hyper) + "\n" + text(second, hyper_nodes=is_hyper)


def _noted(analysis: Analysis, graph: GraphName, when: str, notes: Mapping[str, str]) -> Picture:
    """Return a picture with a note in each box whose first rule has one."""
    picture = picture_of(analysis, graph)
    boxes = [_with_note(box, notes.get(box.rows[0].name, "")) for box in picture.boxes]
    return replace(picture, title=f"{when}: {picture.title}", boxes=tuple(boxes))


def _with_note(box: Box, note: str) -> Box:
    return replace(box, note=" · ".join(part for part in (note, box.note) if part))


def _notes_before(plan: RuleChangePlan, graph: GraphName) -> dict[str, str]:
    """Return the notes of the boxes before the change, by the name of their first rule."""
    if graph == "rules":
        return {rule.name: "removed" for rule in plan.removed}
    notes = {_key(node): "dropped" for node in plan.dropped}
    for node, pieces in plan.split.items():
        notes[_key(node)] = f"{'splits' if len(pieces) > 1 else 'shrinks'} into {listed(pieces)}"
    known = set(plan.before.hyper_nodes)
    for node, parts in plan.merged.items():
        word = "merges" if len(parts) > 1 else "grows"
        notes |= {_key(part): f"{word} into {node}" for part in parts if part in known and _key(part) not in notes}
    return notes


def _notes_after(plan: RuleChangePlan, graph: GraphName) -> dict[str, str]:
    """Return the notes of the boxes after the change: how they came about, and their place in the execution plan."""
    if graph == "rules":
        return {rule.name: "added" for rule in plan.added}
    notes = {_key(node): "new" for node in plan.created}
    notes |= {_key(node): f"from {listed(parts)}" for node, parts in plan.merged.items()}
    notes |= {
        _key(piece): f"left of {node}"
        for node, pieces in plan.split.items()
        for piece in pieces
        if _key(piece) not in notes
    }
    for number, node in enumerate(plan.execution_plan, 1):
        notes[_key(node)] = " · ".join(
            part for part in (notes.get(_key(node)), f"plan {number}: {plan.role(node)}") if part
        )
    return notes


def _key(node: HyperNode) -> str:
    return node.rules[0]


def _together(first: Picture, second: Picture) -> Picture:
    """Return both pictures in one; each note begins with the side that its box is on."""
    boxes = [_with_note(box, when) for when, one in ((_BEFORE, first), (_AFTER, second)) for box in one.boxes]
    shift = len(first.boxes)
    moved = [replace(edge, source=edge.source + shift, target=edge.target + shift) for edge in second.edges]
    counts = tuple(f"{when} {count}" for when, one in ((_BEFORE, first), (_AFTER, second)) for count in one.counts[:1])
    title = f"{first.title}; {second.title}"
    return Picture(title, counts, first.is_stratified and second.is_stratified, tuple(boxes), (*first.edges, *moved))
