"""`corollary log`: list the versions of a knowledge base."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from typing import Annotated

import typer

from corollary.cli.output import table_lines
from corollary.cli.stores import StorePath

_COLUMNS = ("version", "time", "cause", "explicit +", "explicit -", "facts +", "facts -", "rules")


def log(
    path: StorePath,
    as_json: Annotated[bool, typer.Option("--json", help="Print a JSON object for each version.")] = False,
) -> None:
    """List the versions of a knowledge base, the newest last: when and why each was made, and what it changed.

    *explicit* counts the inserted and deleted explicit facts, *facts* all facts that became visible or stopped being
    visible, including derived ones.
    """
    from corollary.store.history import history
    from corollary.store.store import Store

    found = history(Store.open(path))
    if as_json:
        for info in found:
            sys.stdout.write(json.dumps({**asdict(info), "time": info.time.isoformat()}) + "\n")
        return
    rows = [
        [
            str(info.version),
            info.time.astimezone().strftime("%Y-%m-%d %H:%M:%S"),
            info.cause,
            f"{info.explicit_inserted:,}",
            f"{info.explicit_deleted:,}",
            f"{info.inserted:,}",
            f"{info.deleted:,}",
            f"+{info.rules_added} -{info.rules_removed}" if info.rules_added or info.rules_removed else "",
        ]
        for info in found
    ]
    sys.stdout.write("".join(line + "\n" for line in table_lines(_COLUMNS, rows)))
