"""`corollary yield`: show the Yield index of rules."""

from __future__ import annotations

import json
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from corollary.analysis.yield_entries import YieldEntries
from corollary.cli.graph import print_picture
from corollary.cli.options import (
    Data,
    Facts,
    FactsHeader,
    InputsRoot,
    Rdf,
    RdfBase,
    SetOptions,
    SettingsFile,
    chosen_settings,
    open_knowledge_base,
)
from corollary.cli.output import ExitCode, read_sources, terminal
from corollary.cli.run import derive
from corollary.cli.stores import ProgramsOrStore, opened_store
from corollary.diagnostics import ProgramError, catalogue
from corollary.knowledge_base import KnowledgeBase
from corollary.language import parse_program
from corollary.program.locations import has_location


class YieldForm(StrEnum):
    TEXT = "text"
    JSON = "json"
    SVG = "svg"


_ENDINGS = {".json": YieldForm.JSON, ".txt": YieldForm.TEXT}


def yield_index(
    files: ProgramsOrStore,
    rule: Annotated[
        list[str] | None,
        typer.Option(
            "--rule", metavar="NAME", help="A rule, by name or by text; may be repeated (default: all rules)."
        ),
    ] = None,
    facts: Facts = None,
    facts_header: FactsHeader = False,
    rdf: Rdf = None,
    rdf_base: RdfBase = None,
    address: Annotated[
        str | None,
        typer.Option("--address", metavar="VALUE", help="The node that runs rules with locations, link(@X, Y)."),
    ] = None,
    form: Annotated[
        YieldForm | None, typer.Option("--format", "-f", help="The format (default on the terminal: text).")
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="The file to write; its ending (.svg .json .txt) chooses the format."),
    ] = None,
    limit: Annotated[
        int, typer.Option("--limit", min=1, help="Show at most this many entries of each link; JSON has all.")
    ] = 20,
    settings: SettingsFile = None,
    set_: SetOptions = None,
    inputs_root: InputsRoot = None,
) -> None:
    """Show the Yield index of rules: which facts match in a body, and which are dummies that wait for a partner.

    For each rule: its constraint elements (all, SCE, and the minimal ones, MCE), how many facts of each atom match, wait or
    are filtered out, the semantic entries of each link between two atoms, the accesses that building the index and finding
    all instances take, and the instances. An entry fires (T) if its facts have a match at the other end of the link.

    The index is built over the visible facts to be looked at, whether or not the rule uses one; nothing is changed.
    `corollary yield PROGRAM -o index.svg` draws it.
    """
    data = Data(facts, facts_header, rdf or (), rdf_base=rdf_base)
    kb = opened_store(files, data) or open_knowledge_base(
        read_sources(files), data, chosen_settings(settings, set_, inputs_root=inputs_root)
    )
    place = _address(address) if address is not None else None
    derive(kb)
    found = _asked(kb, rule, place) if rule else _all(kb, place)
    chosen = form or (_ENDINGS.get(out.suffix.lower(), YieldForm.SVG) if out else YieldForm.TEXT)
    if chosen is YieldForm.JSON:
        text = json.dumps([one.as_dict() for one in found], ensure_ascii=False, indent=2)
    elif chosen is YieldForm.SVG:
        from corollary.pictures import draw_yield_index

        text = draw_yield_index(*found, limit=limit)
    else:
        text = "\n\n".join(one.shown(limit) for one in found)
    if out is None and chosen is YieldForm.TEXT:
        terminal().print(text, markup=False)
    else:
        print_picture(text, out)


def _asked(kb: KnowledgeBase, names: Sequence[str], address: object) -> list[YieldEntries]:
    return [kb.yield_entries(name, address=address) for name in names]


def _all(kb: KnowledgeBase, address: object) -> list[YieldEntries]:
    """Return the indexes of all rules; print why the others have none. The address is for rules with locations."""
    rules = kb.program.rules
    located = {one.name for one in rules if has_location(one)}
    if address is not None and not located:
        hint = "no rule has a location: mark the argument that says where facts are stored, link(@X, Y)"
        raise typer.BadParameter(hint, param_hint="--address")
    found = []
    for one in rules:
        try:
            found.append(kb.yield_entries(one.name, address=address if one.name in located else None))
        except ProgramError as error:
            if any(mistake.kind is not catalogue.NO_YIELD_INDEX for mistake in error.diagnostics):
                raise
            typer.echo("; ".join(mistake.message for mistake in error.diagnostics), err=True)
    if not found:
        typer.echo("there is no rule with a Yield index", err=True)
        raise typer.Exit(ExitCode.PROGRAM)
    return found


def _address(text: str) -> object:
    """Return the value that a program would read; raise `typer.BadParameter` if it is not one constant."""
    try:
        (block,) = parse_program(f"address({text}).").facts
        ((value,),) = block.rows
    except (ProgramError, ValueError):
        raise typer.BadParameter(f"'{text}' is not a constant", param_hint="--address") from None
    return value
