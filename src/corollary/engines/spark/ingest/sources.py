"""Which source a path, a table or some facts are."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

from corollary.diagnostics import Span
from corollary.engines.spark.ingest.column_source import ColumnSource
from corollary.engines.spark.ingest.encoding import TaskEncoder
from corollary.engines.spark.ingest.failures import named_failures
from corollary.engines.spark.ingest.local_source import SmallFile
from corollary.engines.spark.ingest.output import Output
from corollary.engines.spark.ingest.places import JDBC, ORC, Place, place_of, unreadable
from corollary.engines.spark.ingest.text_source import TextSource
from corollary.sources.formats import Format
from corollary.sources.options import DATABASE, ReadOptions
from corollary.sources.read import check_options
from corollary.sources.rejects import Rejects

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from corollary.engines.spark.context import Context


class Source(Protocol):
    """Something to load. Reading it again gives the same rows."""

    name: str
    span: Span | None

    def run(self, encoder: TaskEncoder) -> Output:
        """Reads everything and makes ids: the driver with this encoder, tasks with their own, by the same collisions.

        Raises `ProgramError` where the source as a whole cannot be read.
        """
        ...

    def errors(self, output: Output) -> list[tuple[str, str, str]]:
        """Codes, messages and hints of what tasks found wrong with the source as a whole."""
        ...

    def rejects(self, output: Output) -> tuple[Rejects, DataFrame]:
        """The first rejected rows and the counts of all; and a table of file, line, reason and text."""
        ...


def source_at(
    context: Context, path: str | os.PathLike[str], options: ReadOptions, arity: int | None, small: int
) -> Source:
    """The source at a path. A file of this machine of up to `small` bytes is read here, which takes less time than a job."""
    place = place_of(path, options)
    if place.form == JDBC:
        from corollary.engines.spark.ingest.jdbc import jdbc_columns

        _check(options, JDBC, "header", "delimiter", "types", "format")
        return jdbc_columns(context, place, options)
    if place.form == ORC:
        _check(options, ORC, "header", "delimiter", "types", *DATABASE)
    else:
        check_options(Format(place.form), options)
    if place.form == Format.DELTA:
        from corollary.engines.spark.ingest.delta import delta_columns

        return delta_columns(context, place, options)
    if place.form != ORC and _is_small(place, small) and place.local is not None:
        return SmallFile(context, place.local, options, arity)
    if place.is_one_file and place.local is not None and place.local.name[0] in "._":
        # Spark would read it as empty, without a word.
        raise unreadable(place.given, "Spark passes over files whose names start with '_' or '.'; rename it", options)
    if place.form in (ORC, Format.PARQUET):
        from corollary.engines.spark.ingest.file_columns import file_columns

        return file_columns(context, place, options)
    return TextSource(context, place, options, arity)


def table_source(context: Context, table: Any, columns: Sequence[str] | None) -> Source:
    """A table that Spark knows by name, or a data frame."""
    if not isinstance(table, str):
        return ColumnSource(context, table, "the data frame", columns=columns)
    with named_failures("ingest", f"the table {table}"):
        return ColumnSource(context, context.spark.table(table), f"the table {table}", columns=columns)


def _is_small(place: Place, small: int) -> bool:
    return place.is_one_file and place.local is not None and place.local.stat().st_size <= small


def _check(options: ReadOptions, form: str, *names: str) -> None:
    for name in names:
        if getattr(options, name) and not (name == "format" and options.format == form):
            raise options.error(f"'{name}' says nothing about {form}")
