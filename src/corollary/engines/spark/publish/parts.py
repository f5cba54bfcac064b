"""The parts of an output that tasks of Spark write. Any reader understands them, whatever the session is set to: times are in
microseconds, by today's calendar."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from corollary.io.atomic import unwritable
from corollary.io.formats import PARQUET

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from corollary.engines.spark.publish.decoded import Decoded

_SETTINGS = {
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",  # the default is a form that most readers have given up
    "spark.sql.parquet.datetimeRebaseModeInWrite": "CORRECTED",
    "spark.sql.parquet.writeLegacyFormat": "false",
}


def write_parts(rows: Decoded, folder: Path, form: str = PARQUET.name) -> dict[Path, int]:
    """Write a relation into a folder; return its files and the number of rows in each."""
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
    """Raise `ProgramError` unless everything is there: other machines may have written to disks that this one does not see."""
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
