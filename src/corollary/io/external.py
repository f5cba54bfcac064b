"""External sources: predicates whose facts stay in a function or a database, which is asked when a query needs them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa

from corollary.diagnostics import Diagnostic, ProgramError, catalogue
from corollary.io.databases import JDBC, POSTGRES
from corollary.io.databases.sql import AskedTable, SourceFailed
from corollary.io.options import option_error

_SQLITE = (".db", ".sqlite", ".sqlite3")
Rows = Callable[[pa.Table | None], Any]
"""Given a table of distinct known values, with the names of their columns: all rows that have them, as `insert` takes facts.
Without a table: all rows."""


@dataclass(frozen=True)
class ExternalSource:
    """`columns` are the arguments of the predicate, `needs` those that have to be known before the source can be asked."""

    predicate: str
    columns: tuple[str, ...]
    needs: frozenset[str]
    rows: Rows

    def ask(self, known: Sequence[int], values: pa.Table) -> Any:
        """Return the rows for these values of the arguments at these places."""
        names = [self.columns[place] for place in known]
        if missing := sorted(self.needs - set(names)):
            raise unaskable(self.predicate, missing)
        return self._asked(values.rename_columns(names))

    def everything(self) -> Any:
        if self.needs:
            raise unaskable(self.predicate, sorted(self.needs))
        return self._asked(None)

    def _asked(self, values: pa.Table | None) -> Any:
        try:
            return self.rows(values)
        except SourceFailed as error:
            raise failed(self.predicate, error) from error


def failed(predicate: str, error: SourceFailed) -> ProgramError:
    return ProgramError([Diagnostic(catalogue.FAILED_SOURCE, f"the source of '{predicate}': {error}")])


def unaskable(predicate: str, missing: Sequence[str]) -> ProgramError:
    names = ", ".join(f"'{name}'" for name in missing)
    message = f"the source of '{predicate}' needs a value of {names}"
    hint = "bind it with a constant or another atom, and answer the query on demand: mode='demand'"
    return ProgramError([Diagnostic(catalogue.UNASKABLE_SOURCE, message, None, hint)])


# -- from what a user gives ----------------------------------------------------------------------------------------------


def opened_source(
    predicate: str,
    source: Any,
    columns: Sequence[str] | None = None,
    needs: Sequence[str] | None = None,
    **options: Any,
) -> ExternalSource:
    """Return the source that a user gave: a Python function, a database by its address, or a connection to one.

    A function needs `columns`, and is asked with the first of them unless `needs` says otherwise; a database needs a table."""
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


def _facts(table: AskedTable, names: Sequence[str], asked: pa.Table | None) -> Any:
    """Return the rows without a NULL, since no constant stands for it."""
    found = table.rows(names, asked)
    return found.drop_null() if isinstance(found, pa.Table) else [row for row in found if None not in row]


def _checked(source: ExternalSource) -> ExternalSource:
    if wrong := sorted(source.needs - set(source.columns)):
        raise option_error(f"'{wrong[0]}' is not a column of '{source.predicate}'", None, f"there are {source.columns}")
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


def _database(source: Any, options: dict[str, Any]) -> AskedTable:
    place = str(source) if isinstance(source, (str, Path)) else None
    kind = type(source).__module__.partition(".")[0]
    if "sqlite3" in kind if place is None else place.endswith(_SQLITE):
        from corollary.io.databases.sqlite import AskedSqlite

        return AskedSqlite(source if place is None else place, **options)
    if "duckdb" in kind if place is None else place.endswith(".duckdb"):
        from corollary.io.databases.duckdb import AskedDuckDb

        return AskedDuckDb(source if place is None else place, **options)
    if place is not None and place.startswith(POSTGRES):
        from corollary.io.databases.postgres import AskedPostgres

        return AskedPostgres(place, **options)
    if place is not None and place.startswith(JDBC):
        from corollary.io.databases.jdbc import AskedJdbc

        return AskedJdbc(place, **options)
    hint = "a function, postgresql://…, jdbc:…, a file .duckdb, .sqlite or .db, or a connection to DuckDB or SQLite"
    raise option_error(f"{source!r} is not a source of facts", None, hint)
