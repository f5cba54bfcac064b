"""Sources to load: the one that a path, a table or some facts stand for."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import unquote

import numpy as np
import pyarrow as pa

from corollary.diagnostics import Diagnostic, ProgramError, Span, catalogue
from corollary.engines.embedded.relations.relation import Codes
from corollary.engines.embedded.values.encoder import Encoder
from corollary.engines.spark.ingest.output import LocalOutput, Output, StoredOutput
from corollary.engines.spark.ingest.rows import SCHEMA, RowKind, RowMaker, TaskEncoder, collected, table_of
from corollary.engines.spark.ingest.tasks import THIS_FILE, ReadColumns, ReadText
from corollary.engines.spark_session.failures import named_failures
from corollary.io.databases import JDBC, jdbc
from corollary.io.delta import UNIT
from corollary.io.formats import Division
from corollary.io.framed_files import FramedFiles
from corollary.io.options import ReadOptions
from corollary.io.places import InputPlace, input_place, unreadable, without_pattern
from corollary.io.read import (
    BEGINNING_BYTES,
    BEGINNING_LINES,
    DataFile,
    RowLayout,
    check_options,
    read_pieces,
    without_byte_order_mark,
)
from corollary.io.rejects import LISTED, Rejects
from corollary.language.cells import MEANING
from corollary.program import FactBlock

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import Column, DataFrame

    from corollary.engines.spark.context import Context

# -- local source ------------------------------------------------------------------------------------------------------

# Sources that the driver reads itself, as the embedded engine does: facts of programs and of Python, and small files.


class LocalSource:
    """Facts that `encode` makes with an encoder of the embedded engine; none of them is rejected."""

    def __init__(
        self, context: Context, name: str, encode: Callable[[Encoder], Codes], span: Span | None = None
    ) -> None:
        self._context = context
        self._encode = encode
        self.name = name
        self.span = span

    def run(self, encoder: TaskEncoder) -> LocalOutput:
        codes = self._codes(encoder)
        width = codes.shape[1]
        encoder.use(RowMaker(width))
        return LocalOutput(self._context, _all(encoder, codes), width, self._rejected)

    def _codes(self, encoder: TaskEncoder) -> Codes:
        try:
            return self._encode(Encoder(encoder.universe))
        except ValueError as error:
            raise ProgramError([Diagnostic(catalogue.BAD_ROW, f"{self.name}: {error}", self.span)]) from None

    @property
    def _rejected(self) -> int:
        return 0

    def errors(self, output: Output) -> list[tuple[str, str, str]]:
        return []

    def rejects(self, output: Output) -> tuple[Rejects, DataFrame]:
        return Rejects(), table_of(self._context.spark, Rejects())


def _all(encoder: TaskEncoder, codes: Codes) -> Iterator[pa.RecordBatch]:
    if len(codes):
        yield from encoder.codes(codes)
    yield from encoder.finish()


def python_facts(context: Context, predicate: str, facts: Any, arity: int | None) -> LocalSource:
    """Return a source for rows, tables and frames, as `KnowledgeBase.insert` accepts them."""
    if not isinstance(facts, (list, tuple)) and iter(facts) is facts:
        facts = list(facts)  # it may be read twice
    return LocalSource(context, f"facts of '{predicate}'", lambda encoder: encoder.facts(facts, arity))


def written_facts(context: Context, facts: FactBlock) -> LocalSource:
    """Return a source for facts of a program's text."""
    return LocalSource(context, f"facts of '{facts.predicate}'", lambda encoder: encoder.rows(facts.rows, facts.arity))


