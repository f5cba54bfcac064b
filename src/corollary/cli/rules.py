"""`corollary rules`: list the rules of a program, or show what a change of rules would do."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from corollary.cli.options import (
    Data,
    Facts,
    FactsHeader,
    InputsRoot,
    Rdf,
    RdfBase,
    chosen_settings,
    open_knowledge_base,
)
from corollary.cli.output import read_rules, read_sources, table_lines, terminal
from corollary.cli.run import derive
from corollary.cli.stores import ProgramsOrStore, opened_store
from corollary.knowledge_base import KnowledgeBase
from corollary.settings import ALLOWED

AddedRules = Annotated[
    list[Path] | None, typer.Option("--add", metavar="FILE", help="A file with rules to add; may be repeated.")
]
RemovedRules = Annotated[
    list[str] | None,
    typer.Option("--remove", metavar="NAME", help="A rule to remove, by name or by text; may be repeated."),
]


def rules(
    files: ProgramsOrStore,
    facts: Facts = None,
    facts_header: FactsHeader = False,
    rdf: Rdf = None,
    rdf_base: RdfBase = None,
    text: Annotated[bool, typer.Option("--text/--no-text", help="Show the text of each rule.")] = True,
    inputs_root: InputsRoot = None,
    plan: Annotated[
        bool, typer.Option("--plan", help="Show what --add and --remove would do to the hyper-nodes; change nothing.")
    ] = False,
    add: AddedRules = None,
    remove: RemovedRules = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="With --plan: print one JSON object instead of text.")
    ] = False,
) -> None:
    """List the rules of a program, or of a knowledge base in a directory: the hyper-node of each, its module, how it is
    maintained, and how many facts it derives.

    A hyper-node is a group of mutually recursive rules, which are evaluated together; a rule that is part of no cycle is
    a hyper-node by itself.

    With `--plan`, nothing is derived. `corollary rules PROGRAM --add FILE --plan` and `--remove NAME --plan` show which
    hyper-nodes a change of rules influences directly (DIHN), which ones it merges, splits, creates and drops, and in which
    order the hyper-nodes would be derived again. `corollary graph` draws the same change.
    """
    settings = chosen_settings(None, None, inputs_root=inputs_root)
    data = Data(facts, facts_header, rdf or (), rdf_base=rdf_base)
    if plan:
        if data != Data():
            raise typer.BadParameter("a plan needs no facts: leave --facts and --rdf out", param_hint="--plan")
        kb = opened_store(files, data) or KnowledgeBase.from_sources(read_sources(files), settings=settings)
        _print_plan(kb, add or (), remove or (), as_json)
        return
    if add or remove or as_json:
        hint = "add --plan to see what the change would do; `corollary update` changes a knowledge base in a directory"
        raise typer.BadParameter(hint, param_hint="--add" if add else "--remove" if remove else "--json")
    kb = opened_store(files, data) or open_knowledge_base(read_sources(files), data, settings)
    derive(kb)
    header = ["rule", "hyper-node", "module", "maintained by", "derives", *(["text"] if text else [])]
    rows = [
        [rule.name, rule.hyper_node, rule.module, rule.strategy, f"{rule.derived:,}", *([rule.text] if text else [])]
        for rule in kb.rules()
    ]
    terminal().print("\n".join(table_lines(header, rows)), markup=False)


def _print_plan(kb: KnowledgeBase, add: Sequence[Path], remove: Sequence[str], as_json: bool) -> None:
    if not add and not remove:
        raise typer.BadParameter("nothing to plan: give --add FILE or --remove NAME", param_hint="--plan")
    found = kb.plan_rules(add=read_rules(add, kb.program.prefixes), remove=remove, allow=ALLOWED)
    terminal().print(found.to_json() if as_json else str(found), markup=False)
