"""Files of text, read by Spark in blocks of lines: csv, tsv, facts, JSON lines, N-Triples, N-Quads; and Turtle file by file."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote

import pyarrow as pa

from corollary.engines.spark.ingest.encoding import TaskEncoder
from corollary.engines.spark.ingest.output import Output, StoredOutput
from corollary.engines.spark.ingest.rejected import collected
from corollary.engines.spark.ingest.rows import RowKind
from corollary.engines.spark.ingest.text_task import THIS_FILE, ReadText
from corollary.engines.spark_session.failures import named_failures
from corollary.io.formats import Division
from corollary.io.options import ReadOptions
from corollary.io.places import InputPlace, without_pattern
from corollary.io.read import BEGINNING_BYTES, BEGINNING_LINES, DataFile, RowLayout, without_byte_order_mark
from corollary.io.rejects import Rejects

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from corollary.engines.spark.context import Context


class TextSource:
    """The rows of text files. `arity` is how many columns they should have, where that is known."""

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
        """The lines of all files, with the line break that Spark cuts off, the file as a number, and where their block starts.

        Bytes, for what is no UTF-8 must arrive as it is.
        """
        from pyspark.sql import functions as F  # noqa: N812

        text = F.concat(F.col("value").cast("binary"), F.lit(bytearray(b"\n"))).alias("text")
        file = F.xxhash64("_metadata.file_path").alias("file")
        return self._text().select(text, file, F.col("_metadata.file_block_start").alias("block"))

    def _tasks(self) -> int:
        """A task tells the constants of its blocks once: few tasks tell fewer. On a cluster, some are slower than others."""
        is_local = (self._context.spark.conf.get("spark.master", "") or "").startswith("local")
        return self._context.partitions * (1 if is_local else 4)

    def _unsplit_lines(self) -> DataFrame:
        """Return the lines with all those of a file in one task and in one block."""
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
        """A block other than the last one of its file ends inside a quote: the next one started in the middle of a row."""
        from pyspark.sql import functions as F  # noqa: N812

        blocks = output.of_kind(RowKind.BLOCK, ["c0", "c1", "c3"])
        last = blocks.groupBy("c0").agg(F.max("c1").alias("last"))
        return not blocks.where("c3 = 1").join(last, "c0").where("c1 < last").isEmpty()

    # -- what is wrong -----------------------------------------------------------------------------------------------

    def errors(self, output: Output) -> list[tuple[str, str, str]]:
        rows = output.rows(RowKind.ERROR, ["c0", "s0", "s1", "s2"], 10)
        names = self._file_names() if rows else {}
        return [
            (code, f"ingest: {message.replace(THIS_FILE, names.get(file, self.name))}", hint or "")
            for file, code, message, hint in rows
        ]

    def rejects(self, output: Output) -> tuple[Rejects, DataFrame]:
        """The first rejected rows, and a table of all that are listed."""
        assert isinstance(output, StoredOutput)
        table = self._numbered(output)
        return collected(table, output.counts[RowKind.REJECT], self.name), table

    def _numbered(self, output: StoredOutput) -> DataFrame:
        """File, line, reason and text. The line follows from the numbers of lines of the blocks before."""
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
        """The user's names of the files, by the number that tasks know them by."""
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
        """Return the beginning of the first file, which need not be text."""
        from pyspark.sql import functions as F  # noqa: N812

        reader = self._context.spark.read.format("binaryFile").option("recursiveFileLookup", "true")
        with named_failures("ingest", self.name, self.span):
            beginning = F.substring("content", 1, BEGINNING_BYTES[attempt])
            found = reader.load(self._place.address).select(beginning).take(1)
        return pa.py_buffer(bytes(found[0][0]) if found else b"")

    def _lines_at_start(self, attempt: int) -> pa.Buffer:
        """Return the first lines of the file, or of the first file that has any; more of them with each attempt."""
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
