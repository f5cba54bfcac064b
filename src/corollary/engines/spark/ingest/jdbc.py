"""Tables of databases as columns for a load, through Spark's JDBC source."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from corollary.diagnostics import catalogue
from corollary.engines.spark.ingest.column_source import ColumnSource
from corollary.engines.spark.ingest.failures import named_failures
from corollary.engines.spark.ingest.places import Place
from corollary.sources.options import ReadOptions

if TYPE_CHECKING:
    from corollary.engines.spark.context import Context

_DRIVERS = {"postgresql": "org.postgresql.Driver"}


def jdbc_columns(context: Context, place: Place, options: ReadOptions) -> ColumnSource:
    """The rows of a table, or of a query."""
    if (options.table is None) == (options.query is None):
        raise options.error('a database needs table = "…" or query = "…"')
    name = f"{shown_url(place.given)} ({options.table or 'query'})"
    reader = context.spark.read.format("jdbc").options(**connection(context, place.given, options))
    what = ("dbtable", options.table) if options.table is not None else ("query", options.query)
    with named_failures("ingest", name, options.span, catalogue.UNREADABLE_DATA):
        frame = reader.option(*what).load()
    return ColumnSource(context, frame, name, span=options.span, columns=options.columns)


def connection(context: Context, url: str, options: ReadOptions) -> dict[str, str]:
    """Spark's options for a database; a jar that is named becomes part of the session."""
    product = url.split(":")[1] if url.count(":") > 1 else ""
    driver = options.driver or _DRIVERS.get(product)
    if options.jar is not None:
        if "'" in options.jar:
            raise options.error("the path of a jar cannot have a quote")
        with named_failures("ingest", f"the jar {options.jar}", options.span, catalogue.UNREADABLE_DATA):
            context.spark.sql(f"ADD JAR '{options.jar}'")
    found = {"url": url, "user": options.user, "password": options.password, "driver": driver}
    return {key: value for key, value in found.items() if value is not None}


def shown_url(url: str) -> str:
    """The address without what only its owner should know."""
    return re.sub(r"//[^/@]*@", "//", url).partition("?")[0]
