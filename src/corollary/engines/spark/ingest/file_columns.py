"""Parquet and ORC files as columns for a load."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from corollary.engines.spark.ingest.column_source import ColumnSource, Files
from corollary.engines.spark.ingest.failures import named_failures
from corollary.engines.spark.ingest.places import ORC, Place
from corollary.language.cells import MEANING
from corollary.sources.options import ReadOptions

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

    from corollary.engines.spark.context import Context

_GLOB = re.compile(r"[*?\[\]{}\\]")


def file_columns(context: Context, place: Place, options: ReadOptions) -> ColumnSource:
    """The columns of a file, or of all files of a directory, which must have the same columns of the same types."""
    form = str(place.form)
    reader = context.spark.read.format(form)
    with named_failures("ingest", place.given, options.span):
        frame = reader.option("mergeSchema", "true").load(place.address)

    def schema_of(address: str) -> StructType:
        return context.spark.read.format(form).load(_GLOB.sub(r"\\\g<0>", address)).schema

    files = Files(place, "_metadata.file_path", None if form == ORC else "_metadata.row_index", schema_of)
    meanings = {} if form == ORC else _meanings(place)
    return ColumnSource(
        context, frame, place.given, span=options.span, columns=options.columns, meanings=meanings, files=files
    )


def _meanings(place: Place) -> dict[str, bytes]:
    """What Arrow wrote into a file about its columns, which Spark does not read. Known for files on this machine only."""
    if place.local is None:
        return {}
    import pyarrow as pa
    import pyarrow.parquet as parquet

    paths = [place.local] if place.local.is_file() else sorted(place.local.rglob("*.parquet"))
    try:
        schema = parquet.read_schema(paths[0]) if paths else pa.schema([])
    except (pa.ArrowException, OSError):
        return {}  # Spark says what is wrong with the file
    return {field.name: field.metadata[MEANING] for field in schema if MEANING in (field.metadata or {})}
