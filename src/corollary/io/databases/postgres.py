"""Tables of PostgreSQL: read and written in bulk by COPY, asked for some rows, and published to."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.csv as arrow_csv

from corollary.diagnostics import Diagnostic, ProgramError, catalogue
from corollary.diagnostics.packages import optional_package
from corollary.io.databases.sql import AskedInBatches, SourceFailed, quoted, rows_source, shown
from corollary.io.options import ReadOptions
from corollary.io.publication import Origin, not_published
from corollary.language.cells import MEANING

if TYPE_CHECKING:
    import psycopg

_ARROW = {  # by the number of the type in PostgreSQL
    16: pa.bool_(),
    20: pa.int64(),
    21: pa.int64(),
    23: pa.int64(),
    700: pa.float64(),
    701: pa.float64(),
    1082: pa.date32(),
    1114: pa.timestamp("us"),
    1184: pa.timestamp("us", "UTC"),
}
_NUMERIC = 1700
_KINDS = {
    **dict.fromkeys((20, 21, 23, 700, 701, 1700), "number"), **dict.fromkeys((18, 19, 25, 1042, 1043), "text"),
    16: "bool", 1082: "date", 1083: "time", 1266: "time", 1114: "moment", 1184: "moment with a zone",
}  # fmt: skip
"""The kinds of values (see `kind_of`) of the types whose values are asked for, by the number of the type."""
_WRITTEN = [
    (pa.types.is_int64, "bigint"),
    (pa.types.is_floating, "double precision"),
    (pa.types.is_boolean, "boolean"),
    (pa.types.is_decimal, "numeric"),
    (pa.types.is_date, "date"),
    (pa.types.is_time, "time without time zone"),
]
_ORIGINS = "corollary_publications"


def connect(address: str, user: str | None = None, password: str | None = None) -> psycopg.Connection[Any]:
    with optional_package("psycopg", "PostgreSQL"):
        import psycopg
    given: dict[str, Any] = {"user": user, "password": password}
    try:
        return psycopg.connect(address, **{name: one for name, one in given.items() if one is not None})
    except psycopg.Error as error:
        message = f"cannot connect to {shown(address)}: {_first_line(error)}"
        raise ProgramError([Diagnostic(catalogue.UNREADABLE_DATA, message)]) from None


def _first_line(error: Exception) -> str:
    return str(error).strip().partition("\n")[0]


# -- read --------------------------------------------------------------------------------------------------------------


def read_rows(address: str, options: ReadOptions) -> pa.Table:
    """Return the rows of a table or of a query, with nulls where there are any."""
    with optional_package("psycopg", "PostgreSQL", options.span):
        import psycopg

    source = rows_source(options.table, options.query, options.span)
    with connect(address, options.user, options.password) as connection:
        try:
            connection.execute("SET TIME ZONE 'UTC'")
            return _copied(connection, source, options)
        except psycopg.Error as error:
            message = f"cannot read {options.table or 'the query'} of {shown(address)}: {str(error).strip()}"
            raise ProgramError([Diagnostic(catalogue.UNREADABLE_DATA, message, options.span)]) from None


def _copied(connection: psycopg.Connection[Any], source: str, options: ReadOptions) -> pa.Table:
    chosen = ", ".join(map(quoted, options.columns)) if options.columns else "*"
    described = connection.execute(f"SELECT {chosen} FROM {source} LIMIT 0").description or []
    names = [f"a{place}" for place in range(1, len(described) + 1)]
    types = {name: _ARROW.get(column.type_code, pa.string()) for name, column in zip(names, described, strict=True)}
    cursor = connection.cursor()
    with cursor.copy(f"COPY (SELECT {chosen} FROM {source}) TO STDOUT (FORMAT csv, FORCE_QUOTE *)") as copy:
        data = b"".join(bytes(piece) for piece in copy)
    if not data:
        return pa.table({name: pa.array([], types[name]) for name in names})
    table = arrow_csv.read_csv(
        io.BytesIO(data),
        read_options=arrow_csv.ReadOptions(column_names=names),
        parse_options=arrow_csv.ParseOptions(newlines_in_values=True),
        convert_options=arrow_csv.ConvertOptions(
            column_types=types,
            null_values=[""],
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,
            true_values=["t"],
            false_values=["f"],
        ),
    )
    for name, column in zip(names, described, strict=True):
        if column.type_code == _NUMERIC:
            table = table.set_column(table.column_names.index(name), name, _decimals(table.column(name)))
    return table


def _decimals(texts: pa.ChunkedArray) -> pa.Array:
    """Return decimals of the least width that holds all of them."""
    encoded = texts.combine_chunks().dictionary_encode()
    values = [Decimal(text) if text is not None else None for text in encoded.dictionary.to_pylist()]
    return pa.array([value if value is None or value.is_finite() else None for value in values]).take(encoded.indices)


# -- asked -------------------------------------------------------------------------------------------------------------


class AskedPostgres(AskedInBatches):
    """A table that takes values as parameters."""

    mark = "%s"

    def __init__(
        self,
        place: str,
        table: str | None = None,
        query: str | None = None,
        user: str | None = None,
        password: str | None = None,
    ) -> None:
        self._place, self.source = place, rows_source(table, query).replace("%", "%%")
        self._user, self._password = user, password

    def columns(self) -> list[str]:
        return [column.name for column in self._described("*")]

    def kinds(self, names: Sequence[str]) -> dict[str, str]:
        described = self._described(", ".join(map(quoted, names)))
        return {column.name: _KINDS[column.type_code] for column in described if column.type_code in _KINDS}

    def _described(self, columns: str) -> list[Any]:
        return self._executed(
            f"SELECT {columns} FROM {self.source} LIMIT 0", [], lambda cursor: cursor.description or []
        )

    def fetched(self, statement: str, values: list[Any]) -> list[tuple[Any, ...]]:
        return self._executed(statement, values, lambda cursor: cursor.fetchall())

    def _executed(self, statement: str, values: list[Any], result: Callable[[Any], list[Any]]) -> list[Any]:
        with optional_package("psycopg", "PostgreSQL"):
            import psycopg

        with connect(self._place, self._user, self._password) as connection:
            try:
                return result(connection.execute(statement.encode(), values))
            except psycopg.Error as error:
                raise SourceFailed(_first_line(error)) from error


# -- published ---------------------------------------------------------------------------------------------------------


class PostgresTables:
    """A table for each predicate in one schema. All changes of a transaction are one transaction of the database."""

    def __init__(
        self, address: str, schema: str = "public", user: str | None = None, password: str | None = None
    ) -> None:
        self._address = address
        self._schema = schema
        self._connection = connect(address, user, password)

    @contextmanager
    def changing(self) -> Iterator[None]:
        with optional_package("psycopg", "PostgreSQL"):
            import psycopg

        try:
            with self._connection.transaction():
                yield
        except psycopg.Error as error:
            raise not_published(f"cannot publish to {shown(self._address)}: {_first_line(error)}") from None

    def origin(self) -> Origin | None:
        with self.changing():
            self._run(f"CREATE SCHEMA IF NOT EXISTS {quoted(self._schema)}")
            self._run(
                f"CREATE TABLE IF NOT EXISTS {self._name(_ORIGINS)} (store text, version bigint, predicates text)"
            )
            rows = self._run(f"SELECT store, version, predicates FROM {self._name(_ORIGINS)}").fetchall()
        return Origin(rows[0][0], rows[0][1], tuple(json.loads(rows[0][2]))) if rows else None

    def set_origin(self, origin: Origin) -> None:
        self._run(f"DELETE FROM {self._name(_ORIGINS)}")
        values = (origin.store, origin.version, json.dumps(list(origin.predicates)))
        self._run(f"INSERT INTO {self._name(_ORIGINS)} VALUES (%s, %s, %s)", values)

    def replace(self, predicate: str, table: pa.Table) -> None:
        name = self._name(predicate)
        self._run(f"DROP TABLE IF EXISTS {name}")
        columns = ", ".join(f"{quoted(field.name)} {_type(field)} NOT NULL" for field in table.schema)
        self._run(f"CREATE TABLE {name} ({columns})")
        for field in table.schema:
            if meaning := (field.metadata or {}).get(MEANING):
                self._run(f"COMMENT ON COLUMN {name}.{quoted(field.name)} IS 'corollary: {meaning.decode()}'")
        self._copy(name, table)
        self._run(f"CREATE INDEX ON {name} ({quoted(table.column_names[0])})")

    def change(self, predicate: str, gone: pa.Table, new: pa.Table, *, again: bool = False) -> bool:
        name = self._name(predicate)
        known = self._columns(predicate)
        if not all(_described(side.schema) == known for side in (gone, new) if side.num_rows):
            return False
        if gone.num_rows:
            self._run(f"CREATE TEMPORARY TABLE corollary_gone (LIKE {name}) ON COMMIT DROP")
            self._copy("corollary_gone", gone)
            same = " AND ".join(f"kept.{quoted(one)} = gone.{quoted(one)}" for one in gone.column_names)
            self._run(f"DELETE FROM {name} AS kept USING corollary_gone AS gone WHERE {same}")
            self._run("DROP TABLE corollary_gone")
        if new.num_rows:
            self._copy(name, new)
        return True

    def _columns(self, predicate: str) -> list[tuple[str, str, str]]:
        rows = self._run(
            "SELECT attname, format_type(atttypid, atttypmod), coalesce(col_description(attrelid, attnum), '') "
            "FROM pg_attribute WHERE attrelid = to_regclass(%s) AND attnum > 0 AND NOT attisdropped ORDER BY attnum",
            (self._name(predicate),),
        )
        return [(name, kind, comment.removeprefix("corollary: ")) for name, kind, comment in rows.fetchall()]

    def _copy(self, name: str, table: pa.Table) -> None:
        text = io.BytesIO()
        options = arrow_csv.WriteOptions(include_header=False, quoting_style="all_valid")
        arrow_csv.write_csv(table, text, options)
        with self._connection.cursor().copy(f"COPY {name} FROM STDIN (FORMAT csv)") as copy:
            copy.write(text.getvalue())

    def _run(self, sql: str, values: tuple[Any, ...] | None = None) -> psycopg.Cursor[Any]:
        return self._connection.execute(sql, values)

    def _name(self, table: str) -> str:
        return f"{quoted(self._schema)}.{quoted(table)}"


def _type(field: pa.Field) -> str:
    if pa.types.is_timestamp(field.type):
        return "timestamp with time zone" if field.type.tz else "timestamp without time zone"
    return next((name for fits, name in _WRITTEN if fits(field.type)), "text")


def _described(schema: pa.Schema) -> list[tuple[str, str, str]]:
    return [(field.name, _type(field), (field.metadata or {}).get(MEANING, b"").decode()) for field in schema]
