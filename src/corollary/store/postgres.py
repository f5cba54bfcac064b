"""Published results as tables of PostgreSQL: what a transaction changes is one transaction there, too."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.csv as arrow_csv

from corollary.diagnostics import Diagnostic, ProgramError, catalogue
from corollary.language.cells import MEANING
from corollary.sources.postgres import connect, quoted, shown
from corollary.store.publishing import Mark

if TYPE_CHECKING:
    import psycopg

_MARKS = "corollary_publications"
_TYPES = [
    (pa.types.is_int64, "bigint"),
    (pa.types.is_floating, "double precision"),
    (pa.types.is_boolean, "boolean"),
    (pa.types.is_decimal, "numeric"),
    (pa.types.is_date, "date"),
    (pa.types.is_time, "time without time zone"),
]


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
        import psycopg

        try:
            with self._connection.transaction():
                yield
        except psycopg.Error as error:
            message = f"cannot publish to {shown(self._address)}: {str(error).strip().partition(chr(10))[0]}"
            raise ProgramError([Diagnostic(catalogue.NOT_PUBLISHED, message)]) from None

    def mark(self) -> Mark | None:
        with self.changing():
            self._run(f"CREATE SCHEMA IF NOT EXISTS {quoted(self._schema)}")
            self._run(f"CREATE TABLE IF NOT EXISTS {self._name(_MARKS)} (store text, version bigint, predicates text)")
            rows = self._run(f"SELECT store, version, predicates FROM {self._name(_MARKS)}").fetchall()
        return Mark(rows[0][0], rows[0][1], tuple(json.loads(rows[0][2]))) if rows else None

    def set_mark(self, mark: Mark) -> None:
        self._run(f"DELETE FROM {self._name(_MARKS)}")
        values = (mark.store, mark.version, json.dumps(list(mark.predicates)))
        self._run(f"INSERT INTO {self._name(_MARKS)} VALUES (%s, %s, %s)", values)

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
    return next((name for fits, name in _TYPES if fits(field.type)), "text")


def _described(schema: pa.Schema) -> list[tuple[str, str, str]]:
    return [(field.name, _type(field), (field.metadata or {}).get(MEANING, b"").decode()) for field in schema]
