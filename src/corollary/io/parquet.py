"""Parquet files, and directories of them as Spark writes them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from corollary.io.columns import check_columns, naming_errors, without_nulls
from corollary.io.formats import Format
from corollary.io.framed_files import FramedFiles, framed_files
from corollary.io.read import DataFile, Loaded
from corollary.io.rejects import Rejects
from corollary.language.cells import MEANING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from corollary.io.options import ReadOptions
    from corollary.io.places import InputPlace

_PIECE = 1 << 15  # rows
_SPARK_FIELDS = b"org.apache.spark.sql.parquet.row.metadata"


def read(file: DataFile, form: Format) -> Loaded:
    """Return the rows of a Parquet file; a row with a null is rejected, since no constant stands for one."""
    return without_nulls(file, _with_meanings(_read(file)))


def pieces(file: DataFile, form: Format) -> Iterator[Loaded]:
    """Return the rows of a Parquet file some at a time, at least once, for memory that is used again costs less than more memory.

    Each piece has the rejected rows so far.
    """
    import pyarrow.parquet as parquet

    rejects, before = Rejects(), 0
    with naming_errors(file, "Parquet"), parquet.ParquetFile(file.name) as source:
        names = source.schema_arrow.names
        check_columns(file, names)
        columns = list(file.options.columns) if file.options.columns else None
        for batch in source.iter_batches(_PIECE, columns=columns):
            table = pa.Table.from_batches([batch]).select(columns or names)
            yield without_nulls(file, _with_meanings(table), rejects, before)
            before += batch.num_rows
        if not before:
            yield Loaded(_with_meanings(source.schema_arrow.empty_table().select(columns or names)))


def schema(path: Path) -> pa.Schema:
    """Return the columns of a file."""
    import pyarrow.parquet as parquet

    return parquet.read_schema(path)


def frame(spark: SparkSession, place: InputPlace, options: ReadOptions) -> FramedFiles:
    """Return the rows of files with their numbers."""
    return framed_files(spark, place, row="_metadata.row_index")


def write_tables(tables: Iterable[pa.Table], schema: pa.Schema, path: Path, predicate: str | None) -> None:
    """Write tables of one schema after each other into a file."""
    import pyarrow.parquet as parquet

    with parquet.ParquetWriter(path, schema) as file:
        for table in tables:
            file.write_table(table)


def _read(file: DataFile) -> pa.Table:
    columns = list(file.options.columns) if file.options.columns else None
    with naming_errors(file, "Parquet"):
        if file.path.is_dir():
            import pyarrow.dataset as dataset

            source = dataset.dataset(file.name, format="parquet", exclude_invalid_files=False)
            check_columns(file, source.schema.names)
            return source.to_table(columns=columns)
        import pyarrow.parquet as parquet

        with parquet.ParquetFile(file.name) as source:
            check_columns(file, source.schema_arrow.names)
            return source.read(columns=columns).select(columns or source.schema_arrow.names)


def _with_meanings(table: pa.Table) -> pa.Table:
    """Add to columns of text what they mean, where Spark wrote the files: it keeps that in metadata of its own."""
    described = (table.schema.metadata or {}).get(_SPARK_FIELDS)
    if described is None:
        return table
    meanings = {field["name"]: field["metadata"].get(MEANING.decode()) for field in json.loads(described)["fields"]}
    fields = [
        field.with_metadata({MEANING: meaning.encode()}) if (meaning := meanings.get(field.name)) else field
        for field in table.schema
    ]
    return table.cast(pa.schema(fields, table.schema.metadata))
