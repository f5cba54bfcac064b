"""`corollary diff`: show the changes between two versions."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from corollary.cli.output import terminal
from corollary.cli.stores import StorePath
from corollary.language import Printer


def diff(
    path: StorePath,
    first: Annotated[int, typer.Argument(metavar="V1", help="A version; `corollary log PATH` lists them.")],
    second: Annotated[int, typer.Argument(metavar="V2", help="Another version, earlier or later.")],
    limit: Annotated[
        int, typer.Option("--limit", metavar="N", help="How many facts to show of each predicate; 0 shows all.")
    ] = 20,
) -> None:
    """Show the facts and rules that were inserted (+) and deleted (-) between two versions."""
    from corollary.store.history import difference
    from corollary.store.manifest import prefixes_of
    from corollary.store.store import Store

    store = Store.open(path, second)
    prefixes = prefixes_of(store.meaning)
    found = difference(store, first, second, lambda name: name)
    printer = Printer(prefixes)
    lines: list[str] = []
    for sign, rules in (("-", found.rules_removed), ("+", found.rules_added)):
        lines += [f"{sign} {name}: {text}" for name, text in rules.items()]
    for sign, facts in (("-", found.deleted), ("+", found.inserted)):
        for predicate in facts:
            rows = facts[predicate].sorted()
            shown = rows[: limit or None]
            name = printer.predicate(predicate)
            lines += [f"{sign} {name}({', '.join(map(printer.value, row))})" for row in shown]
            if len(rows) > len(shown):
                lines.append(f"{sign} {name}: {len(rows) - len(shown):,} more facts")
    if not lines:
        terminal().print("nothing differs")
    sys.stdout.write("".join(line + "\n" for line in lines))
