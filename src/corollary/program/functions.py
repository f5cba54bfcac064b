"""The functions of expressions: built-ins, each declared in its chapter, and those of the host program."""

from __future__ import annotations

from corollary.program.builtins import WORDS, Builtin, find_builtin

Function = Builtin

FUNCTIONS = WORDS
"""By the plain names that may be written in capital or small letters."""


def find_function(name: str) -> Function | None:
    """The function that a name means in an expression, or None: then it is a function symbol."""
    return find_builtin(name)
