"""The picture of a Yield index as SVG, like the figures of paper 003.

For each link between two atoms, the facts of one atom are on the left and those of the other on the right. Between them
is an entry for each key, with its two semantic entries: T if it fires in the direction of its arrow, F if it does not.
Facts that match everywhere else have a solid line to their entry, dummies a dotted one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from corollary.analysis.yield_entries import YieldEntries, YieldLink
from corollary.pictures import style
from corollary.pictures.layout import Size
from corollary.pictures.style import monospaced, sans_serif, shortened
from corollary.pictures.svg import document, element, escaped, group, number

_LIMIT = 20
_MARGIN, _GAP, _COLUMN_GAP = 28.0, 30.0, 64.0
_LINE, _CHIP, _CHIP_GAP, _ROW_GAP = 16.0, 22.0, 4.0, 10.0
_SIZE, _TITLE, _HEADING = 12.0, 18.0, 13.0
_MAX_TEXT, _MAX_LINE = 44, 110
_MATCH, _DUMMY = "#0f5c50", "#b26a00"
_MATCH_FILL, _DUMMY_FILL = "#d9f3ee", "#fdf0d5"


@dataclass
class _KeyRow:
    """An entry of a data index: the facts of both atoms with this key, each with whether it is a dummy."""

    text: str
    forth: bool | None = None  # whether the entry that points to the right fires; None if there is none
    back: bool | None = None
    left: dict[str, bool] = field(default_factory=dict)
    right: dict[str, bool] = field(default_factory=dict)

    @property
    def height(self) -> float:
        return max(1, len(self.left), len(self.right)) * (_CHIP + _CHIP_GAP) - _CHIP_GAP


def draw_yield_index(*indexes: YieldEntries, limit: int | None = _LIMIT) -> str:
    """Return an SVG with the Yield indexes of these rules, one below the other; of each link at most `limit` keys."""
    parts: list[str] = []
    y, width = _MARGIN, 0.0
    for index in indexes:
        drawn, size = _index(index, limit)
        parts.append(group(drawn, transform=f"translate({number(_MARGIN)} {number(y)})"))
        y += size.height + _GAP
        width = max(width, size.width)
    names = ", ".join(index.rule for index in indexes)
    frame = [
        element("title", escaped(f"The Yield index of {names}")),
        element("desc", escaped("; ".join(f"{index.rule}: {index.summary}" for index in indexes))),
        element("rect", width="100%", height="100%", fill=style.BACKGROUND),
    ]
    return document([*frame, *parts], Size(width + 2 * _MARGIN, y - _GAP + _MARGIN))


def _index(index: YieldEntries, limit: int | None) -> tuple[list[str], Size]:
    title = shortened(f"{index.rule}: {index.text}", _MAX_LINE)
    elements = shortened("MCE: " + (", ".join(f"{one} ({one.type})" for one in index.mce) or "none"), _MAX_LINE)
    filtered = ", ".join(f"{len(one.filtered)} of {one.name}" for one in index.atoms if one.filtered)
    lines = [elements, *([f"filtered out: {filtered}"] if filtered else []), index.summary]
    parts = [_text(title, 0, _TITLE * 0.8, _SIZE + 2, bold=True, mono=True)]
    parts += [_text(line, 0, 24 + _LINE * (at + 1), _SIZE, colour=style.MUTED) for at, line in enumerate(lines)]
    y = 24 + _LINE * (len(lines) + 1)
    width = max(monospaced(title, _SIZE + 2), *(sans_serif(line, _SIZE) for line in lines))
    for link in index.links:
        drawn, size = _link(link, limit)
        parts.append(group(drawn, transform=f"translate(0 {number(y)})", class_="link"))
        y += size.height + _GAP
        width = max(width, size.width)
    parts.append(_legend(y))
    return parts, Size(width, y + _LINE)


def _keys(link: YieldLink) -> list[_KeyRow]:
    """Return the entries of the data index where a link meets, in the order of the semantic entries."""
    found: dict[tuple[str, ...], _KeyRow] = {}
    waiting = {fact for entry in link.entries for fact in entry.dummies}
    for entry in link.entries:
        key = found.setdefault(entry.key, _KeyRow(shortened(", ".join(entry.key) or "all", _MAX_TEXT)))
        is_forth = entry.root == link.one
        facts = key.left if is_forth else key.right
        facts |= {fact: fact in waiting or not entry.fire for fact in entry.facts}
        if is_forth:
            key.forth = entry.fire
        else:
            key.back = entry.fire
    return list(found.values())


def _link(link: YieldLink, limit: int | None) -> tuple[list[str], Size]:
    keys = _keys(link)
    shown = keys[:limit]
    heading = f"{link.condition} ({link.type}), data index on {link.data_index}"
    left = _width([fact for key in shown for fact in key.left], link.one)
    middle = max((monospaced(key.text, _SIZE) for key in shown), default=40.0) + 76
    right = _width([fact for key in shown for fact in key.right], link.other)
    at_key, at_right = left + _COLUMN_GAP, left + middle + 2 * _COLUMN_GAP
    parts = [_text(heading, 0, _HEADING, _HEADING, bold=True)]
    y = _HEADING + _LINE
    for words, x in ((link.one, 0.0), ("key", at_key), (link.other, at_right)):
        parts.append(_text(words, x, y + _SIZE, _SIZE, colour=style.MUTED))
    y += _LINE + 4
    for key in shown:
        parts += _drawn_key(key, y, left, at_key, middle, at_right, right)
        y += key.height + _ROW_GAP
    if len(keys) > len(shown):
        parts.append(_text(f"… and {len(keys) - len(shown):,} more keys", at_key, y + _SIZE, _SIZE, colour=style.MUTED))
        y += _LINE
    return parts, Size(max(at_right + right, sans_serif(heading, _HEADING)), y)


def _width(facts: Sequence[str], name: str) -> float:
    return max([sans_serif(name, _SIZE), *(monospaced(shortened(fact, _MAX_TEXT), _SIZE) + 16 for fact in facts)])


def _drawn_key(
    key: _KeyRow, y: float, left: float, at_key: float, middle: float, at_right: float, right: float
) -> Iterator[str]:
    centre = y + key.height / 2
    yield from _facts(key.left, y, 0.0, left, (left, at_key), centre)
    yield from _facts(key.right, y, at_right, right, (at_right, at_key + middle), centre)
    top = centre - _CHIP / 2
    frame = element(
        "rect", x=at_key, y=top, width=middle, height=_CHIP, rx=4, fill="#ffffff", stroke=style.MUTED, stroke_width=1.2
    )
    words = [frame, _text(key.text, at_key + 38, top + 15, _SIZE, mono=True)]
    for fires, x, arrow in ((key.back, at_key + 6, "◂{}"), (key.forth, at_key + middle - 30, "{}▸")):
        if fires is not None:
            colour = _MATCH if fires else _DUMMY
            words.append(_text(arrow.format("T" if fires else "F"), x, top + 15, _SIZE, bold=True, colour=colour))
    yield element("g", *words, class_="key", data_key=key.text)


def _facts(
    facts: dict[str, bool], y: float, x: float, width: float, ends: tuple[float, float], centre: float
) -> Iterator[str]:
    y += max(0.0, centre - y - (len(facts) * (_CHIP + _CHIP_GAP) - _CHIP_GAP) / 2)
    for fact, is_dummy in facts.items():
        middle = y + _CHIP / 2
        colour, fill = (_DUMMY, _DUMMY_FILL) if is_dummy else (_MATCH, _MATCH_FILL)
        dashes = {"stroke_dasharray": "2 4"} if is_dummy else {}
        bend = (ends[0] + ends[1]) / 2
        curve = " ".join(map(number, (bend, middle, bend, centre, ends[1], centre)))
        yield element(
            "path",
            d=f"M{number(ends[0])} {number(middle)}C{curve}",
            fill="none",
            stroke=colour,
            stroke_width=1.4,
            **dashes,
        )
        chip = element("rect", x=x, y=y, width=width, height=_CHIP, rx=4, fill=fill, stroke=colour, stroke_width=0.8)
        words = _text(shortened(fact, _MAX_TEXT), x + 8, y + 15, _SIZE, mono=True)
        kind = "dummy" if is_dummy else "match"
        yield element("g", element("title", escaped(f"{kind}: {fact}")), chip, words, class_=kind, data_fact=fact)
        y += _CHIP + _CHIP_GAP


def _legend(y: float) -> str:
    items: tuple[tuple[str, dict[str, str], str], ...] = (
        (_MATCH, {}, "match"),
        (_DUMMY, {"stroke_dasharray": "2 4"}, "dummy: waits for a partner"),
    )
    parts: list[str] = []
    x = 0.0
    for colour, dashes, words in items:
        line = element("path", d=f"M{number(x)} 0h34", stroke=colour, stroke_width=1.4, **dashes)
        parts += [line, _text(words, x + 42, 4, _SIZE, colour=style.MUTED)]
        x += 42 + sans_serif(words, _SIZE) + 20
    parts.append(_text("T ▸ fires towards the right, F ▸ does not", x, 4, _SIZE, colour=style.MUTED))
    return group(parts, transform=f"translate(0 {number(y)})")


def _text(
    words: str, x: float, y: float, size: float, *, colour: str = style.INK, bold: bool = False, mono: bool = False
) -> str:
    font = {"font_family": style.MONOSPACE} if mono else {}
    weight = {"font_weight": "700"} if bold else {}
    return element("text", escaped(words), x=x, y=y, font_size=size, fill=colour, **font, **weight)
