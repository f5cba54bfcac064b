"""Rows of the universe for strings that Spark itself made: printable ASCII inside Spark, everything else in tasks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import reduce
from typing import TYPE_CHECKING

import pyarrow as pa

from corollary.engines.spark.terms.common_texts import RESERVED_WORDS, strings_in_programs
from corollary.engines.spark.terms.forms import STRING
from corollary.engines.spark.terms.task_universe import TERM_FIELDS, TERM_SCHEMA

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame


def terms_of_texts(df: DataFrame, pairs: Sequence[tuple[str, str]]) -> DataFrame:
    """The universe rows of strings whose ids and texts stand in pairs of columns; rows without a text have none."""
    from pyspark.sql import functions as F  # noqa: N812

    parts = [df.select(F.col(number).alias("id"), F.col(text).alias("canonical")) for number, text in pairs]
    found: DataFrame = reduce(lambda left, right: left.union(right), parts).where("canonical IS NOT NULL")
    plain = F.col("canonical").rlike(r"^[ -~]*\z")
    written = found.where(plain).select(
        F.col("id"), _common().alias("common"), F.col("canonical"), F.lit(STRING).alias("datatype")
    )
    return written.union(found.where(~plain).mapInArrow(_written, TERM_SCHEMA))


def _common() -> Column:
    """`strings_in_programs` for printable ASCII."""
    from pyspark.sql import functions as F  # noqa: N812

    text = F.col("canonical")
    bare = text.rlike(r"^[a-z][A-Za-z0-9_]*\z") & ~F.lower(text).isin(*RESERVED_WORDS)
    escaped = F.replace(F.replace(text, F.lit("\\"), F.lit("\\\\")), F.lit('"'), F.lit('\\"'))
    return F.when(bare, text).otherwise(F.concat(F.lit('"'), escaped, F.lit('"')))


def _written(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        texts = batch.column("canonical").cast(pa.string())
        common = strings_in_programs(texts)
        datatypes = pa.repeat(pa.scalar(STRING), len(texts))
        yield pa.RecordBatch.from_arrays([batch.column("id"), common, texts, datatypes], schema=TERM_FIELDS)
