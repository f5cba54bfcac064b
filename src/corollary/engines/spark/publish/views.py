"""Temporary views of a knowledge base, dropped with it."""

from __future__ import annotations

import re
import uuid
from contextlib import suppress
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_PLAIN_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_NOT_PLAIN = re.compile(r"[^A-Za-z0-9_]+")


class SparkViews:
    """The views of one knowledge base. Their names begin with its own prefix, unless the caller chooses a name.

    Views and tables that were made elsewhere are never replaced or dropped.
    """

    def __init__(self) -> None:
        self._prefix = f"corollary_{uuid.uuid4().hex[:8]}"
        self._names: dict[str, str] = {}
        self._views: dict[str, tuple[DataFrame, Any]] = {}

    def create(self, df: DataFrame, predicate: str, name: str | None = None) -> str:
        """Create a view of the rows, or update one made here; return its name as SQL needs it.

        Raise ValueError if a view or table made elsewhere has the name.
        """
        chosen = self._name_of(predicate) if name is None else name
        quoted = sql_name(chosen)
        if not self._is_ours(chosen) and df.sparkSession.catalog.tableExists(quoted):
            raise ValueError(f"there is a view or a table '{chosen}' already; choose another name, or drop it")
        df.createOrReplaceTempView(quoted)
        self._views[chosen] = (df, _registered(df, chosen))
        return quoted

    def close(self) -> None:
        """Drop the views that are still as they were made here."""
        for name, (df, _) in self._views.items():
            with suppress(Exception):  # a stopped session has no views any more
                if self._is_ours(name):
                    df.sparkSession.catalog.dropTempView(name)
        self._views.clear()

    def _is_ours(self, name: str) -> bool:
        if name not in self._views:
            return False
        df, made = self._views[name]
        now = _registered(df, name)
        return now is None if made is None else now is not None and bool(now.equals(made))

    def _name_of(self, predicate: str) -> str:
        if predicate not in self._names:
            readable = _NOT_PLAIN.sub("_", predicate).strip("_")[-60:]
            name = f"{self._prefix}_{readable}"
            self._names[predicate] = f"{name}_{len(self._names)}" if name in self._names.values() else name
        return self._names[predicate]


def _registered(df: DataFrame, name: str) -> Any:
    """Return the view that the session has under a name, as a Java object; None if Java cannot be asked."""
    java: Any = df.sparkSession
    try:
        found = java._jsparkSession.sessionState().catalog().getRawTempView(name)
    except AttributeError:  # Spark Connect
        return None
    return found.get() if found.isDefined() else None


def sql_name(name: str) -> str:
    """Return a name for use in Spark SQL, in backticks if needed, so that nothing in it is read as SQL."""
    return name if _PLAIN_NAME.fullmatch(name) else "`" + name.replace("`", "``") + "`"
