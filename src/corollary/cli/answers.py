"""Answers to queries: tables for people, JSON for programs."""

from __future__ import annotations

import json
import sys

from rich.text import Text

from corollary.cli.output import plural, table_lines, terminal
from corollary.diagnostics import Diagnostic, ProgramError
from corollary.knowledge_base import KnowledgeBase
from corollary.language import Printer
from corollary.program import Query


def query_text(kb: KnowledgeBase, query: Query) -> str:
    printer = Printer(kb.program.prefixes)
    return ", ".join(map(printer.element, query.body))


def print_answers(kb: KnowledgeBase, query: Query, *, echo: bool = True) -> None:
    """The query, its answers in order as a table, and how many there are."""
    console = terminal()
    if echo:
        console.print(Text(f"?- {query_text(kb, query)}.", style="bold"))
    result = kb.query(query)
    if not result.variables:
        console.print("yes" if len(result) else "no")
    elif not len(result):
        console.print("no answers")
    else:
        printer = Printer(kb.program.prefixes)
        rows = [[printer.value(value) for value in row] for row in result.sorted()]
        sys.stdout.write("".join(line + "\n" for line in table_lines(result.variables, rows)))
        console.print(plural(len(result), "answer"))


def print_json_answers(kb: KnowledgeBase, query: Query) -> None:
    """One object on one line; the values are written as in JSON files of facts."""
    from corollary.io.json_lines import json_text

    result = kb.query(query)
    text = json.dumps(query_text(kb, query), ensure_ascii=False)
    variables = json.dumps(list(result.variables), ensure_ascii=False)
    rows = ", ".join(json_text(row) for row in result.sorted())
    sys.stdout.write(f'{{"query": {text}, "variables": {variables}, "rows": [{rows}]}}\n')


def asked_queries(kb: KnowledgeBase, texts: list[str]) -> list[Query]:
    """The queries of these texts; all mistakes in them come at once."""
    queries: list[Query] = []
    wrong: list[Diagnostic] = []
    for text in texts:
        try:
            queries.append(kb.parse_query(text))
        except ProgramError as error:
            wrong += error.diagnostics
    if wrong:
        raise ProgramError(wrong)
    return queries
