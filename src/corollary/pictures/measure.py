"""How much room a text takes, without knowing the font of the viewer."""

from __future__ import annotations

import unicodedata

# Of the usual monospaced fonts the widest (DejaVu Sans Mono, Menlo) take 0.602 of their size for a character.
_MONOSPACE = 0.605
# Bold sans-serif text of names and counts; wide letters are rare enough.
_SANS_SERIF = 0.6


def cells(text: str) -> int:
    """The width of a text in a monospaced font: two for an East Asian character or emoji, none for a combining mark."""
    return len(text) if text.isascii() else sum(map(_cells_of, text))


def shortened(text: str, room: int) -> str:
    """The text, or as much of its beginning as fits with `…` into that many cells."""
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
