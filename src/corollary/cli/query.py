"""`corollary query`: print the answers to one query."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from corollary.cli.options import (
    Data,
    Facts,
    FactsHeader,
    InputsRoot,
    LimitFacts,
    LimitTime,
    Mode,
    Rdf,
    RdfBase,
    RejectsFile,
    SetOptions,
    SettingsFile,
    Strict,
    chosen_settings,
    open_knowledge_base,
)
from corollary.cli.output import print_diagnostics, read_sources, terminal
from corollary.cli.run import derive, print_answers, print_json_answers
from corollary.cli.stores import VersionOption, opened_store


def query(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="PROGRAM", help="A program file, or the directory of a knowledge base; - is standard input."
        ),
    ],
    text: Annotated[str, typer.Argument(metavar="QUERY", help="A query such as 'path(1, X), not seen(X)'.")],
    facts: Facts = None,
    facts_header: FactsHeader = False,
    rdf: Rdf = None,
    rdf_base: RdfBase = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object instead of a table.")] = False,
    limit_time: LimitTime = None,
    limit_facts: LimitFacts = None,
    strict: Strict = False,
    rejects: RejectsFile = None,
    version: VersionOption = None,
    mode: Mode = None,
    explain: Annotated[
        bool, typer.Option("--explain", help="Only show the rewritten rules that answer the query on demand.")
    ] = False,
    settings: SettingsFile = None,
    set_: SetOptions = None,
    inputs_root: InputsRoot = None,
) -> None:
    """Answer one query over a program and its data, or over a knowledge base made by `corollary init`."""
    data = Data(facts, facts_header, rdf or (), strict, rejects, rdf_base=rdf_base)
    kb = opened_store([file], data, version)
    if kb is None:
        chosen = chosen_settings(
            settings,
            set_,
            limit_time=limit_time,
            limit_facts=limit_facts,
            inputs_root=inputs_root,
            updates=False,
            mode=mode,
        )
        kb = open_knowledge_base(read_sources([file]), data, chosen)
    asked = kb.parse_query(text)
    print_diagnostics(kb.query_warnings(asked))
    if explain:
        terminal().print(kb.demanded(asked).text(kb.program.prefixes), end="", markup=False, soft_wrap=True)
        return
    if not kb.is_on_demand(asked):
        derive(kb)
    if as_json:
        print_json_answers(kb, asked)
    else:
        print_answers(kb, asked, echo=False)
