"""A diagnostic as text: header, place, the offending line with a caret, notes and hint."""

from __future__ import annotations

from collections.abc import Iterable
from unicodedata import combining, east_asian_width

from corollary.diagnostics.diagnostic import Diagnostic
from corollary.diagnostics.source import Span

_WINDOW = 110  # characters of a source line that are shown; a longer line is cut around the caret
_LONGEST_NOTE = 400


def render_all(diagnostics: Iterable[Diagnostic]) -> str:
    return "\n\n".join(render(diagnostic) for diagnostic in diagnostics)


def render(diagnostic: Diagnostic) -> str:
    lines = [f"{diagnostic.kind.severity.value}[{diagnostic.code}]: {diagnostic.message}"]
    gutter = " "
    if diagnostic.span is not None:
        gutter = " " * len(str(diagnostic.span.position.line))
        lines += _excerpt(diagnostic.span, gutter)
    lines += [f"{gutter} = note: {_shortened(note)}" for note in diagnostic.notes]
    if diagnostic.hint:
        lines.append(f"{gutter} = hint: {diagnostic.hint}")
    return "\n".join(lines)


def _shortened(note: str) -> str:
    return note if len(note) <= _LONGEST_NOTE else note[:_LONGEST_NOTE] + "…"


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
