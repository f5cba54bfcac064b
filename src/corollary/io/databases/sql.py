"""The SQL that databases share, and tables that are asked for rows: the known values go there, and only rows that have them come
back."""

from __future__ import annotations

import datetime as dt
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any, Protocol

import pyarrow as pa

from corollary.diagnostics import Span
from corollary.io.options import option_error
from corollary.language.cells import IRIS, MEANING, TERMS, cell_value, term_value
from corollary.program.python_values import to_python
from corollary.program.values import XSD, Literal

# -- asked -------------------------------------------------------------------------------------------------------------

# The values that a database is asked for, in tables of one kind of value per column: databases do not compare across kinds.

_WORD = re.compile(r"[a-z][a-zA-Z0-9_]*")
_MOST_DIGITS = 28
_ANY, _NEVER = object(), object()
"""A value that cannot be sent, and one that no database holds."""
_MOMENTS = {XSD + name for name in ("date", "dateTime", "time")}


def asked_tables(asked: pa.Table, kinds: Mapping[str, str]) -> list[pa.Table | None]:
    """Return tables that together ask for every row that may have the values; None asks for all rows.

    `kinds` tells what the columns of the database hold, of those where that is known.
    """
    groups = _groups(asked) if any(map(_is_mixed, asked.schema)) else [asked]
    return [
        one
        for one in groups
        if one is None or all(kinds.get(field.name, own := kind_of(field.type)) == own for field in one.schema)
    ]


def kind_of(arrow: pa.DataType) -> str:
    """Return the kind of constant in a column of this type; constants of two kinds are never the same."""
    if pa.types.is_dictionary(arrow):
        return kind_of(arrow.value_type)
    if pa.types.is_integer(arrow) or pa.types.is_floating(arrow) or pa.types.is_decimal(arrow):
        return "number"
    if pa.types.is_string(arrow) or pa.types.is_large_string(arrow) or pa.types.is_string_view(arrow):
        return "text"
    if pa.types.is_timestamp(arrow):
        return "moment" if arrow.tz is None else "moment with a zone"
    return "date" if pa.types.is_date(arrow) else "time" if pa.types.is_time(arrow) else str(arrow)


def _is_mixed(field: pa.Field) -> bool:
    return bool(field.metadata and MEANING in field.metadata) or pa.types.is_decimal(field.type)


def _groups(asked: pa.Table) -> Iterator[pa.Table | None]:
    groups: dict[tuple[Any, ...], list[tuple[Any, ...]]] = {}
    for row in zip(*map(_values, asked.schema, asked.columns), strict=True):
        if not any(value is _NEVER for value in row):
            groups.setdefault(tuple(map(_type, row)), []).append(row)
    for types, rows in groups.items():
        columns = {
            name: pa.array(column)
            for name, column, kind in zip(asked.column_names, zip(*rows, strict=True), types, strict=True)
            if kind is not object
        }
        yield pa.table(columns) if columns else None


def _type(value: Any) -> Any:
    return (type(value), getattr(value, "tzinfo", None)) if isinstance(value, (dt.datetime, dt.time)) else type(value)


def _values(field: pa.Field, column: pa.ChunkedArray) -> list[Any]:
    meaning = (field.metadata or {}).get(MEANING)
    if meaning == IRIS:
        return [_NEVER] * len(column)
    return [_sent(_term(value) if meaning == TERMS else value) for value in column.to_pylist()]


def _term(text: str) -> Any:
    if _WORD.fullmatch(text):
        return cell_value(text)
    found = text if text.startswith('"') else cell_value(text)
    return to_python(term_value(text)) if found is text else found


def _sent(value: Any) -> Any:
    """The value as databases take it: integers as such, decimals of a length that all of them have."""
    if isinstance(value, Decimal) and value == value.to_integral_value():
        value = int(value)
    if isinstance(value, int) and not -(2**63) <= value < 2**63:
        value = Decimal(value)
    if isinstance(value, Decimal):
        _, digits, exponent = value.as_tuple()
        return value if len(digits) + abs(int(exponent)) <= _MOST_DIGITS else _ANY
    if isinstance(value, Literal):
        return _ANY if value.datatype in _MOMENTS else _NEVER
    return value if isinstance(value, (bool, int, float, str, dt.date, dt.time)) else _NEVER


# -- sql ---------------------------------------------------------------------------------------------------------------

BATCH = 500  # rows of values in one statement


class SourceFailed(Exception):
    """Raised if a source fails; the message says why."""


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
