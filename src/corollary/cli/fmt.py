"""`corollary fmt`: format programs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from corollary.cli.output import ExitCode, read_sources
from corollary.language import format_source


def fmt(
    files: Annotated[list[Path], typer.Argument(help="Program files; - is the standard input.")],
    write: Annotated[bool, typer.Option("--write", "-w", help="Rewrite the files instead of printing.")] = False,
    only_check: Annotated[
        bool, typer.Option("--check", help="Change nothing; exit with 1 if a file is not formatted.")
    ] = False,
) -> None:
    """Format programs: one clause per line, one spelling for each construct. Comments are kept."""
    different = False
    for path, source in zip(files, read_sources(files), strict=True):
        formatted = format_source(source)
        if only_check:
            if formatted != source.text:
                different = True
                typer.echo(f"{source.name} is not formatted")
        elif write and str(path) != "-":
            if formatted != source.text:
                path.write_text(formatted, encoding="utf-8")
                typer.echo(f"formatted {source.name}", err=True)
        else:
            typer.echo(formatted, nl=False)
    if different:
        raise typer.Exit(ExitCode.PROGRAM)
