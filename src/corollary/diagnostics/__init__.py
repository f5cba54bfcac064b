"""Messages to users: numbered diagnostics with position, line, caret and hint."""

from corollary.diagnostics.catalogue import CATALOGUE, DiagnosticKind, Severity
from corollary.diagnostics.diagnostic import (
    MOST_SHOWN,
    Diagnostic,
    ProgramError,
    ProgramWarning,
    Source,
    Span,
    render,
    render_all,
    shown_first,
    warn,
)
from corollary.diagnostics.suggest import KnownNames, did_you_mean

__all__ = [
    "CATALOGUE",
    "MOST_SHOWN",
    "Diagnostic",
    "DiagnosticKind",
    "KnownNames",
    "ProgramError",
    "ProgramWarning",
    "Severity",
    "Source",
    "Span",
    "did_you_mean",
    "render",
    "render_all",
    "shown_first",
    "warn",
]