class SmallFile(LocalSource):
    """A file on this machine that is read faster than a Spark job starts."""

    def __init__(self, context: Context, path: Path, options: ReadOptions, arity: int | None) -> None:
        super().__init__(context, str(path), self._read, options.span)
        self._path, self._options, self._arity = path, options, arity
        self._rejects = Rejects()

    def _read(self, encoder: Encoder) -> Codes:
        """Read the file; only codes and rejected rows are kept, since many files may be read together."""
        codes: list[Codes] = []
        for loaded in read_pieces(self._path, self._options, self._arity):
            self._rejects = loaded.rejects
            codes.append(encoder.table(loaded.table))
        return np.concatenate(codes)

    @property
    def _rejected(self) -> int:
        return len(self._rejects)

    def rejects(self, output: Output) -> tuple[Rejects, DataFrame]:
        return self._rejects, table_of(self._context.spark, self._rejects)


# -- text source -------------------------------------------------------------------------------------------------------

# Text files, read by Spark in blocks of lines: csv, tsv, facts, JSON lines, N-Triples, N-Quads; Turtle file by file.


class TextSource:
    """The rows of text files. `arity` is their expected number of columns, if known."""

    def __init__(self, context: Context, place: InputPlace, options: ReadOptions, arity: int | None) -> None:
        self._context = context
        self._place = place
        self._form = place.form
        self._options = options
        self._arity = arity
        self.name = place.given
        self.span = options.span

    @property
    def width(self) -> int:
        return self._layout.width

    # -- rows --------------------------------------------------------------------------------------------------------

    def run(self, encoder: TaskEncoder) -> StoredOutput:
        layout = self._layout
        task = ReadText(self._form, replace(self._options, span=None), layout.width, layout.names, encoder.collisions)
        with named_failures("ingest", self.name, self.span):
            if self._form.division is Division.FILES:
                return StoredOutput(self._context, self._whole_files(), task)
            output = StoredOutput(self._context, self._lines().coalesce(self._tasks()), task)
            if output.open_blocks and self._splits_rows(output):
                output.discard()
                output = StoredOutput(self._context, self._unsplit_lines(), task)
            return output

    def _text(self) -> DataFrame:
        reader = self._context.spark.read.option("lineSep", "\n").option("recursiveFileLookup", "true")
        return reader.text(self._place.address)

    def _lines(self) -> DataFrame:
        """Return the lines of all files, each with its line break, the number of its file and the start of its block.

        Lines are bytes, because invalid UTF-8 must arrive unchanged.
        """
        from pyspark.sql import functions as F  # noqa: N812

        text = F.concat(F.col("value").cast("binary"), F.lit(bytearray(b"\n"))).alias("text")
        file = F.xxhash64("_metadata.file_path").alias("file")
        return self._text().select(text, file, F.col("_metadata.file_block_start").alias("block"))

    def _tasks(self) -> int:
        """Return the number of tasks. Each task reports its constants once, so fewer tasks report less; on a cluster,
        some are slower than others."""
        is_local = (self._context.spark.conf.get("spark.master", "") or "").startswith("local")
        return self._context.partitions * (1 if is_local else 4)

    def _unsplit_lines(self) -> DataFrame:
        """Return the lines with those of each file in one task and one block."""
        from pyspark.sql import functions as F  # noqa: N812

        numbered = self._lines().withColumn("line", F.monotonically_increasing_id())
        together = numbered.repartition(self._context.partitions, "file").sortWithinPartitions("file", "block", "line")
        return together.select("text", "file", F.lit(0).cast("long").alias("block"))

    def _whole_files(self) -> DataFrame:
        from pyspark.sql import functions as F  # noqa: N812

        reader = self._context.spark.read.format("binaryFile").option("recursiveFileLookup", "true")
        files = reader.load(self._place.address)
        return files.select(
            F.col("content").alias("text"),
            F.xxhash64("_metadata.file_path").alias("file"),
            F.lit(0).cast("long").alias("block"),
        )

    def _splits_rows(self, output: StoredOutput) -> bool:
        """Return whether a block ends inside a quote, so that the next block of the file started in the middle of a row."""
        from pyspark.sql import functions as F  # noqa: N812

        blocks = output.of_kind(RowKind.BLOCK, ["c0", "c1", "c3"])
        last = blocks.groupBy("c0").agg(F.max("c1").alias("last"))
        return not blocks.where("c3 = 1").join(last, "c0").where("c1 < last").isEmpty()

    # -- rejected rows -----------------------------------------------------------------------------------------------

    def errors(self, output: Output) -> list[tuple[str, str, str]]:
        rows = output.rows(RowKind.ERROR, ["c0", "s0", "s1", "s2"], 10)
        names = self._file_names() if rows else {}
        return [
            (code, f"ingest: {message.replace(THIS_FILE, names.get(file, self.name))}", hint or "")
            for file, code, message, hint in rows
        ]

    def rejects(self, output: Output) -> tuple[Rejects, DataFrame]:
        """Return the first rejected rows, and a table of all listed ones."""
        assert isinstance(output, StoredOutput)
        table = self._numbered(output)
        return collected(table, output.counts[RowKind.REJECT], self.name), table

    def _numbered(self, output: StoredOutput) -> DataFrame:
        """Return file, line, reason and text of rejected rows; lines are numbered by adding up the lines of earlier blocks."""
        from pyspark.sql import Window
        from pyspark.sql import functions as F  # noqa: N812

        before = Window.partitionBy("c0").orderBy("c1").rowsBetween(Window.unboundedPreceding, -1)
        blocks = output.of_kind(RowKind.BLOCK, ["c0", "c1", "c2"])
        blocks = blocks.select("c0", "c1", F.coalesce(F.sum("c2").over(before), F.lit(0)).alias("before"))
        listed = output.of_kind(RowKind.REJECT, ["c0", "c1", "c2", "s0", "s1"])
        names = self._context.spark.createDataFrame(list(self._file_names().items()), "c0 long, name string")
        found = listed.join(F.broadcast(blocks), ["c0", "c1"], "left").join(F.broadcast(names), "c0", "left")
        file = F.coalesce(F.col("name"), F.lit(self.name))
        line = F.col("c2") + F.coalesce(F.col("before"), F.lit(0))
        return found.select(
            file.alias("file"), line.alias("line"), F.col("s0").alias("reason"), F.col("s1").alias("text")
        )

    def _file_names(self) -> dict[int, str]:
        """Return the user's names of the files, by the numbers that tasks use."""
        from pyspark.sql import functions as F  # noqa: N812

        addresses = [
            (re.sub(r"^file:/+", "file:/", one), self._place.name_of(one)) for one in self._text().inputFiles()
        ]
        listed = self._context.spark.createDataFrame(addresses, "address string, name string")
        return {row[0]: row[1] for row in listed.select(F.xxhash64("address"), "name").collect()}

    # -- columns -----------------------------------------------------------------------------------------------------

    @cached_property
    def _layout(self) -> RowLayout:
        file = DataFile(Path(self.name), self._options, self._arity)
        beginning = self._bytes if self._form.division is Division.FILES else self._lines_at_start
        return self._form.layout(file, beginning)

    def _bytes(self, attempt: int) -> pa.Buffer:
        """Return the beginning of the first file, as bytes."""
        from pyspark.sql import functions as F  # noqa: N812

        reader = self._context.spark.read.format("binaryFile").option("recursiveFileLookup", "true")
        with named_failures("ingest", self.name, self.span):
            beginning = F.substring("content", 1, BEGINNING_BYTES[attempt])
            found = reader.load(self._place.address).select(beginning).take(1)
        return pa.py_buffer(bytes(found[0][0]) if found else b"")

    def _lines_at_start(self, attempt: int) -> pa.Buffer:
        """Return the first lines of the first file that has any; more of them with each attempt."""
        if self._place.is_one_file and self._place.local is not None:
            return without_byte_order_mark(self._local_head(self._place.local, BEGINNING_BYTES[attempt]))
        with named_failures("ingest", self.name, self.span):
            return without_byte_order_mark(self._remote_head(BEGINNING_LINES[attempt]))

    def _local_head(self, path: Path, size: int) -> pa.Buffer:
        try:
            with path.open("rb") as file:
                data = file.read(size)
                if len(data) == size:
                    data += file.readline(BEGINNING_BYTES[-1])
        except OSError as error:
            raise DataFile(Path(self.name), self._options).unreadable(error) from None
        return pa.py_buffer(data)

    def _remote_head(self, lines: int) -> pa.Buffer:
        from pyspark.sql import functions as F  # noqa: N812

        filled = self._text().where(F.length(F.trim("value")) > 0).select("_metadata.file_path").take(1)
        if not filled:
            return pa.py_buffer(b"")
        file = without_pattern(unquote(filled[0][0]))
        text = self._context.spark.read.option("lineSep", "\n").text(file)
        value = F.col("value").cast("binary")
        rows = text.where("_metadata.file_block_start = 0").select(value).take(lines)
        return pa.py_buffer(b"".join(bytes(row[0]) + b"\n" for row in rows))


