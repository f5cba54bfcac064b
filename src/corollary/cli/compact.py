"""`corollary compact`: care for a knowledge base in a directory."""

from __future__ import annotations

from typing import Annotated

import typer

from corollary.cli.output import terminal_for_errors
from corollary.cli.stores import StorePath, open_store


def compact(
    path: StorePath,
    keep: Annotated[
        int | None,
        typer.Option("--keep", metavar="N", min=1, help="Forget all versions but the last N, and free their space."),
    ] = None,
) -> None:
    """Rewrite all facts in few files. Small files are merged now and then anyway; this does all of them at once.

    Earlier versions stay and take space until `--keep` says how many are enough.
    """
    kb = open_store(path)
    kb.compact()
    freed = f", {kb.vacuum(keep) / 1e6:,.1f} MB freed" if keep is not None else ""
    terminal_for_errors().print(f"version {kb.version}: compacted{freed}", markup=False)
