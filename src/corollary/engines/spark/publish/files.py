"""Relations as files: lines of text and Parquet.

The driver writes outputs of few rows itself. For others, tasks write parts into a directory beside the target. The
parts are concatenated to one plain file, as the embedded engine would write it; a large output stays a directory of
parts. Either replaces the target in one step.
"""

from __future__ import annotations

import json
import shutil
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from corollary.diagnostics import Diagnostic, ProgramError, catalogue
from corollary.engines.embedded.relations.relation import Codes
from corollary.engines.embedded.values.universe import Universe
from corollary.engines.spark.publish.chunks import DRIVER_ROWS, is_small, write_small
from corollary.engines.spark.publish.decoded import Decoded, distinct_names
from corollary.engines.spark.publish.forms import Batches, over_codes, with_forms
from corollary.engines.spark.relations import Frame
from corollary.engines.spark.terms.ids import Tag
from corollary.engines.spark.watched import seen_by
from corollary.engines.spark_session.failures import explained, is_of_spark
from corollary.io.atomic import remove, replacing, unwritable
from corollary.io.formats import PARQUET, Division, Format
from corollary.io.lines import Lines, cannot_write
from corollary.io.write import write_result

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from corollary.engines.spark.publish.decoded import Decoded

# -- failures ----------------------------------------------------------------------------------------------------------

# Errors of tasks that write, as diagnostics instead of the stack traces of two machines.
#
# A task that finds facts which a format cannot hold raises `ProgramError`, of which only a text comes back through
# Java. So the task sends the diagnostic as JSON in that text.

_MARK = "corollary-diagnostic:"


class TaskFailure(Exception):
    """Raised in a task; the driver looks for its text."""


def telling(run: Callable[[Batches], Batches]) -> Callable[[Batches], Batches]:
    """Wrap a function so that its diagnostics reach the driver."""

    def tell(batches: Batches) -> Batches:
        try:
            yield from run(batches)
        except ProgramError as error:
            first = error.diagnostics[0]
            parts = {"code": first.kind.code, "message": first.message, "hint": first.hint}
            raise TaskFailure(f"{_MARK}{json.dumps(parts)}") from None

    return tell


@contextmanager
def publishing(target: object) -> Iterator[None]:
    """Raise Spark's errors inside the block as errors about writing `target`."""
    try:
        yield
    except Exception as error:
        if not is_of_spark(error):
            raise
        raise _diagnosed(error, target) from error


def _diagnosed(error: Exception, target: object) -> ProgramError:
    text = str(error)
    start = text.find(_MARK)
    if start >= 0:
        parts, _ = json.JSONDecoder().raw_decode(text[start + len(_MARK) :])
        kind = catalogue.CATALOGUE[parts["code"]]
        return ProgramError([Diagnostic(kind, parts["message"], None, parts["hint"])])
    _, why = explained(error)
    return ProgramError([Diagnostic(catalogue.UNWRITABLE_FILE, f"publish: cannot write {target}: {why}")])


# -- parts -------------------------------------------------------------------------------------------------------------

# The parts of an output, written by Spark tasks. Any reader understands them, whatever the settings of the session:
# times are in microseconds, in the proleptic Gregorian calendar.

_SETTINGS = {
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",  # the default is a deprecated type
    "spark.sql.parquet.datetimeRebaseModeInWrite": "CORRECTED",
    "spark.sql.parquet.writeLegacyFormat": "false",
}


def write_parts(rows: Decoded, folder: Path, form: str = PARQUET.name) -> dict[Path, int]:
    """Write a relation into a folder; return its files with the number of rows in each."""
    import pyarrow.dataset as dataset

    save_columns(rows, folder.absolute().as_uri(), form)
    found = {part: dataset.dataset(part, format=form).count_rows() for part in part_files(folder)}
    check_arrived(folder, rows.summary.rows, sum(found.values()), "rows")
    return found


def save_columns(rows: Decoded, address: str, form: str = PARQUET.name) -> None:
    with _settings(rows.context.spark, _SETTINGS):
        rows.df.write.mode("append").option("maxRecordsPerFile", 0).format(form).save(address)


def part_files(directory: Path) -> list[Path]:
    """Return the files that Spark's tasks wrote, in the order of the tasks."""
    return sorted(path for path in directory.iterdir() if path.name.startswith("part-"))


def check_arrived(parts: Path, expected: int, written: int, what: str) -> None:
    """Raise `ProgramError` unless all rows are there: other machines may have written to disks that this one does not see."""
    if expected != written:
        hint = "choose a directory that the driver and all workers share"
        message = f"cannot write {parts.parent}: {expected:,} {what} were written, and {written:,} arrived"
        raise unwritable(f"publish: {message}", hint)


