"""Helpers that the commands share: exit codes, diagnostics on the terminal, tables, reading programs."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import IntEnum
from pathlib import Path

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from corollary.diagnostics import Diagnostic, ProgramError, Source, catalogue, render, shown_first
from corollary.language import TRUSTED, Permissions, decode_source, parse, read_source
from corollary.program import Program


class ExitCode(IntEnum):
    """The exit codes of all commands; they are part of the interface."""

    FINE = 0
    PROGRAM = 1
    USAGE = 2
    DATA = 3
    LIMIT = 4
    INTERNAL = 70
    INTERRUPTED = 130


def exit_code_of(error: ProgramError) -> ExitCode:
    """Return the exit code for a user's mistake: in the program, in the data, or a limit."""
    wrong = [diagnostic for diagnostic in error.diagnostics if diagnostic.is_error]
    if any(diagnostic.kind is catalogue.LIMIT_REACHED for diagnostic in wrong):
        return ExitCode.LIMIT
    is_data = bool(wrong) and all(diagnostic.code.startswith("E4") for diagnostic in wrong)
    return ExitCode.DATA if is_data else ExitCode.PROGRAM


def read_sources(paths: Sequence[Path]) -> list[Source]:
    """Return the texts of these files; `-` is standard input. Raise `ProgramError` if one cannot be read."""
    return [
        decode_source(sys.stdin.buffer.read(), "<stdin>") if str(path) == "-" else read_source(path) for path in paths
    ]


def read_rules(
    paths: Sequence[Path], prefixes: Mapping[str, str], permissions: Permissions = TRUSTED
) -> tuple[Program, ...]:
    """Return the programs in these files, which may use the prefixes; raise `ProgramError` if one has an error."""
    parsed = [parse(source, prefixes=dict(prefixes), permissions=permissions) for source in read_sources(paths)]
    wrong = [diagnostic for one in parsed for diagnostic in one.diagnostics if one.errors]
    if wrong:
        raise ProgramError(wrong)
    return tuple(one.program for one in parsed)


class _Terminal(Console):
    def on_broken_pipe(self) -> None:
        """Raise the error, which the command handles: rich would exit with 1, but a closed pipe is no mistake."""
        raise


def terminal() -> Console:
    return _Terminal(soft_wrap=True, highlight=False)


def terminal_for_errors() -> Console:
    return _Terminal(stderr=True, soft_wrap=True, highlight=False)


def print_diagnostics(diagnostics: Iterable[Diagnostic]) -> None:
    """Print diagnostics to standard error, with colours on a terminal."""
    console = terminal_for_errors()
    shown, others = shown_first(diagnostics)
    for diagnostic in shown:
        first, *rest = render(diagnostic).split("\n")
        text = Text(first, style="bold red" if diagnostic.is_error else "bold yellow")
        for line in rest:
            style = "cyan" if line.lstrip().startswith("= hint") else "red" if line.endswith("^") else ""
            text.append("\n" + line, style=style or "default not bold")
        console.print(text)
        console.print()
    if others:
        console.print(others)


def table_lines(names: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Return the lines of a table. No cell is cut or wrapped, so that other programs can read it."""
    widths = [max(map(cell_len, column)) for column in zip(names, *rows, strict=True)]
    yield " ┃ ".join(_padded(names, widths)).rstrip()
    yield "━╇━".join("━" * width for width in widths)
    for row in rows:
        yield " │ ".join(_padded(row, widths)).rstrip()


def _padded(cells: Sequence[str], widths: Sequence[int]) -> Iterator[str]:
    return (cell + " " * (width - cell_len(cell)) for cell, width in zip(cells, widths, strict=True))


def plural(count: int, noun: str, several: str | None = None) -> str:
    return f"{count:,} {noun if count == 1 else several or noun + 's'}"
