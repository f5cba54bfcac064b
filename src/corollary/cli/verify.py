"""`corollary verify`: whether what is stored is what follows."""

from __future__ import annotations

from typing import Annotated

import typer

from corollary.cli.output import ExitCode, terminal
from corollary.cli.progress import announce_compiling
from corollary.cli.stores import StorePath, VersionOption
from corollary.knowledge_base import KnowledgeBase


def verify(
    path: StorePath,
    version: VersionOption = None,
    all_files: Annotated[
        bool, typer.Option("--all", help="Read the files that only other versions need, too, and check them.")
    ] = False,
) -> None:
    """Derive everything from scratch from the explicit facts of a knowledge base, and compare it with what is stored.

    Every file that is read is checked against its digest, too. Exits with 0 when all is right, with 3 otherwise.
    """
    announce_compiling()
    found = KnowledgeBase.verify(path, version=version, all_files=all_files)
    for deviation in found:
        terminal().print(str(deviation), markup=False)
    if found:
        raise typer.Exit(ExitCode.DATA)
    terminal().print("everything that is stored follows, and everything that follows is stored", markup=False)
