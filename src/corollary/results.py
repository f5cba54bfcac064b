"""Answers: iterable, countable, and convertible to what the caller works with."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from corollary.diagnostics.packages import optional_package
from corollary.language import Printer
from corollary.program import Value
from corollary.program.python_values import to_python
from corollary.program.values import sort_key

if TYPE_CHECKING:
    import pandas
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

    from corollary.engines.embedded.relations.relation import Codes
    from corollary.engines.embedded.values.universe import Universe

SHOWN = 20
"""Rows that are printed of a result."""


@runtime_checkable
class CountedRows(Protocol):
    """Rows whose number is known, and which are expanded when they are read."""

    count: int

    def rows(self) -> Codes: ...


class Result:
    """Rows of Python values in the order of `variables`.

    Rows are decoded when they are read: `len()` costs nothing, and `to_arrow()` creates no Python objects for numbers and
    strings. The result of a query without variables has one empty row or none.

    >>> from corollary import KnowledgeBase
    >>> answers = KnowledgeBase('age(ann, 40). age(bo, 7).').query("age(Who, Years), Years > 18")
    >>> answers.variables, len(answers), list(answers)
    (('Who', 'Years'), 1, [('ann', 40)])
    >>> print(answers)
    Who  Years
    ---  -----
    ann  40
    >>> answers.to_arrow().to_pydict()
    {'Who': ['ann'], 'Years': [40]}
    """

    def __init__(
        self,
        universe: Universe,
        rows: Codes | CountedRows,
        variables: Sequence[str],
        prefixes: Mapping[str, str] | None = None,
    ) -> None:
        self._universe = universe
        self._given = rows
        self._prefixes = dict(prefixes or {})
        self.variables = tuple(variables)

    @cached_property
    def _rows(self) -> Codes:
        return self._given.rows() if isinstance(self._given, CountedRows) else self._given

    def __len__(self) -> int:
        return self._given.count if isinstance(self._given, CountedRows) else len(self._given)

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
        """Return the rows as constants of the language; iterating over a result gives dates and times as `datetime` values
        instead."""
        width = len(self.variables)
        for start in range(0, len(self._rows), 10_000):
            piece = self._rows[start : start + 10_000]
            values = self._universe.values(piece.reshape(-1).tolist())
            yield from (tuple(values[at * width : (at + 1) * width]) for at in range(len(piece)))

    def sorted(self) -> list[tuple[Value, ...]]:
        """Return all rows as constants, in the order of the command line: numbers by value, then the others."""
        return sorted(self.constants(), key=lambda row: [sort_key(value) for value in row])

    # -- for other libraries -----------------------------------------------------------------------------------------

    def to_arrow(self) -> pa.Table:
        """Return an Arrow table with a column per variable, of a type that fits its constants: int64, double, bool, string,
        decimal, date32 …

        A column with different kinds of constants holds them in the syntax of programs, and a column of IRIs their text; the
        metadata of the field says so, and `KnowledgeBase.insert` reads the table back without loss.
        """
        from corollary.engines.embedded.values.tables import decode_table

        return decode_table(self._universe, self._rows, self.variables)

    def to_pandas(self) -> pandas.DataFrame:
        """Return a pandas frame with a column per variable; columns with different kinds of constants hold Python objects."""
        with optional_package("pandas", "to_pandas()"):
            import pandas

        from corollary.language.cells import MEANING

        table = self.to_arrow()
        frame = table.to_pandas()
        for place, field in enumerate(table.schema):
            if MEANING in (field.metadata or {}):
                values = self._universe.values(self._rows[:, place].tolist())
                frame[field.name] = pandas.Series([to_python(value) for value in values], dtype=object)
        return frame

    def to_spark(self, session: SparkSession | None = None) -> DataFrame:
        """Return a Spark data frame with a column per variable, in the running session or a new one.

        Its columns are those of `to_arrow()`; times of day and decimals of more than 38 digits are text in the syntax of
        programs.
        """
        from corollary.engines.embedded.values.tables import narrowed
        from corollary.engines.spark_session.arrow_frames import frame_of_table
        from corollary.engines.spark_session.session import start_session

        return frame_of_table(session or start_session(), narrowed(self.to_arrow()))

    @property
    def codes(self) -> tuple[Universe, Codes]:
        """Return the rows as the engine holds them, for writers of files."""
        return self._universe, self._rows

    # -- for people --------------------------------------------------------------------------------------------------

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
        return "\n".join([*texts, *self._more])

    def _repr_html_(self) -> str:
        from html import escape

        if not self.variables:
            return f"<p>{self}</p>"
        head = "".join(f"<th>{escape(name)}</th>" for name in self.variables)
        body = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in self._shown)
        more = "".join(f"<p>{line}</p>" for line in self._more) or f"<p>{len(self):,} rows</p>"
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}"

    @cached_property
    def _shown(self) -> list[list[str]]:
        printer = Printer(self._prefixes)
        first = self._rows[:SHOWN].tolist()
        return [[printer.value(self._universe.value(code)) for code in row] for row in first]

    @property
    def _more(self) -> list[str]:
        more = len(self) - len(self._shown)
        return [f"… and {more:,} more"] if more > 0 else []
