"""`corollary export` and `corollary apply`: move changes from one knowledge base to another."""

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
    """Write a change file: the explicit facts and the rules that were inserted and deleted since a version.

    `corollary apply` makes the same changes to another knowledge base, which derives the consequences itself. In this way
    rules and facts get to a device, and its readings come back.
    """
    from corollary.store.change_file import write_changes
    from corollary.store.store import Store

    store = Store.open(path)
    write_changes(store, since, file)
    terminal_for_errors().print(f"wrote {file}: versions {since} to {store.version}", markup=False)


def apply(path: StorePath, file: ChangeFile) -> None:
    """Apply a change file to a knowledge base: insert and delete its facts and rules.

    Applying a file twice has the same effect as applying it once.
    """
    kb = open_store(path)
    kb.cause = f"applied {file.name}"
    result = kb.apply(file)
    for line in difference_lines(result, kb.program.prefixes):
        terminal().print(line, markup=False)
    print_result(kb, result)
