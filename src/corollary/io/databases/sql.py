"""The SQL that databases share, and tables that are asked for rows: the known values go there, and only rows that have them come
back."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Protocol

import pyarrow as pa

from corollary.diagnostics import Span
from corollary.io.databases.asked import asked_tables
from corollary.io.options import option_error

BATCH = 500  # rows of values in one statement


class SourceFailed(Exception):
    """A source gave no answer; the text is for people."""


class AskedTable(Protocol):
    """A table, or a query, of a database."""

    def columns(self) -> list[str]: ...

    def rows(self, names: Sequence[str], asked: pa.Table | None) -> Any:
        """Return the rows with these columns that have the asked values; all of them without."""
        ...


def quoted(name: str) -> str:
    """Return an identifier; nothing in it is read as SQL."""
    return '"' + name.replace('"', '""') + '"'


def quoted_table(name: str) -> str:
    """Return `schema.table` as people write it, quoted; a name with quotes of its own is left as it is."""
    return name if '"' in name else ".".join(map(quoted, name.split(".")))


def rows_source(table: str | None, query: str | None, span: Span | None = None) -> str:
    """Return what stands after FROM; raise `ProgramError` unless there is either a table or a query."""
    if (table is None) == (query is None):
        raise option_error("a database needs 'table' or 'query', and not both", span)
    return f"({query}) AS facts" if query is not None else quoted_table(table or "")


def select(names: Sequence[str], source: str, quote: Callable[[str], str] = quoted) -> str:
    return f"SELECT {', '.join(map(quote, names))} FROM {source}"


def shown(address: str) -> str:
    """Return an address without the user, the password and the options, which only its owner should know."""
    return re.split("[?;]", re.sub("//.*@", "//", address))[0]


def asked_or_all(asked: pa.Table | None, kinds: Mapping[str, str]) -> list[pa.Table | None]:
    """Return tables of values that together ask for the rows that are wanted; None asks for all rows."""
    return [None] if asked is None else asked_tables(asked, kinds)


class AskedInBatches(ABC):
    """A database that takes values as parameters, some hundred rows at a time."""

    source: str
    mark = "?"
    quote = staticmethod(quoted)

    def rows(self, names: Sequence[str], asked: pa.Table | None) -> list[tuple[Any, ...]]:
        found: list[tuple[Any, ...]] = []
        statement = select(names, self.source, self.quote)
        for one in asked_or_all(asked, self.kinds(names) if asked is not None else {}):
            for where, values in self._batches(one):
                found += self.fetched(statement + where, values)
        return found

    @abstractmethod
    def kinds(self, names: Sequence[str]) -> dict[str, str]:
        """Return the kinds of the columns (see `kind_of`), for those where that is known."""

    def _batches(self, asked: pa.Table | None) -> Iterator[tuple[str, list[Any]]]:
        """Return conditions, with the values for their marks."""
        if asked is None:
            yield "", []
            return
        known = ", ".join(map(self.quote, asked.column_names))
        row = f"({', '.join([self.mark] * asked.num_columns)})"
        for batch in asked.to_batches(max_chunksize=BATCH):
            rows = zip(*(column.to_pylist() for column in batch.columns), strict=True)
            where = f" WHERE ({known}) IN (VALUES {', '.join([row] * batch.num_rows)})"
            yield where, [value for one in rows for value in one]

    @abstractmethod
    def fetched(self, statement: str, values: list[Any]) -> list[tuple[Any, ...]]: ...
