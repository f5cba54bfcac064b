"""Tables of databases that Spark reads and writes through JDBC.

Tasks write rows into a new table, over several connections and without a common transaction. One transaction of the driver then
makes it the table that was asked for, or adds its rows to that. Readers see the old rows or the new ones.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from corollary.diagnostics import Span, catalogue
from corollary.engines.spark_session.failures import named_failures
from corollary.io.atomic import unwritable
from corollary.io.databases.sql import BATCH, asked_tables, quoted, rows_source, select, shown
from corollary.io.options import ReadOptions, option_error

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

MODES = ("overwrite", "append", "error")
_POSTGRES_DRIVER = "org.postgresql.Driver"
_LONGEST_NAME = 63  # bytes of an identifier of PostgreSQL, which cuts longer ones without a word
_KINDS = {
    **dict.fromkeys(("byte", "short", "integer", "long", "float", "double", "decimal"), "number"), "string": "text",
    "boolean": "bool", "date": "date", "timestamp_ntz": "moment",
}  # fmt: skip
"""The kinds of values (see `kind_of`) of Spark's types."""


def _options(url: str, user: str | None, password: str | None, driver: str | None) -> dict[str, str]:
    if driver is None and url.startswith("jdbc:postgresql:"):
        driver = _POSTGRES_DRIVER
    given = {"url": url, "user": user, "password": password, "driver": driver}
    return {name: one for name, one in given.items() if one is not None}


def _add_jar(spark: SparkSession, jar: str | None, span: Span | None = None) -> None:
    """Make a jar that has a driver a part of the session."""
    if jar is not None:
        if "'" in jar:
            raise option_error("the path of a jar cannot have a quote", span)
        spark.sql(f"ADD JAR '{jar}'")


# -- read --------------------------------------------------------------------------------------------------------------


def read(spark: SparkSession, url: str, options: ReadOptions) -> tuple[str, DataFrame]:
    """Return what messages call the rows of a table, or of a query, and these rows."""
    if (options.table is None) == (options.query is None):
        raise options.error('a database needs table = "…" or query = "…"')
    name = f"{shown(url)} ({options.table or 'query'})"
    with named_failures("ingest", f"the jar {options.jar}", options.span, catalogue.UNREADABLE_DATA):
        _add_jar(spark, options.jar, options.span)
    reader = spark.read.format("jdbc").options(**_options(url, options.user, options.password, options.driver))
    what = ("dbtable", options.table) if options.table is not None else ("query", options.query)
    with named_failures("ingest", name, options.span, catalogue.UNREADABLE_DATA):
        return name, reader.option(*what).load()


# -- asked -------------------------------------------------------------------------------------------------------------


class AskedJdbc:
    """A table that Spark reads; the values stand in the query that the database runs."""

    def __init__(self, place: str, table: str | None = None, query: str | None = None, **options: str) -> None:
        self._place, self._source, self._options = place, rows_source(table, query), options

    def _read(self, statement: str) -> Any:
        from corollary.engines.spark_session.session import start_session

        reader = start_session().read.format("jdbc").option("url", self._place).option("query", statement)
        return reader.options(**self._options).load()

    def columns(self) -> list[str]:
        return list(self._read(f"SELECT * FROM {self._source} WHERE 1 = 0").columns)

    def rows(self, names: Sequence[str], asked: pa.Table | None) -> pa.Table:
        statement = select(names, self._source)
        if asked is None:
            return self._read(statement).toArrow()
        nothing = self._read(f"{statement} WHERE 1 = 0")
        types = {field.name: field.dataType.typeName() for field in nothing.schema.fields}
        kinds = {name: _KINDS[kind] for name, kind in types.items() if kind in _KINDS}
        tables = [nothing.toArrow()]
        for one in asked_tables(asked, kinds):
            tables += self._batches(statement, one)
        return pa.concat_tables(tables)

    def _batches(self, statement: str, asked: pa.Table | None) -> Iterator[pa.Table]:
        if asked is None:
            yield self._read(statement).toArrow()
            return
        known = ", ".join(map(quoted, asked.column_names))
        for batch in asked.to_batches(max_chunksize=BATCH):
            rows = zip(*(column.to_pylist() for column in batch.columns), strict=True)
            values = ", ".join(f"({', '.join(map(_literal, row))})" for row in rows)
            yield self._read(f"{statement} WHERE ({known}) IN ({values})").toArrow()


def _literal(value: Any) -> str:
    """Return a value as SQL writes it."""
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, (int, float)):
        return repr(value)
    return "'" + str(value).replace("'", "''") + "'"


