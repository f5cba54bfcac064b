"""Corollary: a Datalog reasoner whose conclusions stay true while facts and rules change."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from corollary.diagnostics import Diagnostic, ProgramError, ProgramWarning
    from corollary.knowledge_base import KnowledgeBase
    from corollary.program import Iri, Literal
    from corollary.program.host_functions import function
    from corollary.results import Result
    from corollary.settings import Limits, Settings
    from corollary.transactions import Change

__version__ = "0.1.0"

__all__ = [
    "Change",
    "Diagnostic",
    "Iri",
    "KnowledgeBase",
    "Limits",
    "Literal",
    "ProgramError",
    "ProgramWarning",
    "Result",
    "Settings",
    "__version__",
    "function",
]

# Imported on first use: `import corollary` is instant, and nothing is loaded that is not needed.
_HOMES = {
    "Change": "corollary.transactions",
    "Diagnostic": "corollary.diagnostics",
    "Iri": "corollary.program",
    "KnowledgeBase": "corollary.knowledge_base",
    "Limits": "corollary.settings",
    "Literal": "corollary.program",
    "ProgramError": "corollary.diagnostics",
    "ProgramWarning": "corollary.diagnostics",
    "Result": "corollary.results",
    "Settings": "corollary.settings",
    "function": "corollary.program.host_functions",
}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'corollary' has no attribute '{name}'")
