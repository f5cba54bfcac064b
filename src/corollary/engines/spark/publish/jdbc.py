"""Relations into tables of PostgreSQL, through Spark's JDBC writer.

Tasks write rows into a new table, over several connections and without a common transaction. One transaction of the driver then
makes it the table that was asked for, or adds its rows to that. Readers see the old rows or the new ones.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from corollary.engines.spark.arrow_frames import frame_of_table
from corollary.engines.spark.ingest.jdbc import shown_url
from corollary.engines.spark.publish.decoded import Decoded
from corollary.engines.spark.publish.failures import publishing
from corollary.engines.spark.publish.places import unwritable
from corollary.sources.delta import unit_table
from corollary.sources.options import option_error

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

MODES = ("overwrite", "append", "error")
_DRIVER = "org.postgresql.Driver"
_LONGEST_NAME = 63  # bytes of an identifier of PostgreSQL, which cuts longer ones without a word


@dataclass(frozen=True)
class JdbcTable:
    """A table of a database: `table` is its name, or `schema.name`; both may hold any character but a point."""

    url: str
    table: str
    user: str | None = None
    password: str | None = field(default=None, repr=False)
    driver: str | None = None
    jar: str | None = None

    def __post_init__(self) -> None:
        if not self.url.startswith("jdbc:postgresql:"):
            raise option_error(f"cannot write to {shown_url(self.url)}", None, "the url starts with jdbc:postgresql:")
        parts = self.table.split(".")
        if (
            len(parts) > 2
            or not all(parts)
            or any("\0" in part or len(part.encode()) > _LONGEST_NAME for part in parts)
        ):
            raise option_error(f"'{self.table}' is no name of a table", None, "write table or schema.table")

    @property
    def schema_and_name(self) -> tuple[str | None, str]:
        schema, _, name = self.table.rpartition(".")
        return schema or None, name

    def beside(self, name: str) -> str:
        """A table in the same schema, quoted."""
        schema, _ = self.schema_and_name
        return quoted(name) if schema is None else f"{quoted(schema)}.{quoted(name)}"

    @property
    def quoted(self) -> str:
        return self.beside(self.schema_and_name[1])

    def options(self, quoted_table: str) -> dict[str, str]:
        given = {"url": self.url, "dbtable": quoted_table, "driver": self.driver or _DRIVER}
        given |= {"user": self.user} if self.user is not None else {}
        return given | ({"password": self.password} if self.password is not None else {})


def write_jdbc(rows: Decoded, table: JdbcTable, *, mode: str = "overwrite") -> int:
    """Writes a relation and gives the number of its rows. `mode`: overwrite, append, or error where the table exists."""
    if mode not in MODES:
        raise option_error(f"there is no mode '{mode}'", None, f"there are {', '.join(MODES)}")
    spark = rows.context.spark
    with publishing(f"table {table.table}"):
        if table.jar is not None:
            if "'" in table.jar:
                raise option_error("the path of a jar cannot have a quote", None)
            spark.sql(f"ADD JAR '{table.jar}'")
        with _connection(spark, table) as connection:
            _write(rows, table, mode, connection)
    return rows.summary.rows


def _write(rows: Decoded, table: JdbcTable, mode: str, connection: Any) -> None:
    target = f"table {table.table}"
    exists = _columns(connection, table)
    df = rows.df if rows.frame.arity else frame_of_table(rows.context.spark, unit_table(rows.summary.rows))
    if exists and mode == "error":
        raise unwritable(f"{target} exists", "the modes overwrite and append write to a table that exists")
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


def quoted(name: str) -> str:
    """An identifier; nothing in it is read as SQL."""
    return '"' + name.replace('"', '""') + '"'


def _check_columns(target: str, has: Sequence[str], gets: Sequence[str]) -> None:
    missing = [name for name in gets if name not in has]
    if missing:
        raise unwritable(f"{target} has no column {missing[0]}", f"its columns are {', '.join(has)}")


@contextmanager
def _connection(spark: SparkSession, table: JdbcTable) -> Iterator[Any]:
    """A connection of the driver, by the same driver class that the tasks use."""
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
    """All of them in one transaction, or none."""
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
    """The columns of the table; none where there is no such table."""
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
