"""Tables of databases as sources: the known values go there, and only rows that have them come back."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from typing import Any, Protocol

import pyarrow as pa

from corollary.sources.external.source import SourceFailed
from corollary.sources.options import option_error
from corollary.sources.postgres import connect, quoted

_BATCH = 500  # rows of values in one statement


class Table(Protocol):
    """A table, or a query, of a database."""

    def columns(self) -> list[str]: ...

    def rows(self, names: Sequence[str], asked: pa.Table | None) -> Any:
        """The rows with these columns that have the asked values; all of them without."""
        ...


def _from(table: str | None, query: str | None) -> str:
    if (table is None) == (query is None):
        raise option_error("a database needs 'table' or 'query', and not both", None)
    return f"({query}) AS facts" if query is not None else ".".join(map(quoted, (table or "").split(".")))


def _select(names: Sequence[str], source: str, quote: Callable[[str], str] = quoted) -> str:
    return f"SELECT {', '.join(map(quote, names))} FROM {source}"


class DuckDb:
    """DuckDB joins with the values themselves, without a copy."""

    def __init__(self, place: Any, table: str | None = None, query: str | None = None) -> None:
        self._place, self._source = place, _from(table, query)

    def _run(self, statement: str, asked: pa.Table | None = None) -> pa.Table:
        import duckdb

        try:
            connection = duckdb.connect(self._place, read_only=True) if isinstance(self._place, str) else self._place
            if asked is not None:
                connection.register("corollary_asked", asked)
            return connection.sql(statement).to_arrow_table()
        except duckdb.Error as error:
            raise SourceFailed(str(error)) from error

    def columns(self) -> list[str]:
        return list(self._run(f"SELECT * FROM {self._source} LIMIT 0").column_names)

    def rows(self, names: Sequence[str], asked: pa.Table | None) -> pa.Table:
        statement = _select(names, self._source)
        if asked is not None:
            known = ", ".join(map(quoted, asked.column_names))
            statement += f" WHERE ({known}) IN (SELECT ({known}) FROM corollary_asked)"
        return self._run(statement, asked)


class _Batched:
    """A database that takes values as parameters, some hundred rows at a time."""

    source: str
    mark = "?"
    quote = staticmethod(quoted)

    def rows(self, names: Sequence[str], asked: pa.Table | None) -> list[tuple[Any, ...]]:
        found: list[tuple[Any, ...]] = []
        for where, values in self._batches(asked):
            found += self.fetched(_select(names, self.source, self.quote) + where, values)
        return found

    def _batches(self, asked: pa.Table | None) -> Iterator[tuple[str, list[Any]]]:
        """Conditions, with the values for their marks."""
        if asked is None:
            yield "", []
            return
        known = ", ".join(map(self.quote, asked.column_names))
        row = f"({', '.join([self.mark] * asked.num_columns)})"
        for batch in asked.to_batches(max_chunksize=_BATCH):
            rows = zip(*(column.to_pylist() for column in batch.columns), strict=True)
            where = f" WHERE ({known}) IN (VALUES {', '.join([row] * batch.num_rows)})"
            yield where, [value for one in rows for value in one]

    def fetched(self, statement: str, values: list[Any]) -> list[tuple[Any, ...]]:
        raise NotImplementedError


def _named(name: str) -> str:
    """A name for SQLite, which takes a name in double quotes that there is not for a text."""
    return "`" + name.replace("`", "``") + "`"


class Sqlite(_Batched):
    quote = staticmethod(_named)

    def __init__(self, place: Any, table: str | None = None, query: str | None = None) -> None:
        self._place, self.source = place, _from(table, query)

    def _connected(self) -> Any:
        if not isinstance(self._place, str):
            return _Left(self._place)
        return closing(sqlite3.connect(f"file:{self._place}?mode=ro", uri=True))

    def columns(self) -> list[str]:
        try:
            with self._connected() as connection:
                described = connection.execute(f"SELECT * FROM {self.source} LIMIT 0").description
                return [column[0] for column in described]
        except sqlite3.Error as error:
            raise SourceFailed(str(error)) from error

    def fetched(self, statement: str, values: list[Any]) -> list[tuple[Any, ...]]:
        try:
            with self._connected() as connection:
                found: list[tuple[Any, ...]] = connection.execute(statement, values).fetchall()
                return found
        except sqlite3.Error as error:
            raise SourceFailed(str(error)) from error


class _Left:
    """A connection of the user's, which stays open."""

    def __init__(self, connection: Any) -> None:
        self._connection = connection

    def __enter__(self) -> Any:
        return self._connection

    def __exit__(self, *error: object) -> None:
        return None


class Postgres(_Batched):
    mark = "%s"

    def __init__(
        self,
        place: str,
        table: str | None = None,
        query: str | None = None,
        user: str | None = None,
        password: str | None = None,
    ) -> None:
        self._place, self.source = place, _from(table, query).replace("%", "%%")
        self._user, self._password = user, password

    def columns(self) -> list[str]:
        with connect(self._place, self._user, self._password) as connection:
            described = connection.execute(f"SELECT * FROM {self.source} LIMIT 0".encode()).description or []
            return [column.name for column in described]

    def fetched(self, statement: str, values: list[Any]) -> list[tuple[Any, ...]]:
        import psycopg

        with connect(self._place, self._user, self._password) as connection:
            try:
                return connection.execute(statement.encode(), values).fetchall()
            except psycopg.Error as error:
                raise SourceFailed(str(error).strip().partition("\n")[0]) from error


class Jdbc:
    """A table that Spark reads; the values stand in the query that the database runs."""

    def __init__(self, place: str, table: str | None = None, query: str | None = None, **options: str) -> None:
        self._place, self._source, self._options = place, _from(table, query), options

    def _read(self, statement: str) -> Any:
        from corollary.engines.spark.session import start_session

        reader = start_session().read.format("jdbc").option("url", self._place).option("query", statement)
        return reader.options(**self._options).load()

    def columns(self) -> list[str]:
        return list(self._read(f"SELECT * FROM {self._source} WHERE 1 = 0").columns)

    def rows(self, names: Sequence[str], asked: pa.Table | None) -> pa.Table:
        statement = _select(names, self._source)
        if asked is None:
            return self._read(statement).toArrow()
        known = ", ".join(map(quoted, asked.column_names))
        tables = []
        for batch in asked.to_batches(max_chunksize=_BATCH):
            rows = zip(*(column.to_pylist() for column in batch.columns), strict=True)
            values = ", ".join(f"({', '.join(map(_literal, row))})" for row in rows)
            tables.append(self._read(f"{statement} WHERE ({known}) IN ({values})").toArrow())
        return pa.concat_tables(tables)


def _literal(value: Any) -> str:
    """A value as SQL writes it."""
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, (int, float)):
        return repr(value)
    return "'" + str(value).replace("'", "''") + "'"
