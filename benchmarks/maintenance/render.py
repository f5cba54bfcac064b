"""Tables of texts in a terminal, and as markdown."""

from __future__ import annotations

from collections.abc import Sequence

from rich.table import Table

from benchmarks.maintenance.sheets import Sheet


def as_table(sheet: Sheet) -> Table:
    table = Table(title=sheet.title, caption=sheet.note or None, show_edge=False, pad_edge=False, title_justify="left")
    for place, column in enumerate(sheet.columns):
        table.add_column(column, justify="right" if place else "left", no_wrap=not place)
    for row in sheet.rows:
        table.add_row(*row)
    return table


def as_markdown(sheet: Sheet) -> str:
    lines = [f"### {sheet.title}", "", _line(sheet.columns), _line(["---", *["---:"] * (len(sheet.columns) - 1)])]
    lines += [_line(row) for row in sheet.rows]
    return "\n".join([*lines, *(["", sheet.note] if sheet.note else [])])


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"
