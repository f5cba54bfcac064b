"""One message to the user, and the exception that carries several."""

from __future__ import annotations

import inspect
import warnings
from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import NamedTuple
from unicodedata import combining, east_asian_width

from corollary.diagnostics.catalogue import DiagnosticKind, Severity

# -- source ------------------------------------------------------------------------------------------------------------

# Where a piece of program text comes from, and which part of it a node or a diagnostic means.


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


# -- diagnostic --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Diagnostic:
    """A catalogued error or warning, at a place, with what the user can do about it.

    `notes` are further lines of explanation (the rules of a cycle, the place of an earlier definition).
    """

    kind: DiagnosticKind
    message: str
    span: Span | None = None
    hint: str | None = None
    notes: tuple[str, ...] = field(default=())

    @property
    def code(self) -> str:
        return self.kind.code

    @property
    def is_error(self) -> bool:
        return self.kind.severity is Severity.ERROR

    def as_dict(self) -> dict[str, object]:
        """The form that `corollary check --json` prints."""
        position = self.span.position if self.span else None
        return {
            "code": self.code,
            "message": self.message,
            "line": position.line if position else None,
            "column": position.column if position else None,
            "file": self.span.source.name if self.span else None,
            "hint": self.hint,
            "notes": list(self.notes),
        }


class ProgramWarning(UserWarning):
    """Something about a rule or a query that is most likely not what was meant; the text is that of its diagnostic."""


def warn(diagnostics: Iterable[Diagnostic]) -> None:
    """Give a Python warning for each diagnostic, at the line outside of this package that called into it.

    Of too many, the last warning says how many more there are.
    """

    shown, others = shown_first(diagnostics)
    for text in [*map(render, shown), *([others] if others else [])]:
        frame, level = inspect.currentframe(), 1
        while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] == "corollary":
            frame, level = frame.f_back, level + 1
        warnings.warn(text, ProgramWarning, stacklevel=level)


class ProgramError(Exception):
    """Raised for errors in a program, a query or data; nothing has changed.

    `diagnostics` holds all errors and warnings; `str()` is the text that the command line shows.
    """

    def __init__(self, diagnostics: Iterable[Diagnostic]) -> None:
        self.diagnostics = tuple(diagnostics)
        super().__init__(self.diagnostics)

    def __str__(self) -> str:

        return render_all(self.diagnostics)


# -- render ------------------------------------------------------------------------------------------------------------

# A diagnostic as text: header, place, the offending line with a caret, notes and hint.

_WINDOW = 110  # characters of a source line that are shown; a longer line is cut around the caret
_LONGEST_NOTE, _LONGEST_LINE = 400, 2000


MOST_SHOWN = 50
"""Of so many diagnostics the text is shown; of the others it is said how many they are."""


def render_all(diagnostics: Iterable[Diagnostic]) -> str:
    shown, others = shown_first(diagnostics)
    return "\n\n".join([*map(render, shown), *([others] if others else [])])


def shown_first(diagnostics: Iterable[Diagnostic]) -> tuple[list[Diagnostic], str]:
    """Return the diagnostics to show, and a sentence about how many more there are; it is empty where there are none.

    Of too many, errors are shown before warnings.
    """
    known = list(diagnostics)
    if len(known) <= MOST_SHOWN:
        return known, ""
    order = sorted(range(len(known)), key=lambda place: (not known[place].is_error, place))
    chosen = {*order[:MOST_SHOWN]}
    left = [one for place, one in enumerate(known) if place not in chosen]
    errors = sum(one.is_error for one in left)
    counts = [(errors, "error"), (len(left) - errors, "warning")]
    said = " and ".join(f"{count:,} more {word}{'' if count == 1 else 's'}" for count, word in counts if count)
    return [one for place, one in enumerate(known) if place in chosen], f"… and {said}"


def render(diagnostic: Diagnostic) -> str:
    lines = [f"{diagnostic.kind.severity.value}[{diagnostic.code}]: {_shortened(diagnostic.message, _LONGEST_LINE)}"]
    gutter = " "
    if diagnostic.span is not None:
        gutter = " " * len(str(diagnostic.span.position.line))
        lines += _excerpt(diagnostic.span, gutter)
    lines += [f"{gutter} = note: {_shortened(note, _LONGEST_NOTE)}" for note in diagnostic.notes]
    if diagnostic.hint:
        lines.append(f"{gutter} = hint: {_shortened(diagnostic.hint, _LONGEST_LINE)}")
    # A text that cannot be encoded cannot be printed either: half of a pair of surrogates is shown as its number.
    return "\n".join(lines).encode(errors="backslashreplace").decode()


def _shortened(text: str, longest: int) -> str:
    return text if len(text) <= longest else text[:longest] + "…"


def _excerpt(span: Span, gutter: str) -> list[str]:
    line, column = span.position
    shown, caret_at, width = _cut(span.source.line_text(line), column - 1, span.end - span.start)
    return [
        f"{gutter}--> {span.source.name}:{line}:{column}",
        f"{gutter} |",
        f"{line} | {shown}",
        f"{gutter} | {' ' * caret_at}{'^' * width}",
    ]


def _cut(text: str, start: int, length: int) -> tuple[str, int, int]:
    """The part of a line to show, where the caret goes in it, and how wide the caret is."""
    low = 0
    if len(text) > _WINDOW:
        low = max(0, min(start - _WINDOW // 3, len(text) - _WINDOW))
    shown = text[low : low + _WINDOW]
    before, after = ("…" if low else ""), ("…" if low + _WINDOW < len(text) else "")
    printable = "".join(c if c.isprintable() else " " if c == "\t" else "\ufffd" for c in shown)
    caret_at, caret_end = start - low, min(start - low + length, len(shown))
    width = max(1, _columns(printable[caret_at:caret_end]))
    return before + printable + after, len(before) + _columns(printable[:caret_at]), width


def _columns(text: str) -> int:
    """How many columns of a terminal the text takes: East Asian characters take two, combining marks none."""
    return sum(0 if combining(c) else 2 if east_asian_width(c) in "WF" else 1 for c in text)
