"""Delta tables as columns for a load: deltalake reads the log, Spark the Parquet files that it names, without further jars."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from corollary.diagnostics import Diagnostic, ProgramError, catalogue
from corollary.engines.spark.ingest.column_source import ColumnSource, Files
from corollary.engines.spark.ingest.failures import named_failures
from corollary.engines.spark.ingest.places import Place
from corollary.sources.options import ReadOptions

if TYPE_CHECKING:
    from deltalake import DeltaTable
    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructType

    from corollary.engines.spark.context import Context

_HARMLESS = {"timestampNtz", "v2Checkpoint", "vacuumProtocolCheck"}
"""Features for readers that change nothing about what files mean."""
_FILE, _ROW = "corollary file", "corollary row"
_GLOB = re.compile(r"[*?\[\]{}\\]")


def delta_columns(context: Context, place: Place, options: ReadOptions) -> ColumnSource:
    """The newest version of a table. One whose files do not say the whole truth is refused."""
    try:
        from deltalake import DeltaTable
        from deltalake.exceptions import DeltaError
    except ImportError:
        message, hint = "Delta tables need the package deltalake", "pip install 'corollary[delta]'"
        raise ProgramError([Diagnostic(catalogue.MISSING_PACKAGE, message, options.span, hint)]) from None

    try:
        table = DeltaTable(str(place.local) if place.local else place.address)
        _check_features(table, place, options)
        schema, partitions, files = _contents(table, place)
    except (DeltaError, OSError) as error:
        message = f"ingest: {place.given} is no readable Delta table: {str(error).partition(chr(10))[0]}"
        raise ProgramError([Diagnostic(catalogue.BROKEN_DATA, message, options.span)]) from None
    with named_failures("ingest", place.given, options.span):
        frame = _frame(context, schema, partitions, files)

    def schema_of(address: str) -> StructType:
        return context.spark.read.parquet(_GLOB.sub(r"\\\g<0>", address)).schema

    origin = Files(place, f"`{_FILE}`", f"`{_ROW}`", schema_of)
    columns = list(options.columns or schema.names)
    return ColumnSource(context, frame, place.given, span=options.span, columns=columns, files=origin)


def _check_features(table: DeltaTable, place: Place, options: ReadOptions) -> None:
    protocol = table.protocol()
    features = set(protocol.reader_features or ()) - _HARMLESS
    mapping = table.metadata().configuration.get("delta.columnMapping.mode", "none")
    if mapping == "none":
        features.discard("columnMapping")
    elif mapping:
        features.add("columnMapping")
    if features:
        message = (
            f"ingest: {place.given} is a Delta table with {', '.join(sorted(features))}, which Corollary does not read"
        )
        hint = "Spark with the Delta library reads it: kb.insert(predicate, data_frame)"
        raise ProgramError([Diagnostic(catalogue.BROKEN_DATA, message, options.span, hint)])


def _contents(table: DeltaTable, place: Place) -> tuple[StructType, list[str], list[tuple[str, list[Any]]]]:
    """The columns, those of them that files do not have, and each file with its values of these."""
    import pyarrow as pa
    from pyspark.sql.types import StructType

    schema = StructType.fromJson(json.loads(table.schema().to_json()))
    partitions = list(table.metadata().partition_columns)
    actions = pa.table(table.get_add_actions(flatten=True))
    root = str(place.local.absolute()) if place.local else place.address.rstrip("/")
    files = []
    values = [actions.column(f"partition.{name}").to_pylist() for name in partitions]
    for number, path in enumerate(actions.column("path").to_pylist()):
        name = unquote(path)
        address = name if "://" in name or name.startswith("/") else f"{root}/{name}"
        files.append((address, [column[number] for column in values]))
    return schema, partitions, files


def _frame(
    context: Context, schema: StructType, partitions: list[str], files: list[tuple[str, list[Any]]]
) -> DataFrame:
    from pyspark.sql import functions as F  # noqa: N812
    from pyspark.sql.types import StringType, StructField, StructType

    spark = context.spark
    if not files:
        return spark.createDataFrame([], schema).withColumns({_FILE: F.lit(""), _ROW: F.lit(0)})
    in_files = StructType([field for field in schema.fields if field.name not in partitions])
    paths = [_GLOB.sub(r"\\\g<0>", address) for address, _ in files]
    paths = [f"file://{path}" if path.startswith("/") else path for path in paths]
    read = spark.read.option("recursiveFileLookup", "true").schema(in_files).parquet(*paths)
    frame = read.withColumns({_FILE: F.col("_metadata.file_path"), _ROW: F.col("_metadata.row_index")})
    if not partitions:
        return frame
    addresses = {
        unquote(re.sub(r"^file:/+", "/", one)): re.sub(r"^file:/+", "file:/", one) for one in read.inputFiles()
    }
    fields = [StructField(_FILE, StringType()), *(schema[name] for name in partitions)]
    rows = [(addresses[address], *values) for address, values in files]
    return frame.join(F.broadcast(spark.createDataFrame(rows, StructType(fields))), _FILE)
