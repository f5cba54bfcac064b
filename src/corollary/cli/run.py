"""`corollary run`: derive everything and answer the queries."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from corollary.analysis import analyse_texts, check_query_safety
from corollary.cli.output import plural, print_diagnostics, read_sources
from corollary.diagnostics import ProgramError
from corollary.language import parse_query, print_element, print_value
from corollary.program import Program, Query
from corollary.program.values import sort_key
from corollary.reference import Fact, answer, evaluate


def run(
    files: Annotated[list[Path], typer.Argument(help="Program files, read as one program; - is the standard input.")],
    query: Annotated[
        list[str] | None, typer.Option("--query", "-q", help="A query such as 'path(1, X)'; may be repeated.")
    ] = None,
) -> None:
    """Derive every consequence of a program and print the answers to its queries."""
    analysis = analyse_texts(*read_sources(files))
    print_diagnostics(analysis.diagnostics)
    if analysis.errors:
        raise typer.Exit(1)
    queries = [_checked(parse_query(text)) for text in query or ()] or list(analysis.program.queries)
    started = time.perf_counter()
    facts = evaluate(analysis.program)
    seconds = time.perf_counter() - started
    console = Console(soft_wrap=True, highlight=False)
    for one in queries:
        _print_answers(console, one, answer(one, facts))
    _print_counts(console, analysis.program, facts, seconds)


def _checked(query: Query) -> Query:
    if mistakes := check_query_safety(query):
        raise ProgramError(mistakes)
    return query


def _print_answers(console: Console, query: Query, answers: set[Fact]) -> None:
    console.print(Text("?- " + ", ".join(map(print_element, query.body)) + ".", style="bold"))
    if not query.variables:
        console.print("yes" if answers else "no")
    elif not answers:
        console.print("no answers")
    else:
        table = Table(*(variable.name for variable in query.variables), show_edge=False, pad_edge=False)
        for row in sorted(answers, key=lambda row: [sort_key(constant.value) for constant in row]):
            table.add_row(*(Text(print_value(constant.value)) for constant in row))
        console.print(table)
        console.print(plural(len(answers), "answer"))
    console.print()


def _print_counts(console: Console, program: Program, facts: dict[str, set[Fact]], seconds: float) -> None:
    derived = dict.fromkeys(rule.head.predicate for rule in program.rules)
    for name in derived:
        console.print(f"{name}: {plural(len(facts.get(name, ())), 'fact')}")
    total = sum(map(len, facts.values()))
    console.print(Text(f"{plural(total, 'fact')} in {seconds:.2f} s", style="dim"))
