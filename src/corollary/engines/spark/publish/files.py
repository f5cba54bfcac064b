"""Relations into files: lines of text and Parquet.

The driver writes outputs of few rows itself. For others, tasks write the parts of a directory beside the target, which are put
together into one plain file, as the embedded engine would write it, by copying the parts one after the other; a large output
stays a directory of parts. Either takes the place of the target in one step.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from corollary.engines.embedded.relations.relation import Codes
from corollary.engines.embedded.values.universe import Universe
from corollary.engines.spark.publish.decoded import Decoded
from corollary.engines.spark.publish.direct import write_directly
from corollary.engines.spark.publish.failures import publishing, telling
from corollary.engines.spark.publish.forms import Batches, over_codes, with_forms
from corollary.engines.spark.publish.parts import check_arrived, part_files, save_columns, write_parts
from corollary.engines.spark.publish.remote_output import RemoteOutput
from corollary.engines.spark.publish.small import DRIVER_ROWS, is_small, write_small
from corollary.engines.spark.watched import seen_by
from corollary.io.atomic import replacing
from corollary.io.formats import PARQUET, Division, Format
from corollary.io.lines import Lines, cannot_write
from corollary.io.write import write_result

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

SINGLE_FILE_ROWS = 1_000_000
"""Outputs with no more rows than this become one plain file."""
_BATCH = 1 << 16


@dataclass(frozen=True)
class FileOutput:
    """A file to write: where, in which format, whose facts."""

    path: Path
    form: Format
    header: bool = False
    predicate: str | None = None
    single_file_rows: int = SINGLE_FILE_ROWS


def write_files(rows: Decoded, output: FileOutput) -> int:
    """Write a relation and return the number of its rows; the path is a file, or a directory of `part-…` files."""
    if not rows.frame.arity:
        return _write_unit(rows, output)
    if is_small(rows) and output.single_file_rows >= DRIVER_ROWS:
        with publishing(output.path):
            return write_small(rows, output.path, output.form, header=output.header, predicate=output.predicate)
    with replacing(output.path, also_parts=True) as aside, publishing(output.path):
        if _is_large(rows, output) and output.form == PARQUET and write_directly(rows, aside):
            return rows.frame.rows or 0
        parts = aside if _stays_in_parts(rows, output) else aside.with_name(aside.name + "s")
        try:
            if output.form.is_text:
                _write_text(rows, output, parts)
            else:
                write_parts(rows, parts, PARQUET.name if parts != aside else _part_format(rows, output))
            if parts != aside:
                _one_file(rows, output, parts, aside)
        finally:
            if parts != aside:
                shutil.rmtree(parts, ignore_errors=True)
    return rows.summary.rows


def _stays_in_parts(rows: Decoded, output: FileOutput) -> bool:
    """Whether an output is a directory of the parts that tasks write; of a format that they do not write there is one file."""
    return rows.summary.rows > output.single_file_rows and output.form.division is not Division.FILES


def _is_large(rows: Decoded, output: FileOutput) -> bool:
    return rows.frame.rows is not None and rows.frame.rows > output.single_file_rows


def _write_unit(rows: Decoded, output: FileOutput) -> int:
    """A predicate without arguments holds or not: the embedded writer does it."""
    from corollary.results import Result

    count = rows.summary.rows
    result = Result(Universe(), np.empty((count, 0), np.uint32), ())
    write_result(result, output.path, form=output.form.name, header=output.header, predicate=output.predicate)
    return count


def _write_text(rows: Decoded, output: FileOutput, parts: Path) -> None:
    expected = _save_text(rows, output, parts.absolute().as_uri())
    check_arrived(parts, expected, sum(part.stat().st_size for part in part_files(parts)), "bytes")


def _save_text(rows: Decoded, output: FileOutput, address: str) -> int:
    """Write the lines of a relation, and return the number of bytes that they have."""
    from pyspark.sql import Observation, functions

    sizes = Observation()
    lines = _lines(rows, output)
    seen = lines.observe(sizes, functions.sum(functions.octet_length("line") + 1).alias("bytes"))
    # Spark's own writer for text knows how to commit the parts of tasks that ran twice.
    seen.write.option("maxRecordsPerFile", 0).text(address)
    return int(seen_by(sizes).get("bytes") or 0)


def write_remotely(rows: Decoded, output: FileOutput, address: str) -> int:
    """Write a relation as a directory of parts to a file system of Spark's."""
    if not rows.frame.arity and not output.form.is_text:
        raise cannot_write(
            f"{address}: Spark writes no files of this format without columns", "write a csv or json file"
        )
    if output.form.division is Division.FILES:
        raise cannot_write(
            f"{address}: {output.form} files are written to directories of this machine", "write parquet"
        )
    with publishing(address):
        remote = RemoteOutput(rows.context.spark, address)
        remote.check_replaceable()
        try:
            if not output.form.is_text:
                save_columns(rows, remote.aside, _part_format(rows, output))
            else:
                expected = _save_text(rows, output, remote.aside)
                check_arrived(output.path, expected, sum(remote.sizes().values()), "bytes")
            remote.put()
        finally:
            remote.remove()
    return rows.summary.rows


def _lines(rows: Decoded, output: FileOutput) -> DataFrame:
    names = rows.frame.columns
    hashed = [names[place] for place in rows.summary.hashed]
    target = str(output.path)
    lines = output.form.lines(rows.names, target=target, predicate=output.predicate, header=output.header)
    function = telling(over_codes(names, hashed, _LineWork(lines)))
    if lines.first_line is not None:
        function = _headed(function, lines.first_line)
    return with_forms(rows.context, rows.frame.df, hashed).mapInArrow(function, "line string")


@dataclass(frozen=True)
class _LineWork:
    lines: Lines

    def __call__(self, universe: Universe, codes: list[Codes], batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        texts = self.lines.of(universe, codes, batch.num_rows)
        yield pa.RecordBatch.from_arrays([texts.cast(pa.string())], names=["line"])


def _headed(function: Callable[[Batches], Batches], first_line: str) -> Callable[[Batches], Batches]:
    """Every part starts with the names of the columns, as readers of directories expect it."""

    def run(batches: Batches) -> Batches:
        yield pa.RecordBatch.from_arrays([pa.array([first_line], pa.string())], names=["line"])
        yield from function(batches)

    return run


def _one_file(rows: Decoded, output: FileOutput, parts: Path, aside: Path) -> None:
    if not output.form.is_text:
        output.form.write_tables(_tables(parts, rows.schema), rows.schema, aside, output.predicate)
        return
    header = b""
    lines = output.form.lines(rows.names, target=output.path, predicate=output.predicate, header=output.header)
    if lines.first_line is not None:
        header = f"{lines.first_line}\n".encode()
    with open(aside, "wb") as whole:
        whole.write(header)
        for part in part_files(parts):
            with open(part, "rb") as file:
                file.seek(len(header))
                shutil.copyfileobj(file, whole, 1 << 20)


def _part_format(rows: Decoded, output: FileOutput) -> str:
    """Return the format in which Spark writes parts that stay; raise `ProgramError` where it cannot hold some column."""
    output.form.check_parts(rows.schema, output.path)
    return output.form.name


def _tables(parts: Path, schema: pa.Schema) -> Iterator[pa.Table]:
    """The rows that tasks have written, some at a time."""
    import pyarrow.parquet as parquet

    for part in part_files(parts):
        with parquet.ParquetFile(part) as file:
            for batch in file.iter_batches(_BATCH):
                columns = [column.cast(field.type) for column, field in zip(batch.columns, schema, strict=True)]
                yield pa.Table.from_arrays(columns, schema=schema)
