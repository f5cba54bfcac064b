"""What people read when something is wrong: numbered diagnostics with position, line, caret and hint."""

from corollary.diagnostics.catalogue import CATALOGUE, Kind, Severity
from corollary.diagnostics.diagnostic import Diagnostic, ProgramError
from corollary.diagnostics.render import render, render_all
from corollary.diagnostics.source import Source, Span
from corollary.diagnostics.suggest import did_you_mean

__all__ = [
    "CATALOGUE",
    "Diagnostic",
    "Kind",
    "ProgramError",
    "Severity",
    "Source",
    "Span",
    "did_you_mean",
    "render",
    "render_all",
]