# -- written -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class JdbcTable:
    """A table to write: `table` is its name, or `schema.name`; both may hold any character but a point."""

    url: str
    table: str
    user: str | None = None
    password: str | None = field(default=None, repr=False)
    driver: str | None = None
    jar: str | None = None

    def __post_init__(self) -> None:
        if not self.url.startswith("jdbc:postgresql:"):
            raise option_error(f"cannot write to {shown(self.url)}", None, "the url starts with jdbc:postgresql:")
        parts = self.table.split(".")
        if (
            len(parts) > 2
            or not all(parts)
            or any("\0" in part or len(part.encode()) > _LONGEST_NAME for part in parts)
        ):
            raise option_error(f"'{self.table}' is not the name of a table", None, "write table or schema.table")

    @property
    def schema_and_name(self) -> tuple[str | None, str]:
        schema, _, name = self.table.rpartition(".")
        return schema or None, name

    def beside(self, name: str) -> str:
        """Return the name of a table in the same schema, quoted."""
        schema, _ = self.schema_and_name
        return quoted(name) if schema is None else f"{quoted(schema)}.{quoted(name)}"

    @property
    def quoted(self) -> str:
        return self.beside(self.schema_and_name[1])

    def options(self, table: str) -> dict[str, str]:
        """Return Spark's options for a table in the same database, whose name is quoted."""
        return {**_options(self.url, self.user, self.password, self.driver), "dbtable": table}


def write(spark: SparkSession, df: DataFrame, table: JdbcTable, *, mode: str = "overwrite") -> None:
    """Write rows: `mode` is overwrite, append, or error where the table exists."""
    if mode not in MODES:
        raise option_error(f"there is no mode '{mode}'", None, f"there are {', '.join(MODES)}")
    _add_jar(spark, table.jar)
    with _connection(spark, table) as connection:
        _write(df, table, mode, connection)


def _write(df: DataFrame, table: JdbcTable, mode: str, connection: Any) -> None:
    target = f"table {table.table}"
    exists = _columns(connection, table)
    if exists and mode == "error":
        raise unwritable(f"{target} exists", "the modes overwrite and append write to an existing table")
    if exists and mode == "append":
        _check_columns(target, exists, df.columns)
    staging = table.beside(f"corollary_{uuid.uuid4().hex[:16]}")
    try:
        df.write.format("jdbc").options(**table.options(staging)).mode("error").save()
        _run(connection, _statements(table, staging, df, append=bool(exists) and mode == "append"))
    except BaseException:
        with suppress(Exception):
            _run(connection, [f"DROP TABLE IF EXISTS {staging}"])
        raise


def _statements(table: JdbcTable, staging: str, df: DataFrame, *, append: bool) -> list[str]:
    if append:
        columns = ", ".join(map(quoted, df.columns))
        inserted = f"INSERT INTO {table.quoted} ({columns}) SELECT {columns} FROM {staging}"
        return [inserted, f"DROP TABLE {staging}"]
    _, name = table.schema_and_name
    return [f"DROP TABLE IF EXISTS {table.quoted}", f"ALTER TABLE {staging} RENAME TO {quoted(name)}"]


def _check_columns(target: str, has: Sequence[str], gets: Sequence[str]) -> None:
    missing = [name for name in gets if name not in has]
    if missing:
        raise unwritable(f"{target} has no column {missing[0]}", f"its columns are {', '.join(has)}")


@contextmanager
def _connection(spark: SparkSession, table: JdbcTable) -> Iterator[Any]:
    """A connection of the driver, made by the same driver class that the tasks use."""
    jvm: Any = getattr(spark, "_jvm", None)
    if jvm is None:
        raise unwritable("publish: writing to a database needs a session that is not of Spark Connect")
    options = jvm.PythonUtils.toScalaMap(table.options(table.quoted))
    jdbc = jvm.org.apache.spark.sql.execution.datasources.jdbc.JDBCOptions(options)
    dialect = jvm.org.apache.spark.sql.jdbc.JdbcDialects.get(table.url)
    connection = dialect.createConnectionFactory(jdbc).apply(-1)
    try:
        connection.setAutoCommit(False)
        yield connection
    finally:
        connection.close()


def _run(connection: Any, statements: Sequence[str]) -> None:
    """Run all of them in one transaction, or none."""
    statement = connection.createStatement()
    try:
        for text in statements:
            statement.executeUpdate(text)
        connection.commit()
    except BaseException:
        connection.rollback()
        raise
    finally:
        statement.close()


def _columns(connection: Any, table: JdbcTable) -> list[str]:
    """Return the columns of the table; none where there is no such table."""
    text = "SELECT attname FROM pg_attribute WHERE attrelid = to_regclass(?) AND attnum > 0 AND NOT attisdropped"
    statement = connection.prepareStatement(f"{text} ORDER BY attnum")
    try:
        statement.setString(1, table.quoted)
        rows = statement.executeQuery()
        names = []
        while rows.next():
            names.append(rows.getString(1))
        connection.rollback()  # the tasks' table is made by another connection: no snapshot is kept open here
        return names
    finally:
        statement.close()
