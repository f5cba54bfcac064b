"""Tables of DuckDB."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from corollary.diagnostics.packages import optional_package
from corollary.io.databases.sql import SourceFailed, asked_or_all, kind_of, quoted, rows_source, select


class AskedDuckDb:
    """DuckDB joins with the values themselves, without a copy."""

    def __init__(self, place: Any, table: str | None = None, query: str | None = None) -> None:
        self._place, self._source = place, rows_source(table, query)

    def _run(self, statement: str, asked: pa.Table | None = None) -> pa.Table:
        with optional_package("duckdb", "a table of DuckDB"):
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
        statement = select(names, self._source)
        nothing = self._run(f"{statement} LIMIT 0")
        tables = [nothing]
        kinds = {field.name: kind_of(field.type) for field in nothing.schema}
        for one in asked_or_all(asked, kinds):
            where = ""
            if one is not None:
                known = ", ".join(map(quoted, one.column_names))
                own = ", ".join(_as_text(name) if kinds[name] == "text" else quoted(name) for name in one.column_names)
                where = f" WHERE ({own}) IN (SELECT ({known}) FROM corollary_asked)"
            tables.append(self._run(statement + where, one))
        return pa.concat_tables(tables)


def _as_text(name: str) -> str:
    """Return a column that Arrow knows as text; DuckDB may have other types for it, and compares none of them with texts."""
    return f"CAST({quoted(name)} AS VARCHAR)"
