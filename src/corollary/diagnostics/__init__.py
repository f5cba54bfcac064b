"""Messages to users: numbered diagnostics with position, line, caret and hint."""

from corollary.diagnostics.catalogue import CATALOGUE, DiagnosticKind, Severity
from corollary.diagnostics.diagnostic import Diagnostic, ProgramError, ProgramWarning, warn
from corollary.diagnostics.render import MOST_SHOWN, render, render_all, shown_first
from corollary.diagnostics.source import Source, Span
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
