"""Which source a path, a table or some facts are."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

from corollary.diagnostics import Span
from corollary.engines.spark.ingest.column_source import ColumnSource
from corollary.engines.spark.ingest.encoding import TaskEncoder
from corollary.engines.spark.ingest.local_source import SmallFile
from corollary.engines.spark.ingest.output import Output
from corollary.engines.spark.ingest.text_source import TextSource
from corollary.engines.spark_session.failures import named_failures
from corollary.io.databases import JDBC, jdbc
from corollary.io.formats import Division
from corollary.io.options import ReadOptions
from corollary.io.places import InputPlace, input_place, unreadable
from corollary.io.read import check_options
from corollary.io.rejects import Rejects

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from corollary.engines.spark.context import Context


class SparkSource(Protocol):
    """Something to load. Reading it again gives the same rows."""

    name: str
    span: Span | None

    def run(self, encoder: TaskEncoder) -> Output:
        """Read everything and make ids: the driver with this encoder, tasks with their own, by the same collisions.

        Raise `ProgramError` where the source as a whole cannot be read.
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
) -> SparkSource:
    """The source at a path. A file of this machine of up to `small` bytes is read here, which takes less time than a job."""
    if str(path).startswith(JDBC):
        _check_jdbc(options)
        name, frame = jdbc.read(context.spark, str(path), options)
        return ColumnSource(context, frame, name, span=options.span, columns=options.columns)
    place = input_place(path, options)
    form = place.form
    check_options(form, options)
    if _is_small(place, small) and place.local is not None:
        return SmallFile(context, place.local, options, arity)
    if place.is_one_file and place.local is not None and place.local.name[0] in "._":
        # Spark would read it as empty, without a word.
        raise unreadable(place.given, "Spark passes over files whose names start with '_' or '.'; rename it", options)
    if form.division in (Division.COLUMNS, Division.TABLE):
        with named_failures("ingest", place.given, options.span):
            files = form.frame(context.spark, place, options)
        columns = options.columns or files.columns
        return ColumnSource(context, files.frame, place.given, span=options.span, columns=columns, files=files)
    return TextSource(context, place, options, arity)


def table_source(context: Context, table: Any, columns: Sequence[str] | None) -> SparkSource:
    """A table that Spark knows by name, or a data frame."""
    if not isinstance(table, str):
        return ColumnSource(context, context.for_engine(table), "the data frame", columns=columns)
    with named_failures("ingest", f"the table {table}"):
        found = (context.caller or context.spark).table(table)
        return ColumnSource(context, context.for_engine(found), f"the table {table}", columns=columns)


def _is_small(place: InputPlace, small: int) -> bool:
    return place.is_one_file and place.local is not None and place.local.stat().st_size <= small


def _check_jdbc(options: ReadOptions) -> None:
    for name in ("header", "delimiter", "types", "format"):
        if getattr(options, name) and not (name == "format" and options.format == "jdbc"):
            raise options.error(f"'{name}' says nothing about jdbc")
