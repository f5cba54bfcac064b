"""ORC files, and directories of them as Spark writes them.

What the texts of a column stand for is an attribute of its type. Spark writes no attributes: what its tasks write holds columns
of one type only, and of IRIs their texts.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from corollary.io.columns import check_columns, naming_errors, without_nulls
from corollary.io.formats import Format
from corollary.io.framed_files import FramedFiles, framed_files
from corollary.io.lines import cannot_write
from corollary.io.read import DataFile, Loaded
from corollary.language.cells import IRIS, MEANING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from corollary.io.options import ReadOptions
    from corollary.io.places import InputPlace


def read(file: DataFile, form: Format) -> Loaded:
    """Return the rows of an ORC file; a row with a null is rejected, since no constant stands for one."""
    import pyarrow.orc as orc

    columns = list(file.options.columns) if file.options.columns else None
    with naming_errors(file, "ORC"):
        if file.path.is_dir():
            import pyarrow.dataset as dataset

            source = dataset.dataset(file.name, format="orc", exclude_invalid_files=False)
            check_columns(file, source.schema.names)
            return without_nulls(file, source.to_table(columns=columns))
        whole = orc.ORCFile(pa.BufferReader(file.buffer()))
        check_columns(file, whole.schema.names)
        table = whole.read(columns=columns).select(columns or whole.schema.names)
        return without_nulls(file, table.cast(_with_microseconds(table.schema)))


def _with_microseconds(schema: pa.Schema) -> pa.Schema:
    """Return the schema with times as other writers have them: ORC keeps nanoseconds, of which the last three are zeros."""
    fields = [
        field.with_type(pa.timestamp("us", field.type.tz)) if pa.types.is_timestamp(field.type) else field
        for field in schema
    ]
    return pa.schema(fields)


def schema(path: Path) -> pa.Schema:
    """Return the columns of a file."""
    import pyarrow.orc as orc

    return orc.ORCFile(path).schema


def frame(spark: SparkSession, place: InputPlace, options: ReadOptions) -> FramedFiles:
    """Return the rows of files; Spark does not number those of ORC."""
    return framed_files(spark, place)


def write_tables(tables: Iterable[pa.Table], schema: pa.Schema, path: Path, predicate: str | None) -> None:
    """Write tables of one schema after each other into a file."""
    import pyarrow.orc as orc

    with orc.ORCWriter(path) as file:
        file.write(schema.empty_table())
        for table in tables:
            file.write(table)


def check_parts(schema: pa.Schema, target: object) -> None:
    """Raise `ProgramError` where a column needs an attribute that tells what its texts stand for."""
    for field in schema:
        if (field.metadata or {}).get(MEANING, IRIS) != IRIS:
            message = (
                f"{target}: column '{field.name}' holds constants of several types, or of a type that ORC does not have"
            )
            raise cannot_write(message, "write a parquet, csv or json file")
