"""`corollary graph`: draw how the rules of a program depend on each other."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from corollary.analysis import analyse_texts
from corollary.cli.options import Data
from corollary.cli.output import ExitCode, print_diagnostics, read_rules, read_sources
from corollary.cli.rules import AddedRules, RemovedRules
from corollary.cli.stores import ProgramsOrStore, opened_store
from corollary.language import TRUSTED, goes_on
from corollary.reasoning import edit_rules


class Form(StrEnum):
    SVG = "svg"
    DOT = "dot"
    MERMAID = "mermaid"
    TEXT = "text"


class Which(StrEnum):
    RULES = "rules"
    HYPER_NODES = "hyper-nodes"
    BOTH = "both"


_ENDINGS = {".svg": Form.SVG, ".dot": Form.DOT, ".gv": Form.DOT, ".mmd": Form.MERMAID, ".txt": Form.TEXT}


def print_picture(text: str, out: Path | None) -> None:
    """Write a picture to a file, or print it if there is none."""
    if out is None:
        typer.echo(text)
        return
    try:
        out.write_text(text, encoding="utf-8")
    except OSError as error:
        typer.echo(f"cannot write {out}: {error.strerror}", err=True)
        raise typer.Exit(ExitCode.USAGE) from None
    typer.echo(f"wrote {out}", err=True)


def graph(
    files: ProgramsOrStore,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="The file to write; its ending (.svg .dot .mmd .txt) chooses the format."),
    ] = None,
    form: Annotated[
        Form | None, typer.Option("--format", "-f", help="The format (default on the terminal: text).")
    ] = None,
    which: Annotated[Which, typer.Option("--graph", "-g", help="What to draw.")] = Which.BOTH,
    add: AddedRules = None,
    remove: RemovedRules = None,
) -> None:
    """Draw the rule graph and the hyper-node graph as SVG, DOT, Mermaid or text.

    Positive dependencies, negation and aggregation have different arrows; each hyper-node shows its module. With `--add`
    or `--remove`, the picture shows the graph before and after that change, and what happens to each hyper-node;
    `corollary rules --plan` says the same in words.
    """
    from corollary.pictures import draw, draw_change  # only this command and `yield` draw

    kb = opened_store(files, Data())
    analysis = kb.analysis if kb is not None else analyse_texts(*read_sources(files))
    if any(diagnostic.code.startswith("E1") for diagnostic in analysis.errors):
        print_diagnostics(analysis.errors)
        raise typer.Exit(ExitCode.PROGRAM)
    chosen = form or (_ENDINGS.get(out.suffix.lower(), Form.SVG) if out else Form.TEXT)
    if add or remove:
        arities = {info.name: info.arity for info in analysis.predicates.values() if info.arity is not None}
        added = read_rules(add or (), analysis.program.prefixes)
        edit = edit_rules(analysis, added, remove or (), arities, goes_on, TRUSTED)
        text = draw_change(analysis, edit.analysis, edit.plan, graph=which.value, form=chosen.value)
    else:
        text = draw(analysis, graph=which.value, form=chosen.value)
    print_picture(text, out)
