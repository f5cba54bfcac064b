"""What the commands share: exit codes, diagnostics on the terminal, reading programs."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from enum import IntEnum
from pathlib import Path

from rich.console import Console
from rich.text import Text

from corollary.diagnostics import Diagnostic, Source, render
from corollary.language import decode_source, read_source


class ExitCode(IntEnum):
    """The exit codes of every command; they are part of the interface."""

    FINE = 0
    PROGRAM = 1
    USAGE = 2
    DATA = 3
    LIMIT = 4
    INTERNAL = 70
    INTERRUPTED = 130


def read_sources(paths: Sequence[Path]) -> list[Source]:
    """The texts of these files; `-` is the standard input. Raises `ProgramError` for one that cannot be read."""
    return [
        decode_source(sys.stdin.buffer.read(), "<stdin>") if str(path) == "-" else read_source(path) for path in paths
    ]


def print_diagnostics(diagnostics: Iterable[Diagnostic]) -> None:
    """To the standard error; with colours where it is a terminal."""
    console = Console(stderr=True, soft_wrap=True, highlight=False)
    for diagnostic in diagnostics:
        first, *rest = render(diagnostic).split("\n")
        text = Text(first, style="bold red" if diagnostic.is_error else "bold yellow")
        for line in rest:
            style = "cyan" if line.lstrip().startswith("= hint") else "red" if line.endswith("^") else ""
            text.append("\n" + line, style=style or "default not bold")
        console.print(text)
        console.print()


def plural(count: int, noun: str, several: str | None = None) -> str:
    return f"{count:,} {noun if count == 1 else several or noun + 's'}"
