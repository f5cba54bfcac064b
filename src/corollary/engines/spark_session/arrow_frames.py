"""Arrow tables as Spark data frames, with the meaning of their text columns.

Spark keeps such information in the metadata of a column's field, writes it into Parquet files and reads it back.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from corollary.language.cells import MEANING

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import DataType, StructType


_ROWS_OF_A_TASK = 250_000


def rows_of_table(spark: SparkSession, table: pa.Table) -> DataFrame:
    """Return the rows of a table of the driver, whose columns have names that Spark can tell apart.

    For a large table, Spark would make one task for each batch of a few thousand rows, and each would write a file. It
    would lose everything after an empty chunk.
    """
    df = spark.createDataFrame(table.combine_chunks())
    if table.num_rows <= _ROWS_OF_A_TASK:
        return df
    return df.coalesce(-(-table.num_rows // _ROWS_OF_A_TASK))


def frame_of_table(spark: SparkSession, table: pa.Table) -> DataFrame:
    """Return the rows of a table of the driver; its types are those that `narrowed` leaves."""
    if not table.num_columns:
        return spark.range(table.num_rows).select()
    names = [f"c{place}" for place in range(table.num_columns)]  # to Spark, names that differ only in case are equal
    df = rows_of_table(spark, table.rename_columns(names))
    return described(df, table.schema)


def described(df: DataFrame, schema: pa.Schema) -> DataFrame:
    """Return the columns in order, with the names and the metadata of an Arrow schema."""
    from pyspark.sql import functions

    columns = [
        functions.col(name).alias(field.name, metadata=spark_metadata(field))
        for name, field in zip(df.columns, schema, strict=True)
    ]
    return df.select(*columns)


def spark_metadata(field: pa.Field) -> dict[str, str]:
    meaning = (field.metadata or {}).get(MEANING)
    return {MEANING.decode(): meaning.decode()} if meaning else {}


def spark_schema(schema: pa.Schema) -> StructType:
    """Return the schema for a function of Arrow batches; nothing in it may be null."""
    from pyspark.sql.types import StructField, StructType

    return StructType(
        [StructField(field.name, spark_type(field.type), True, spark_metadata(field)) for field in schema]
    )


def spark_type(kind: pa.DataType) -> DataType:
    """Return the Spark type for one of the types that published columns have."""
    from pyspark.sql import types

    if pa.types.is_timestamp(kind):
        return types.TimestampType() if kind.tz else types.TimestampNTZType()
    if pa.types.is_decimal(kind):
        return types.DecimalType(kind.precision, kind.scale)
    plain = {
        pa.int64(): types.LongType(),
        pa.float64(): types.DoubleType(),
        pa.bool_(): types.BooleanType(),
        pa.string(): types.StringType(),
        pa.date32(): types.DateType(),
    }
    return plain[kind]
