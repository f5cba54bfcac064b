"""A diagnostic as text: header, place, the offending line with a caret, notes and hint."""

from __future__ import annotations

from collections.abc import Iterable
from unicodedata import combining, east_asian_width

from corollary.diagnostics.diagnostic import Diagnostic
from corollary.diagnostics.source import Span

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
