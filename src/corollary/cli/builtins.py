"""`corollary builtins`: list and describe the built-in functions and predicates."""

from __future__ import annotations

from typing import Annotated

import typer

from corollary.cli.output import ExitCode
from corollary.diagnostics import did_you_mean
from corollary.program.builtins import BUILTINS, WORDS, Builtin, chapters, find_builtin, spellings
from corollary.program.builtins.declaration import expanded, shortened


def builtins(
    name: Annotated[
        str | None, typer.Argument(help="The name of a built-in, or a part of a name (default: all).")
    ] = None,
) -> None:
    """List the built-in functions and predicates, or describe one of them."""
    if name is None:
        for chapter, members in chapters():
            typer.echo(f"{chapter}\n" + "\n".join(f"  {one.signature}" for one in members) + "\n")
        typer.echo("`corollary builtins NAME` describes one of them.")
        return
    name = f"xsd:{name.removeprefix('xs:')}" if name.startswith("xs:") else name
    found = find_builtin(expanded(name)) or find_builtin(name)
    some = [found] if found is not None else [one for one in BUILTINS.values() if one.operator == name]
    some = some or [one for one in BUILTINS.values() if _has(one, name)]
    if not some:
        hint = did_you_mean(name, [*map(shortened, BUILTINS), *WORDS])
        typer.echo(f"there is no built-in '{name}'" + (f": {hint}" if hint else ""), err=True)
        raise typer.Exit(ExitCode.USAGE)
    typer.echo("\n\n".join(map(_described, some) if len(some) == 1 else (one.signature for one in some)))


def _has(builtin: Builtin, part: str) -> bool:
    return any(part.lower() in shortened(one).lower() for one in (builtin.name, *spellings(builtin)))


def _described(builtin: Builtin) -> str:
    lines = [builtin.signature, f"  {builtin.summary}"]
    others = ", ".join(map(shortened, spellings(builtin)))
    lines += [f"  also written: {others}"] if others else []
    lines += [f"  {call} {'has no value' if value is None else f'= {value}'}" for call, value in builtin.examples]
    return "\n".join(lines)
