"""Tables of SQLite."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from contextlib import closing, nullcontext
from decimal import Decimal
from typing import Any

from corollary.io.databases.sql import AskedInBatches, SourceFailed, rows_source


def _named(name: str) -> str:
    """Return a name for SQLite, which takes a name in double quotes that there is not for a text."""
    return "`" + name.replace("`", "``") + "`"


class AskedSqlite(AskedInBatches):
    """A table that takes values as parameters."""

    quote = staticmethod(_named)

    def __init__(self, place: Any, table: str | None = None, query: str | None = None) -> None:
        self._place, self.source = place, rows_source(table, query)

    def _connected(self) -> Any:
        if not isinstance(self._place, str):
            return nullcontext(self._place)  # it is the user's, and stays open
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
