"""Answers: iterable, countable, and convertible to what the caller works with."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from corollary.engines.embedded.columns import decode_table
from corollary.engines.embedded.relation import Codes
from corollary.engines.embedded.universe import Universe
from corollary.language import print_value
from corollary.program import Value
from corollary.program.python_values import to_python
from corollary.program.values import sort_key

if TYPE_CHECKING:
    import pandas

_SHOWN = 20


class Result:
    """Rows of Python values in the order of `variables`.

    Nothing is decoded before it is looked at: `len()` costs nothing, `to_arrow()` never makes Python objects of numbers and
    strings. A ground query has one empty row or none.
    """

    def __init__(self, universe: Universe, rows: Codes, variables: Sequence[str]) -> None:
        self._universe = universe
        self._rows = rows
        self.variables = tuple(variables)

    def __len__(self) -> int:
        return len(self._rows)

    def __bool__(self) -> bool:
        return len(self._rows) > 0

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        width = len(self.variables)
        if not width:
            yield from (() for _ in range(len(self)))
            return
        for start in range(0, len(self._rows), 10_000):
            piece = self._rows[start : start + 10_000]
            values = [to_python(value) for value in self._universe.values(piece.reshape(-1).tolist())]
            for at in range(0, len(values), width):
                yield tuple(values[at : at + width])

    def constants(self) -> Iterator[tuple[Value, ...]]:
        """The rows as constants of the language, where `iter` gives dates as those of `datetime`."""
        for row in self._rows.tolist():
            yield tuple(self._universe.value(code) for code in row)

    def to_arrow(self) -> pa.Table:
        return decode_table(self._universe, self._rows, self.variables)

    def to_pandas(self) -> pandas.DataFrame:
        return self.to_arrow().to_pandas()

    def sorted(self) -> list[tuple[Value, ...]]:
        """All rows in the order in which commands print them."""
        return sorted(self.constants(), key=lambda row: [sort_key(value) for value in row])

    def __repr__(self) -> str:
        return f"<Result: {len(self):,} rows of ({', '.join(self.variables)})>"

    def __str__(self) -> str:
        if not self.variables:
            return "yes" if len(self) else "no"
        lines = [list(self.variables), *self._shown]
        widths = [max(len(line[column]) for line in lines) for column in range(len(self.variables))]
        texts = [
            "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in lines
        ]
        texts.insert(1, "  ".join("-" * width for width in widths))
        more = len(self) - len(self._shown)
        return "\n".join([*texts, *([f"… and {more:,} more"] if more > 0 else [])])

    def _repr_html_(self) -> str:
        from html import escape

        head = "".join(f"<th>{escape(name)}</th>" for name in self.variables)
        body = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in self._shown)
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table><p>{len(self):,} rows</p>"

    @cached_property
    def _shown(self) -> list[list[str]]:
        first = self._rows[:_SHOWN].tolist()
        return [[print_value(self._universe.value(code)) for code in row] for row in first]
