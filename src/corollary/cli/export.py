"""`corollary export` and `corollary apply`: changes on their way from one knowledge base to another."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from corollary.cli.output import terminal, terminal_for_errors
from corollary.cli.stores import StorePath, open_store, print_result
from corollary.cli.update import difference_lines

ChangeFile = Annotated[Path, typer.Argument(metavar="FILE", help="A change file.")]


def export(
    path: StorePath,
    file: ChangeFile,
    since: Annotated[int, typer.Option("--since", metavar="N", help="The version that the receiver has.")],
) -> None:
    """Write the explicit facts and the rules that were inserted and deleted since a version to a file.

    `corollary apply` brings them to another knowledge base, which derives what follows by itself: rules and facts get to a
    device in this way, and its readings come back.
    """
    from corollary.store.change_file import write_changes
    from corollary.store.store import Store

    store = Store.open(path)
    write_changes(store, since, file)
    terminal_for_errors().print(f"wrote {file}: versions {since} to {store.version}", markup=False)


def apply(path: StorePath, file: ChangeFile) -> None:
    """Apply a change file to a knowledge base: facts and rules come and go as they did where it comes from.

    What is there already, or gone already, stays as it is: applying a file twice is the same as once.
    """
    kb = open_store(path)
    kb.cause = f"applied {file.name}"
    result = kb.apply(file)
    for line in difference_lines(result, kb.program.prefixes):
        terminal().print(line, markup=False)
    print_result(kb, result)
