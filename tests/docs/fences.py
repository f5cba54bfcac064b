"""The fenced blocks of a Markdown file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path


@dataclass(frozen=True)
class Block:
    """Lines `first` up to `last` (exclusive, counted from 0) of a document, between two fences."""

    language: str
    options: tuple[str, ...]
    text: str
    first: int
    last: int

    @property
    def title(self) -> str | None:
        return next((option.removeprefix("title=") for option in self.options if option.startswith("title=")), None)

    def is_directly_before(self, other: Block) -> bool:
        """With nothing but one empty line between the two."""
        return other.first - self.last <= 3


def blocks_of(document: Path) -> list[Block]:
    return list(_blocks(document.read_text(encoding="utf-8").split("\n")))


def rewrite(document: Path, shown: Mapping[Block, str]) -> None:
    """Put these texts into a document, in place of those of its blocks."""
    lines = document.read_text(encoding="utf-8").split("\n")
    for block in sorted(shown, key=lambda block: block.first, reverse=True):
        lines[block.first : block.last] = shown[block].split("\n")
    document.write_text("\n".join(lines), encoding="utf-8")


def _blocks(lines: list[str]) -> Iterator[Block]:
    fences = [number for number, line in enumerate(lines) if line.startswith("```")]
    assert len(fences) % 2 == 0, "a fence is not closed"
    for opening, closing in list(pairwise(fences))[::2]:
        language, *options = lines[opening].removeprefix("```").split() or [""]
        yield Block(language, tuple(options), "\n".join(lines[opening + 1 : closing]), opening + 1, closing)
