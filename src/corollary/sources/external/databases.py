"""Tables of databases as sources: the known values go there, and only rows that have them come back."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from decimal import Decimal
from typing import Any, Protocol

import pyarrow as pa

from corollary.sources.external.asked import asked_tables, kind_of
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
        nothing = self._run(f"{statement} LIMIT 0")
        tables = [nothing]
        kinds = {field.name: kind_of(field.type) for field in nothing.schema}
        for one in _asked(asked, kinds):
            where = ""
            if one is not None:
                known = ", ".join(map(quoted, one.column_names))
                own = ", ".join(_as_text(name) if kinds[name] == "text" else quoted(name) for name in one.column_names)
                where = f" WHERE ({own}) IN (SELECT ({known}) FROM corollary_asked)"
            tables.append(self._run(statement + where, one))
        return pa.concat_tables(tables)


def _as_text(name: str) -> str:
    """A column that Arrow knows as text; DuckDB may have other types for it, and compares none of them with texts."""
    return f"CAST({quoted(name)} AS VARCHAR)"


def _asked(asked: pa.Table | None, kinds: Mapping[str, str]) -> list[pa.Table | None]:
    return [None] if asked is None else asked_tables(asked, kinds)


class _Batched:
    """A database that takes values as parameters, some hundred rows at a time."""

    source: str
    mark = "?"
    quote = staticmethod(quoted)

    def rows(self, names: Sequence[str], asked: pa.Table | None) -> list[tuple[Any, ...]]:
        found: list[tuple[Any, ...]] = []
        statement = _select(names, self.source, self.quote)
        for one in _asked(asked, self.kinds(names) if asked is not None else {}):
            for where, values in self._batches(one):
                found += self.fetched(statement + where, values)
        return found

    def kinds(self, names: Sequence[str]) -> dict[str, str]:
        """What the columns hold, of those where that is known (see `kind_of`)."""
        raise NotImplementedError

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

    def kinds(self, names: Sequence[str]) -> dict[str, str]:
        return {}  # a column may hold anything

    def fetched(self, statement: str, values: list[Any]) -> list[tuple[Any, ...]]:
        if any(isinstance(value, Decimal) for value in values):
            return []  # SQLite has none
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
        return [column.name for column in self._described("*")]

    def kinds(self, names: Sequence[str]) -> dict[str, str]:
        described = self._described(", ".join(map(quoted, names)))
        return {column.name: _POSTGRES[column.type_code] for column in described if column.type_code in _POSTGRES}

    def _described(self, columns: str) -> list[Any]:
        return self._executed(
            f"SELECT {columns} FROM {self.source} LIMIT 0", [], lambda cursor: cursor.description or []
        )

    def fetched(self, statement: str, values: list[Any]) -> list[tuple[Any, ...]]:
        return self._executed(statement, values, lambda cursor: cursor.fetchall())

    def _executed(self, statement: str, values: list[Any], result: Callable[[Any], list[Any]]) -> list[Any]:
        import psycopg

        with connect(self._place, self._user, self._password) as connection:
            try:
                return result(connection.execute(statement.encode(), values))
            except psycopg.Error as error:
                raise SourceFailed(str(error).strip().partition("\n")[0]) from error


_POSTGRES = {
    **dict.fromkeys((20, 21, 23, 700, 701, 1700), "number"), **dict.fromkeys((18, 19, 25, 1042, 1043), "text"),
    16: "bool", 1082: "date", 1083: "time", 1266: "time", 1114: "moment", 1184: "moment with a zone",
}  # fmt: skip
"""What the types of PostgreSQL hold, by their numbers."""
_SPARK = {
    **dict.fromkeys(("byte", "short", "integer", "long", "float", "double", "decimal"), "number"), "string": "text",
    "boolean": "bool", "date": "date", "timestamp_ntz": "moment",
}  # fmt: skip


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
        nothing = self._read(f"{statement} WHERE 1 = 0")
        types = {field.name: field.dataType.typeName() for field in nothing.schema.fields}
        kinds = {name: _SPARK[kind] for name, kind in types.items() if kind in _SPARK}
        tables = [nothing.toArrow()]
        for one in asked_tables(asked, kinds):
            tables += self._batches(statement, one)
        return pa.concat_tables(tables)

    def _batches(self, statement: str, asked: pa.Table | None) -> Iterator[pa.Table]:
        if asked is None:
            yield self._read(statement).toArrow()
            return
        known = ", ".join(map(quoted, asked.column_names))
        for batch in asked.to_batches(max_chunksize=_BATCH):
            rows = zip(*(column.to_pylist() for column in batch.columns), strict=True)
            values = ", ".join(f"({', '.join(map(_literal, row))})" for row in rows)
            yield self._read(f"{statement} WHERE ({known}) IN ({values})").toArrow()


def _literal(value: Any) -> str:
    """A value as SQL writes it."""
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, (int, float)):
        return repr(value)
    return "'" + str(value).replace("'", "''") + "'"
