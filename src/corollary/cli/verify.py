"""`corollary verify`: check the stored facts."""

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
        bool, typer.Option("--all", help="Also check the files that only other versions need.")
    ] = False,
) -> None:
    """Derive everything from the explicit facts of a knowledge base, and compare it with what is stored.

    Every file that is read is also checked against its digest. Exit codes: 0 no differences, 3 otherwise.
    """
    announce_compiling()
    found = KnowledgeBase.verify(path, version=version, all_files=all_files)
    for deviation in found:
        terminal().print(str(deviation), markup=False)
    if found:
        raise typer.Exit(ExitCode.DATA)
    terminal().print("the stored facts are exactly those that follow from the explicit facts", markup=False)
