"""`corollary check`: report the errors and warnings of a program, and its structure."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from corollary.analysis import Analysis, analyse_texts
from corollary.analysis.constraints import constraint_elements, minimal_elements
from corollary.analysis.meaning import Meaning
from corollary.cli.options import SetOptions, SettingsFile, chosen_settings
from corollary.cli.output import ExitCode, plural, print_diagnostics, read_sources
from corollary.diagnostics import Diagnostic, ProgramError
from corollary.language import print_rule


def check(
    files: Annotated[list[Path], typer.Argument(help="Program files, read as one program; - is the standard input.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object instead of text.")] = False,
    constraints: Annotated[
        bool, typer.Option("--constraints", help="Show the conditions under which facts match in each rule.")
    ] = False,
    settings: SettingsFile = None,
    set_: SetOptions = None,
) -> None:
    """Check programs: errors, warnings, and a summary of predicates, rules and hyper-nodes.

    Exits with 0, or with 1 when there are errors.
    """
    try:
        chosen = chosen_settings(settings, set_)
        analysis = analyse_texts(*read_sources(files)).under(Meaning.of(chosen))
    except ProgramError as error:
        if not as_json:
            raise
        print(json.dumps(_unreadable(error.diagnostics), ensure_ascii=False, indent=2))
        raise typer.Exit(ExitCode.PROGRAM) from None
    if as_json:
        found = {**analysis.as_dict(), **({"constraints": _constraints(analysis)} if constraints else {})}
        print(json.dumps(found, ensure_ascii=False, indent=2))
    else:
        print_diagnostics(analysis.diagnostics)
        _print_summary(analysis)
        if constraints:
            _print_constraints(analysis)
    raise typer.Exit(ExitCode.PROGRAM if analysis.errors else ExitCode.FINE)


def _unreadable(diagnostics: tuple[Diagnostic, ...]) -> dict[str, object]:
    """Return the JSON object for a text that cannot be decoded: its errors, and an empty program."""
    return {**analyse_texts().as_dict(), "errors": [diagnostic.as_dict() for diagnostic in diagnostics]}


def _print_summary(analysis: Analysis) -> None:
    console = Console(soft_wrap=True, highlight=False)
    graph = analysis.graph
    defined = Counter(info.defined_by for info in analysis.predicates.values())
    by = ", ".join(f"{count} by {what}" for what, count in sorted(defined.items()))
    console.print(f"{plural(len(analysis.predicates), 'predicate')}" + (f" ({by})" if by else ""))
    facts = sum(len(block.rows) for block in analysis.program.facts)
    strata = len(set(graph.strata.values()))
    console.print(
        f"{plural(len(graph.rules), 'rule')} in {plural(len(graph.hyper_nodes), 'hyper-node')} "
        f"and {strata} {'stratum' if strata == 1 else 'strata'}, {plural(facts, 'fact')}, "
        f"{plural(len(analysis.program.queries), 'query', 'queries')}"
    )
    if graph.rules:
        console.print(_hyper_node_table(analysis))
    errors, warnings = len(analysis.errors), len(analysis.warnings)
    verdict = "no errors" if not errors else plural(errors, "error")
    console.print(Text(f"{verdict}, {plural(warnings, 'warning')}", style="bold red" if errors else "bold green"))


def _hyper_node_table(analysis: Analysis) -> Table:
    graph = analysis.graph
    table = Table("#", "stratum", "module", "rule", show_edge=False, pad_edge=False)
    for number, node in enumerate(graph.hyper_nodes):
        for position, name in enumerate(node.rules):
            first = (str(number), str(graph.strata[node]), analysis.modules[number]) if position == 0 else ("", "", "")
            table.add_row(*first, Text(f"{name}: {print_rule(graph.rules[name], analysis.program.prefixes)}"))
    return table


def _constraints(analysis: Analysis) -> list[dict[str, object]]:
    """Return the constraint elements of each rule: all (SCE), and the minimal set (MCE) with their types."""
    found: list[dict[str, object]] = []
    for rule in analysis.graph.rules.values():
        elements = constraint_elements(rule)
        minimal = [{"element": str(one), "type": one.type} for one in minimal_elements(elements)]
        found.append({"rule": rule.name, "sce": [str(one) for one in elements], "mce": minimal})
    return found


def _print_constraints(analysis: Analysis) -> None:
    console = Console(soft_wrap=True, highlight=False)
    table = Table("rule", "constraint element", "type", show_edge=False, pad_edge=False)
    for rule in analysis.graph.rules.values():
        for place, one in enumerate(minimal_elements(constraint_elements(rule))):
            table.add_row("" if place else rule.name, Text(str(one)), one.type)
    console.print("", table, sep="\n")
