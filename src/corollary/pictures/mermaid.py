"""The picture of a program for Mermaid: a flowchart with a subgraph for each hyper-node."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from corollary.analysis import Dependency, ModuleKind
from corollary.pictures import style
from corollary.pictures.model import Box, Picture

# Mermaid reads labels as HTML and as Markdown, and has entities of its own (#35;): all but harmless characters become
# such entities.
_SPECIAL = re.compile(r"[^\w .,:;()=+/!?|\-…·×→∧¬]|_")
_CONTROL = re.compile("[\x00-\x1f\x7f\ud800-\udfff]")
_ARROWS = {Dependency.POSITIVE: "-->", Dependency.NEGATIVE: "-.-o|not|", Dependency.AGGREGATE: "==>|aggregate|"}
_LINES = {Dependency.POSITIVE: "---", Dependency.NEGATIVE: "-.-|not|", Dependency.AGGREGATE: "===|aggregate|"}


def mermaid(picture: Picture, *, subgraphs: bool) -> str:
    """Return the text of a Mermaid file; with `subgraphs`, a box contains its rules and their edges."""
    title = ": ".join(part for part in (picture.title, picture.summary) if part)
    lines = ["---", f"title: {_yaml(title)}", "---", "flowchart TD"]
    if not picture.boxes:
        lines.append('  empty["This program has no rules."]')
    links: list[tuple[str, str, Dependency, bool]] = []
    for number, box in enumerate(picture.boxes):
        whole = not subgraphs or box.is_junction
        lines.extend(_node(number, box) if whole else _subgraph(number, box))
        for edge in box.inner if not whole else ():
            links.append((_rule(number, edge.source), _rule(number, edge.target), edge.kind, True))
    for edge in picture.edges:
        head = not picture.boxes[edge.target].is_junction
        links.append((f"h{edge.source}", f"h{edge.target}", edge.kind, head))
    lines.extend(_link(*link) for link in links)
    lines.extend(_styles(picture, [kind for _, _, kind, _ in links]))
    return "\n".join(lines) + "\n"


def label(*lines: str) -> str:
    """Return a quoted Mermaid label of these lines; all special characters are escaped."""
    return '"' + "<br/>".join(_SPECIAL.sub(_entity, _CONTROL.sub("\ufffd", line)) for line in lines) + '"'


def _yaml(title: str) -> str:
    """Return the title as a YAML string, for which JSON is valid."""
    return json.dumps(_CONTROL.sub("\ufffd", title), ensure_ascii=False)


def _entity(found: re.Match[str]) -> str:
    return f"#{ord(found[0])};"


def _subgraph(number: int, box: Box) -> Iterator[str]:
    yield f"  subgraph h{number}[{label(_caption(box))}]"
    for position, row in enumerate(box.rows):
        yield f"    {_rule(number, position)}[{label(f'{row.name}: {row.text}')}]"
    yield "  end"


def _node(number: int, box: Box) -> Iterator[str]:
    if box.is_junction:
        yield f'  h{number}((" "))'
    else:
        yield f"  h{number}[{label(_caption(box), *(f'{row.name}: {row.text}' for row in box.rows))}]"


def _link(source: str, target: str, kind: Dependency, head: bool) -> str:
    return f"  {source} {(_ARROWS if head else _LINES)[kind]} {target}"


def _styles(picture: Picture, kinds: list[Dependency]) -> Iterator[str]:
    modules = {number: style.kind_of(box.module) for number, box in enumerate(picture.boxes)}
    for kind in ModuleKind:
        members = [f"h{number}" for number, module in modules.items() if module is kind]
        if members:
            colours, name = style.PALETTES[kind], kind.value.replace("-", "_")
            yield f"  classDef {name} fill:{colours.light},stroke:{colours.line},color:{colours.dark}"
            yield f"  class {','.join(members)} {name}"
    for dependency in Dependency:
        numbers = [str(number) for number, kind in enumerate(kinds) if kind is dependency]
        if numbers:
            yield f"  linkStyle {','.join(numbers)} stroke:{style.EDGES[dependency].colour}"


def _caption(box: Box) -> str:
    note = f" · {box.note}" if box.note else ""
    return f"{box.heading} · stratum {box.stratum}{note}"


def _rule(box: int, row: int) -> str:
    return f"r{box}_{row}"
