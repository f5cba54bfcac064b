"""`corollary rules`: list the rules of a program, their hyper-nodes and how many facts they derive."""

from __future__ import annotations

from typing import Annotated

import typer

from corollary.cli.options import (
    Data,
    Facts,
    FactsHeader,
    InputsRoot,
    Programs,
    Rdf,
    RdfBase,
    chosen_settings,
    open_knowledge_base,
)
from corollary.cli.output import read_sources, table_lines, terminal
from corollary.cli.run import derive


def rules(
    files: Programs,
    facts: Facts = None,
    facts_header: FactsHeader = False,
    rdf: Rdf = None,
    rdf_base: RdfBase = None,
    text: Annotated[bool, typer.Option("--text/--no-text", help="Show the text of each rule.")] = True,
    inputs_root: InputsRoot = None,
) -> None:
    """List the rules: their hyper-node, its module, how it is maintained, and how many facts it derives.

    A hyper-node is a group of mutually recursive rules, which are evaluated together; a rule that is part of no cycle is
    a hyper-node by itself.
    """
    kb = open_knowledge_base(
        read_sources(files),
        Data(facts, facts_header, rdf or (), rdf_base=rdf_base),
        chosen_settings(None, None, inputs_root=inputs_root),
    )
    derive(kb)
    header = ["rule", "hyper-node", "module", "maintained by", "derives", *(["text"] if text else [])]
    rows = [
        [rule.name, rule.hyper_node, rule.module, rule.strategy, f"{rule.derived:,}", *([rule.text] if text else [])]
        for rule in kb.rules()
    ]
    terminal().print("\n".join(table_lines(header, rows)), markup=False)
