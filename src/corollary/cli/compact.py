"""`corollary compact`: rewrite a knowledge base in a directory into few files."""

from __future__ import annotations

from typing import Annotated

import typer

from corollary.cli.output import terminal_for_errors
from corollary.cli.stores import StorePath, open_store


def compact(
    path: StorePath,
    keep: Annotated[
        int | None,
        typer.Option("--keep", metavar="N", min=1, help="Drop all versions but the last N, and free their space."),
    ] = None,
) -> None:
    """Rewrite all facts into few files. Small files are merged from time to time anyway; this merges all of them at once.

    Earlier versions stay and take space until `--keep` drops them.
    """
    kb = open_store(path)
    kb.compact()
    freed = f", {kb.vacuum(keep) / 1e6:,.1f} MB freed" if keep is not None else ""
    terminal_for_errors().print(f"version {kb.version}: compacted{freed}", markup=False)
