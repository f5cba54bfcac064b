"""The look of the pictures: colours by kind of module, and how each kind of edge is drawn."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass

from corollary.analysis import Dependency, ModuleKind

# -- measure -----------------------------------------------------------------------------------------------------------

# The width of a text, without knowing the viewer's font.

# Among the usual monospaced fonts, the widest (DejaVu Sans Mono, Menlo) take 0.602 of their size for a character.
_MONOSPACE = 0.605
# Bold sans-serif text of names and counts; wide letters are rare enough.
_SANS_SERIF = 0.6


def cells(text: str) -> int:
    """Return the width of a text in a monospaced font: two for an East Asian character or emoji, none for a combining mark."""
    return len(text) if text.isascii() else sum(map(_cells_of, text))


def shortened(text: str, room: int) -> str:
    """Return the text, or as much of its beginning as fits into this many cells, with `…`."""
    if cells(text) <= room:
        return text
    kept, used = [], 1
    for character in text:
        used += _cells_of(character)
        if used > room:
            break
        kept.append(character)
    return "".join(kept).rstrip() + "…"


def monospaced(text: str, size: float) -> float:
    return cells(text) * size * _MONOSPACE


def sans_serif(text: str, size: float) -> float:
    return cells(text) * size * _SANS_SERIF


def _cells_of(character: str) -> int:
    if unicodedata.combining(character) or unicodedata.category(character) in ("Cf", "Mn", "Me"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


# -- style -------------------------------------------------------------------------------------------------------------

BACKGROUND = "#fdfcfa"
BAND = "#f3f1ec"
INK = "#1f2933"
MUTED = "#616e7c"
WARNING = "#b3261e"
MONOSPACE = "ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', 'Liberation Mono', monospace"
SANS_SERIF = "system-ui, -apple-system, 'Segoe UI', Roboto, 'DejaVu Sans', 'Liberation Sans', Arial, sans-serif"


@dataclass(frozen=True)
class Palette:
    """The colours of a kind of module: of the heading and the chips, of the border, and of text on each."""

    light: str
    line: str
    dark: str


@dataclass(frozen=True)
class EdgeStyle:
    """The look of an edge, with shorter dashes inside a box, and its meaning in the legend."""

    colour: str
    dashes: str
    fine_dashes: str
    meaning: str


PALETTES = {
    ModuleKind.NONRECURSIVE: Palette("#e9eef5", "#9fb3c8", "#334e68"),
    ModuleKind.AGGREGATE: Palette("#fdf0d5", "#e0b354", "#7a4d05"),
    ModuleKind.TRANSITIVE: Palette("#d9f3ee", "#5fbfae", "#0f5c50"),
    ModuleKind.SYMMETRIC_TRANSITIVE: Palette("#e2f3da", "#85c26b", "#2c5f17"),
    ModuleKind.LEFT_LINEAR: Palette("#dbf0fb", "#64b5dd", "#0b5479"),
    ModuleKind.RIGHT_LINEAR: Palette("#e0e9ff", "#8aa6ee", "#2a469c"),
    ModuleKind.RECURSIVE: Palette("#efe5fb", "#b494e0", "#583091"),
}

EDGES = {
    Dependency.POSITIVE: EdgeStyle("#52606d", "", "", "used by"),
    Dependency.NEGATIVE: EdgeStyle("#c8323f", "7 4", "3.5 2.5", "negated by"),
    Dependency.AGGREGATE: EdgeStyle("#b26a00", "2 3.5", "0.5 3.5", "aggregated by"),
}


def kind_of(module: str) -> ModuleKind:
    """Return the kind of a module by its name; of several modules in one hyper-node the first."""
    return ModuleKind(module.partition("+")[0].removesuffix("-guarded"))