# -- column source -----------------------------------------------------------------------------------------------------

# Columns that Spark already has: Parquet and ORC files, tables, data frames, databases.

_NUMBERS = ("ByteType", "ShortType", "IntegerType", "LongType", "FloatType", "DoubleType", "DecimalType")
_TIMES = ("DateType", "TimestampType", "TimestampNTZType", "TimeType")
_TYPES = (*_NUMBERS, *_TIMES, "BooleanType", "StringType", "CharType", "VarcharType", "NullType")
_SUSPECTS = 100  # files whose columns are compared if there are nulls


class ColumnSource:
    """The rows of a data frame.

    A row with a null is rejected. If there are any, files are read a second time, to find the row numbers.
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
        """Return the first rejected rows, and a table of all listed ones; only rows of files have row numbers."""
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
        """Raise if a file lacks a column, which would otherwise be null in all its rows."""
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
                is_in_path = f"{os.sep}{name}=" in address  # a column given by names of directories
                if row[f"n{place}"] == 0 and name not in has and not is_in_path:
                    source = files.place.name_of(row["address"])
                    message = f"ingest: {source} has no column '{name}', which other files of {self.name} have"
                    raise ProgramError([Diagnostic(catalogue.BROKEN_DATA, message, self.span)])


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def _normal(address: str) -> str:
    return re.sub(r"^file:/+", "file:/", address)


# -- sources -----------------------------------------------------------------------------------------------------------


class SparkSource(Protocol):
    """A source of facts to load. Reading it again returns the same rows."""

    name: str
    span: Span | None

    def run(self, encoder: TaskEncoder) -> Output:
        """Read everything and make ids: the driver with this encoder, tasks with encoders of their own, all with the
        same collision table.

        Raise `ProgramError` if the source as a whole cannot be read.
        """
        ...

    def errors(self, output: Output) -> list[tuple[str, str, str]]:
        """Return codes, messages and hints of what tasks found wrong with the source as a whole."""
        ...

    def rejects(self, output: Output) -> tuple[Rejects, DataFrame]:
        """Return the first rejected rows with the counts of all, and a table of file, line, reason and text."""
        ...


def source_at(
    context: Context, path: str | os.PathLike[str], options: ReadOptions, arity: int | None, small: int
) -> SparkSource:
    """Return the source at a path. A file on this machine of up to `small` bytes is read in the driver, which is faster
    than a job."""
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
        # Spark would silently read it as empty.
        raise unreadable(place.given, "Spark passes over files whose names start with '_' or '.'; rename it", options)
    if form.division in (Division.COLUMNS, Division.TABLE):
        with named_failures("ingest", place.given, options.span):
            files = form.frame(context.spark, place, options)
        columns = options.columns or files.columns
        return ColumnSource(context, files.frame, place.given, span=options.span, columns=columns, files=files)
    return TextSource(context, place, options, arity)


def table_source(context: Context, table: Any, columns: Sequence[str] | None) -> SparkSource:
    """Return a source for a table that Spark knows by name, or for a data frame."""
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
