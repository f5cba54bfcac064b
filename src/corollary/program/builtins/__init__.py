"""The built-ins, each declared once, in the file of its chapter."""

from corollary.program.builtins import calendar, lists, logic, numeric, parts, plain_literals, strings, types
from corollary.program.builtins.declaration import Builtin
from corollary.program.builtins.registry import (
    BUILTINS,
    WORDS,
    chapters,
    find_builtin,
    find_condition,
    is_condition,
    meant_condition,
    similar_names,
    spellings,
)

__all__ = [
    "BUILTINS",
    "WORDS",
    "Builtin",
    "calendar",
    "chapters",
    "find_builtin",
    "find_condition",
    "is_condition",
    "lists",
    "logic",
    "meant_condition",
    "numeric",
    "parts",
    "plain_literals",
    "similar_names",
    "spellings",
    "strings",
    "types",
]
