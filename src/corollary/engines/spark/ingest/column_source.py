"""Columns that Spark has already: Parquet and ORC files, tables, data frames, databases."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING
from urllib.parse import unquote

from corollary.diagnostics import Diagnostic, ProgramError, Span, catalogue
from corollary.engines.spark.ingest.columns_task import ReadColumns
from corollary.engines.spark.ingest.encoding import TaskEncoder
from corollary.engines.spark.ingest.output import Output, StoredOutput
from corollary.engines.spark.ingest.rejected import SCHEMA, collected
from corollary.engines.spark.ingest.rows import RowKind
from corollary.engines.spark.ingest.text_task import THIS_FILE
from corollary.engines.spark_session.failures import named_failures
from corollary.io.delta import UNIT
from corollary.io.framed_files import FramedFiles
from corollary.io.rejects import LISTED, Rejects
from corollary.language.cells import MEANING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import Column, DataFrame

    from corollary.engines.spark.context import Context

_NUMBERS = ("ByteType", "ShortType", "IntegerType", "LongType", "FloatType", "DoubleType", "DecimalType")
_TIMES = ("DateType", "TimestampType", "TimestampNTZType", "TimeType")
_TYPES = (*_NUMBERS, *_TIMES, "BooleanType", "StringType", "CharType", "VarcharType", "NullType")
_SUSPECTS = 100  # files whose columns are compared when nulls were found


class ColumnSource:
    """The rows of a data frame.

    A row with a null is rejected. Rows of files are then read a second time, for only then their numbers are asked for.
    """

    def __init__(
        self,
        context: Context,
        frame: DataFrame,
        name: str,
        *,
        span: Span | None = None,
        columns: Sequence[str] | None = None,
        files: FramedFiles | None = None,
    ) -> None:
        self._context = context
        self._frame = frame
        self._files = files
        self.name = name
        self.span = span
        fields = {field.name: field for field in frame.schema.fields}
        hidden = {files.file, files.row} if files else set()
        self._columns = list(columns) if columns else [name for name in frame.columns if name not in hidden]
        for column in self._columns:
            if column not in fields:
                listed = ", ".join(name for name in frame.columns if name not in hidden)
                message = f"{name} has no column '{column}'"
                raise ProgramError([Diagnostic(catalogue.BAD_OPTION, message, span, f"its columns are {listed}")])
            kind = fields[column].dataType
            if type(kind).__name__ not in _TYPES:
                message = f"{name}: column '{column}': there are no constants of the type {kind.simpleString()}"
                raise ProgramError([Diagnostic(catalogue.BAD_ROW, message, span)])
        said = {name: field.metadata.get(MEANING.decode()) for name, field in fields.items()}
        known = {name: meaning.encode() for name, meaning in said.items() if isinstance(meaning, str)}
        found = {**known, **(files.meanings if files is not None else {})}
        self._meanings = tuple(found.get(column) for column in self._columns)
        self._is_unit = self._meanings == (UNIT,)

    @property
    def width(self) -> int:
        return 0 if self._is_unit else len(self._columns)

    def run(self, encoder: TaskEncoder) -> StoredOutput:
        lists_nulls = self._files is None
        task = ReadColumns(tuple(self._columns), self._meanings, lists_nulls, self._is_unit, encoder.collisions)
        with named_failures("ingest", self.name, self.span):
            output = StoredOutput(self._context, self._frame.select(*map(_quoted, self._columns)), task)
            if output.counts[RowKind.REJECT] and self._files is not None:
                self._check_missing_columns(self._files)
            return output

    def errors(self, output: Output) -> list[tuple[str, str, str]]:
        rows = output.rows(RowKind.ERROR, ["s0", "s1", "s2"], 10)
        return [(code, f"ingest: {message.replace(THIS_FILE, self.name)}", hint or "") for code, message, hint in rows]

    def rejects(self, output: Output) -> tuple[Rejects, DataFrame]:
        """The first rejected rows, and a table of all that are listed; what is no file has no numbers of rows."""
        table = self._reject_table(output)
        return collected(table, output.counts[RowKind.REJECT], self.name), table

    def _reject_table(self, output: Output) -> DataFrame:
        from pyspark.sql import functions as F  # noqa: N812

        if self._files is None:
            rows = output.rows(RowKind.REJECT, ["s0"], LISTED)
            return self._context.spark.createDataFrame([(self.name, 0, reason, "") for (reason,) in rows], SCHEMA)
        reason = F.coalesce(
            *(F.when(F.col(_quoted(name)).isNull(), F.lit(f"column '{name}' is null")) for name in self._columns)
        )
        row = F.col(self._files.row) + 1 if self._files.row else F.lit(0)
        address = F.regexp_replace(F.col(self._files.file), "^file:/+", "file:/").alias("address")
        wrong = self._frame.select(address, row.cast("long").alias("line"), reason.alias("reason"))
        wrong = wrong.where("reason IS NOT NULL")
        listed = [(_normal(one), self._files.place.name_of(one)) for one in self._frame.inputFiles()]
        names = self._context.spark.createDataFrame(listed, "address string, file string")
        found = wrong.join(F.broadcast(names), "address", "left")
        file = F.coalesce("file", F.lit(self.name)).alias("file")
        return found.select(file, "line", "reason", F.lit("").alias("text"))

    def _check_missing_columns(self, files: FramedFiles) -> None:
        """A column that a file does not have is null in all its rows, which is more than a row that does not fit."""
        from pyspark.sql import functions as F  # noqa: N812

        counts: list[Column] = [
            F.count(F.col(_quoted(name))).alias(f"n{place}") for place, name in enumerate(self._columns)
        ]
        by_file = self._frame.groupBy(F.col(files.file).alias("address")).agg(*counts)
        empty = " OR ".join(f"n{place} = 0" for place in range(len(self._columns)))
        for row in by_file.where(empty).limit(_SUSPECTS).collect():
            address = unquote(row["address"])
            has = set(files.schema_of(address).names)
            for place, name in enumerate(self._columns):
                is_in_path = f"{os.sep}{name}=" in address  # a column that directories stand for
                if row[f"n{place}"] == 0 and name not in has and not is_in_path:
                    source = files.place.name_of(row["address"])
                    message = f"ingest: {source} has no column '{name}', which other files of {self.name} have"
                    raise ProgramError([Diagnostic(catalogue.BROKEN_DATA, message, self.span)])


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def _normal(address: str) -> str:
    return re.sub(r"^file:/+", "file:/", address)
