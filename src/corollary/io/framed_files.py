"""Files that Spark's own readers read: a data frame of their columns, with where each row comes from."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from corollary.io.places import InputPlace, without_pattern
from corollary.language.cells import MEANING

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType


@dataclass(frozen=True)
class FramedFiles:
    """The rows of files. `file` and `row` are the columns for the address of a file and the number of a row in it.

    `columns` are those of the facts, where a table lists them; `meanings` tell what columns of text hold, where they do not say
    so themselves.
    """

    place: InputPlace
    frame: DataFrame
    file: str
    row: str | None
    schema_of: Callable[[str], StructType]
    """Returns the columns of one file, given its address."""
    columns: Sequence[str] | None = None
    meanings: Mapping[str, bytes] = field(default_factory=dict)


def framed_files(spark: SparkSession, place: InputPlace, row: str | None = None) -> FramedFiles:
    """Return the rows of a file, or of all files of a directory, which must have the same columns of the same types."""
    frame = spark.read.format(place.form.name).option("mergeSchema", "true").load(place.address)

    def schema_of(address: str) -> StructType:
        return spark.read.format(place.form.name).load(without_pattern(address)).schema

    return FramedFiles(place, frame, "_metadata.file_path", row, schema_of, meanings=_meanings(place))


def _meanings(place: InputPlace) -> dict[str, bytes]:
    """Return the meanings of columns that Arrow wrote into a file, which Spark does not read: for files on this machine only."""
    if place.local is None:
        return {}
    import pyarrow as pa

    paths = [place.local] if place.local.is_file() else sorted(place.local.rglob(f"*.{place.form}"))
    try:
        schema = place.form.schema(paths[0]) if paths else pa.schema([])
    except (pa.ArrowException, OSError):
        return {}  # Spark says what is wrong with the file
    return {field.name: field.metadata[MEANING] for field in schema if MEANING in (field.metadata or {})}