@contextmanager
def _settings(spark: SparkSession, wanted: Mapping[str, str]) -> Iterator[None]:
    before = {key: spark.conf.get(key, None) for key in wanted}
    try:
        for key, value in wanted.items():
            spark.conf.set(key, value)
        yield
    finally:
        for key, old in before.items():
            if old is None:
                spark.conf.unset(key)
            else:
                spark.conf.set(key, old)


# -- remote output -----------------------------------------------------------------------------------------------------

# Outputs in file systems that only Spark reaches: HDFS, object stores.
#
# There, an output is always a directory of parts. It is written aside and renamed, by Hadoop's client; on object
# stores, a rename is a copy, which takes time and is not atomic.


class RemoteOutput:
    """A directory that appears whole: write to `aside`, then `put`."""

    def __init__(self, spark: SparkSession, address: str) -> None:
        jvm: Any = getattr(spark, "_jvm", None)
        if jvm is None:
            raise unwritable(f"publish: cannot write {address}: this needs a session that is not of Spark Connect")
        self._path = jvm.org.apache.hadoop.fs.Path
        self._target = self._path(address)
        configuration = spark._jsparkSession.sessionState().newHadoopConf()
        self._system = self._target.getFileSystem(configuration)
        self._aside = self._beside("part")
        self._address = address

    @property
    def aside(self) -> str:
        return str(self._aside.toString())

    def _beside(self, ending: str) -> Any:
        return self._path(self._target.getParent(), f".{self._target.getName()}.{uuid.uuid4().hex[:8]}.{ending}")

    def sizes(self) -> dict[str, int]:
        """Return the parts that were written, with their sizes in bytes."""
        found = self._system.listStatus(self._aside)
        return {one.getPath().getName(): one.getLen() for one in found if one.getPath().getName().startswith("part-")}

    def check_replaceable(self) -> None:
        if not self._system.exists(self._target) or not self._system.getFileStatus(self._target).isDirectory():
            return
        names = [one.getPath().getName() for one in self._system.listStatus(self._target)]
        others = [name for name in names if not name.startswith(("part-", "_SUCCESS", "."))]
        if others:
            raise unwritable(f"cannot write {self._address}: it is a directory that holds other files: {others[0]}")

    def put(self) -> None:
        """Replace the old output by the new one; restore the old one if that fails."""
        old = self._beside("old")
        had = self._system.exists(self._target)
        if had and not self._system.rename(self._target, old):
            raise self._failed()
        if not self._system.rename(self._aside, self._target):
            if had:
                self._system.rename(old, self._target)
            raise self._failed()
        if had:
            self._system.delete(old, True)

    def remove(self) -> None:
        self._system.delete(self._aside, True)

    def _failed(self) -> ProgramError:
        return unwritable(f"publish: cannot write {self._address}: the new output could not be renamed")


# -- direct ------------------------------------------------------------------------------------------------------------

# Large relations of integers: tasks copy the files of the workspace, and no row passes through Java.
#
# Whether a relation holds only integers is known only at the end. If it does not, the files are removed, and Spark's
# own writer is used.

_TOLD = pa.schema([("file", pa.string()), ("rows", pa.int64())])
_PIECE = 1 << 19


def write_directly(rows: Decoded, folder: Path) -> bool:
    """Write a relation into a folder if its rows are in files and all of them are integers; return False otherwise."""
    import pyarrow.parquet as parquet

    parts = rows.frame.parts or (rows.frame,)
    files = [file for part in parts for file in part.files]
    others = [part for part in parts if not part.files]
    if not files or any(part.rows is None or part.rows > DRIVER_ROWS for part in others):
        return False
    folder.mkdir()
    names = distinct_names(rows.names)
    copied = _copied(rows, files, folder, names)
    copied += [_write_part(folder, names, [_table_of(part)]) for part in others]
    if any(file is None for file, _ in copied):
        remove(folder)
        return False
    written = {file for file, _ in copied}
    for part in part_files(folder):
        if part.name not in written:
            part.unlink()  # from a task that ran twice
    arrived = sum(parquet.read_metadata(part).num_rows for part in part_files(folder))
    check_arrived(folder, sum(count for _, count in copied), arrived, "rows")
    return True


def _copied(rows: Decoded, files: Sequence[str], folder: Path, names: Sequence[str]) -> list[tuple[str | None, int]]:
    """Run a task for each file; return what the tasks report."""
    numbers = rows.context.spark.range(0, len(files), 1, len(files))
    reports = numbers.mapInArrow(_Copying(files, str(folder.absolute()), names), "file string, rows long").collect()
    return [(row["file"], row["rows"]) for row in reports]


