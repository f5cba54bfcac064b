"""`corollary update`: facts and rules come and go, together."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from corollary.cli.changes import difference_lines
from corollary.cli.options import EngineName
from corollary.cli.output import read_sources, terminal
from corollary.cli.stores import StorePath, open_store, print_result, read_facts
from corollary.diagnostics import ProgramError
from corollary.language import Permissions, parse
from corollary.program import Program
from corollary.settings import Settings
from corollary.transactions import Change


def update(
    path: StorePath,
    insert: Annotated[
        list[Path] | None,
        typer.Option("--insert", metavar="FILE", help="Facts that come: a program, or <predicate>.csv and its like."),
    ] = None,
    delete: Annotated[
        list[Path] | None, typer.Option("--delete", metavar="FILE", help="Facts that go, in the same way.")
    ] = None,
    add_rules: Annotated[
        list[Path] | None, typer.Option("--add-rules", metavar="FILE", help="A program whose rules hold from now on.")
    ] = None,
    remove_rule: Annotated[
        list[str] | None, typer.Option("--remove-rule", metavar="NAME", help="A rule that goes, by name or by text.")
    ] = None,
    allow: Annotated[
        list[str] | None,
        typer.Option("--allow", metavar="WORD", help="What --add-rules may have, too: inputs or outputs."),
    ] = None,
    explain: Annotated[
        bool, typer.Option("--explain", help="Show how each hyper-node followed the change, and what it cost.")
    ] = False,
    engine: Annotated[EngineName, typer.Option("--engine", help="What follows the change.")] = EngineName.EMBEDDED,
) -> None:
    """Change a knowledge base in a directory: all that is given is one transaction, and one new version.

    What follows from the change is shown. A mistake changes nothing. Every option may be repeated.
    """
    if not (insert or delete or add_rules or remove_rule):
        raise typer.BadParameter("nothing to do: give --insert, --delete, --add-rules or --remove-rule")
    kb = open_store(path, engine=engine.value)
    permissions = _permissions(allow or [])
    change = Change(
        read_facts(kb, insert or []),
        read_facts(kb, delete or []),
        _rules(add_rules or [], kb.program, permissions),
        tuple(remove_rule or ()),
    )
    result = kb.apply(change, allow=allow or [])
    for line in difference_lines(result, kb.program.prefixes):
        terminal().print(line, markup=False)
    if explain:
        terminal().print(f"\n{result.report}", markup=False)
    print_result(kb, result)
    kb.close()


def _permissions(allow: list[str]) -> Permissions:
    try:
        return Permissions.of(Settings.of(allow=allow).allow)
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="--allow") from None


def _rules(files: list[Path], program: Program, permissions: Permissions) -> tuple[Program, ...]:
    parsed = [parse(source, prefixes=program.prefixes, permissions=permissions) for source in read_sources(files)]
    wrong = [diagnostic for one in parsed for diagnostic in one.diagnostics if one.errors]
    if wrong:
        raise ProgramError(wrong)
    return tuple(one.program for one in parsed)
