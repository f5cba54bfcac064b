"""Where a piece of program text comes from, and which part of it a node or a diagnostic means."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import NamedTuple


class Position(NamedTuple):
    """A place in a text as people count it: lines and columns from 1, columns in characters."""

    line: int
    column: int


@dataclass(frozen=True, eq=False)
class Source:
    """A program text with the name under which it is shown (a path, `<text>`, `<query>`)."""

    text: str = field(repr=False)
    name: str = "<text>"

    @cached_property
    def _line_starts(self) -> list[int]:
        starts = [0]
        find, at = self.text.find, 0
        while (at := find("\n", at) + 1) > 0:
            starts.append(at)
        return starts

    def position(self, offset: int) -> Position:
        line = bisect_right(self._line_starts, offset)
        return Position(line, offset - self._line_starts[line - 1] + 1)

    def line_text(self, line: int) -> str:
        start = self._line_starts[line - 1]
        end = self.text.find("\n", start)
        return self.text[start : len(self.text) if end < 0 else end].rstrip("\r")

    def span(self, start: int, end: int) -> Span:
        return Span(self, start, max(start, end))


@dataclass(frozen=True, slots=True, eq=False)
class Span:
    """The characters from `start` up to `end` (exclusive) of a source."""

    source: Source
    start: int
    end: int

    @property
    def position(self) -> Position:
        return self.source.position(self.start)

    @property
    def text(self) -> str:
        return self.source.text[self.start : self.end]

    def to(self, other: Span) -> Span:
        """The span from the start of this one to the end of `other`."""
        return Span(self.source, self.start, max(self.end, other.end))

    def __repr__(self) -> str:
        line, column = self.position
        return f"{Path(self.source.name).name}:{line}:{column}"