@dataclass(frozen=True)
class _Copying:
    files: Sequence[str]
    folder: str
    names: Sequence[str]

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for number in batch.column(0).to_pylist():
                file, count = _write_part(Path(self.folder), self.names, _read(self.files[number]))
                yield pa.RecordBatch.from_arrays([pa.array([file], pa.string()), pa.array([count])], schema=_TOLD)


def _read(address: str) -> Iterator[pa.RecordBatch]:
    import pyarrow.fs as fs
    import pyarrow.parquet as parquet

    system, path = fs.FileSystem.from_uri(address)
    with system.open_input_file(path) as stream, parquet.ParquetFile(stream) as file:
        yield from file.iter_batches(_PIECE)


def _table_of(part: Frame) -> pa.Table:
    return part.df.select(*part.columns).toArrow()


def _write_part(
    folder: Path, names: Sequence[str], pieces: Iterator[pa.RecordBatch] | Sequence[pa.Table]
) -> tuple[str | None, int]:
    """Write ids as integers; return the name of the file, or None if some are not integers, and its number of rows."""
    import pyarrow.parquet as parquet

    schema = pa.schema([(name, pa.int64()) for name in names])
    path, count = folder / f"part-{uuid.uuid4().hex}.parquet", 0
    with parquet.ParquetWriter(path, schema) as writer:
        for piece in pieces:
            columns: list[np.ndarray[Any, Any]] = [column.to_numpy() for column in piece.columns[: len(names)]]
            if any(int(np.bitwise_or.reduce(column)) & 3 != Tag.INTEGER for column in columns if len(column)):
                return None, 0
            writer.write_batch(pa.RecordBatch.from_arrays([pa.array(column >> 2) for column in columns], schema=schema))
            count += piece.num_rows
    return path.name, count


# -- files -------------------------------------------------------------------------------------------------------------

SINGLE_FILE_ROWS = 1_000_000
"""Outputs with no more rows than this become one plain file."""
_BATCH = 1 << 16


@dataclass(frozen=True)
class FileOutput:
    """A file to write: its path, its format, and the predicate of its facts."""

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
    """Return whether an output is a directory of parts; formats that tasks cannot write become one file."""
    return rows.summary.rows > output.single_file_rows and output.form.division is not Division.FILES


def _is_large(rows: Decoded, output: FileOutput) -> bool:
    return rows.frame.rows is not None and rows.frame.rows > output.single_file_rows


def _write_unit(rows: Decoded, output: FileOutput) -> int:
    """Write whether a predicate without arguments holds, by the embedded writer, and return the number of its rows."""
    from corollary.results import Result

    count = rows.summary.rows
    result = Result(Universe(), np.empty((count, 0), np.uint32), ())
    write_result(result, output.path, form=output.form.name, header=output.header, predicate=output.predicate)
    return count


def _write_text(rows: Decoded, output: FileOutput, parts: Path) -> None:
    expected = _save_text(rows, output, parts.absolute().as_uri())
    check_arrived(parts, expected, sum(part.stat().st_size for part in part_files(parts)), "bytes")


def _save_text(rows: Decoded, output: FileOutput, address: str) -> int:
    """Write the lines of a relation, and return their number of bytes."""
    from pyspark.sql import Observation, functions

    sizes = Observation()
    lines = _lines(rows, output)
    seen = lines.observe(sizes, functions.sum(functions.octet_length("line") + 1).alias("bytes"))
    # Spark's own writer for text can commit the parts of tasks that ran twice.
    seen.write.option("maxRecordsPerFile", 0).text(address)
    return int(seen_by(sizes).get("bytes") or 0)


def write_remotely(rows: Decoded, output: FileOutput, address: str) -> int:
    """Write a relation as a directory of parts to a file system that Spark reaches."""
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
    """Wrap a function so that every part starts with the names of the columns, as readers of directories expect."""

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
    """Return the format in which Spark writes parts that stay; raise `ProgramError` if it cannot hold some column."""
    output.form.check_parts(rows.schema, output.path)
    return output.form.name


def _tables(parts: Path, schema: pa.Schema) -> Iterator[pa.Table]:
    """Yield the rows that tasks have written, some at a time."""
    import pyarrow.parquet as parquet

    for part in part_files(parts):
        with parquet.ParquetFile(part) as file:
            for batch in file.iter_batches(_BATCH):
                columns = [column.cast(field.type) for column, field in zip(batch.columns, schema, strict=True)]
                yield pa.Table.from_arrays(columns, schema=schema)
