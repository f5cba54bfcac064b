"""One message to the user, and the exception that carries several."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Iterable
from dataclasses import dataclass, field

from corollary.diagnostics.catalogue import DiagnosticKind, Severity
from corollary.diagnostics.source import Span


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
    from corollary.diagnostics.render import render, shown_first

    shown, others = shown_first(diagnostics)
    for text in [*map(render, shown), *([others] if others else [])]:
        frame, level = inspect.currentframe(), 1
        while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] == "corollary":
            frame, level = frame.f_back, level + 1
        warnings.warn(text, ProgramWarning, stacklevel=level)


class ProgramError(Exception):
    """The user's program (or query, or data) is wrong; nothing was changed.

    `diagnostics` holds every error found and the warnings that came with them; `str()` is the text for people.
    """

    def __init__(self, diagnostics: Iterable[Diagnostic]) -> None:
        self.diagnostics = tuple(diagnostics)
        super().__init__(self.diagnostics)

    def __str__(self) -> str:
        from corollary.diagnostics.render import render_all

        return render_all(self.diagnostics)
