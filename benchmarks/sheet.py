"""Tables of texts, which a terminal and the documentation show alike."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.table import Table


@dataclass(frozen=True)
class Sheet:
    """The first column is text, the others are numbers; `note` says what a reader must know."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    note: str = ""


def as_table(sheet: Sheet) -> Table:
    table = Table(title=sheet.title, caption=sheet.note or None, show_edge=False, pad_edge=False, title_justify="left")
    for place, column in enumerate(sheet.columns):
        table.add_column(column, justify="right" if place else "left", no_wrap=not place)
    for row in sheet.rows:
        table.add_row(*row)
    return table


def as_markdown(sheet: Sheet) -> str:
    lines = [f"## {sheet.title}", "", _line(sheet.columns), _line(["---", *["---:"] * (len(sheet.columns) - 1)])]
    lines += [_line(row) for row in sheet.rows]
    return "\n".join([*lines, *(["", sheet.note] if sheet.note else [])])


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def write_results(document: Path, name: str, text: str) -> None:
    """Replaces what stands between the two comments that mark the results of this name."""
    begin, end = f"<!-- results of {name}: begin -->", f"<!-- results of {name}: end -->"
    old = document.read_text(encoding="utf-8")
    pattern = re.compile(f"{re.escape(begin)}.*?{re.escape(end)}", re.DOTALL)
    if not pattern.search(old):
        raise ValueError(f"{document} has no place for results: {begin} … {end}")
    document.write_text(pattern.sub(lambda _: f"{begin}\n\n{text}\n\n{end}", old), encoding="utf-8")
