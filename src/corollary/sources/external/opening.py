"""From what a user gives to a source: a Python function, a database by its address, or a connection to one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa

from corollary.sources.external.databases import DuckDb, Jdbc, Postgres, Sqlite, Table
from corollary.sources.external.source import ExternalSource, SourceFailed, failed
from corollary.sources.options import option_error

_SQLITE = (".db", ".sqlite", ".sqlite3")


def opened_source(
    predicate: str,
    source: Any,
    columns: Sequence[str] | None = None,
    needs: Sequence[str] | None = None,
    **options: Any,
) -> ExternalSource:
    """A function needs `columns`, and is asked with the first of them unless `needs` says otherwise; a database needs a table."""
    if callable(source) and not hasattr(source, "execute"):
        if not columns:
            raise option_error(f"a function as the source of '{predicate}' needs 'columns'", None, "name its arguments")
        wanted = frozenset(columns[:1] if needs is None else needs)
        return _checked(ExternalSource(predicate, tuple(columns), wanted, _called(source)))
    table = _database(source, options)
    try:
        names = tuple(columns or table.columns())
    except SourceFailed as error:
        raise failed(predicate, error) from error
    rows = partial(_facts, table, names)
    return _checked(ExternalSource(predicate, names, frozenset(needs or ()), rows))


def _facts(table: Table, names: Sequence[str], asked: pa.Table | None) -> Any:
    """The rows of a table without those that have a NULL, which no constant stands for."""
    found = table.rows(names, asked)
    return found.drop_null() if isinstance(found, pa.Table) else [row for row in found if None not in row]


def _checked(source: ExternalSource) -> ExternalSource:
    if wrong := sorted(source.needs - set(source.columns)):
        raise option_error(f"'{wrong[0]}' is no column of '{source.predicate}'", None, f"there are {source.columns}")
    return source


def _called(function: Callable[..., Any]) -> Callable[[pa.Table | None], Any]:
    def rows(asked: pa.Table | None) -> Any:
        try:
            found = function(asked)
        except Exception as error:  # whatever a user's function raises
            raise SourceFailed(f"{type(error).__name__}: {error}") from error
        if not isinstance(found, (pa.Table, Iterable)):
            raise SourceFailed(f"the function gave {'None' if found is None else type(found).__name__} instead of rows")
        return found

    return rows


def _database(source: Any, options: dict[str, Any]) -> Table:
    place = str(source) if isinstance(source, (str, Path)) else None
    kind = type(source).__module__.partition(".")[0]
    if place is None and "sqlite3" in kind:
        return Sqlite(source, **options)
    if place is None and "duckdb" in kind:
        return DuckDb(source, **options)
    if place is not None and place.startswith(("postgresql://", "postgres://")):
        return Postgres(place, **options)
    if place is not None and place.startswith("jdbc:"):
        return Jdbc(place, **options)
    if place is not None and place.endswith(_SQLITE):
        return Sqlite(place, **options)
    if place is not None and place.endswith(".duckdb"):
        return DuckDb(place, **options)
    hint = "a function, postgresql://…, jdbc:…, a file .duckdb, .sqlite or .db, or a connection to DuckDB or SQLite"
    raise option_error(f"{source!r} is no source of facts", None, hint)
