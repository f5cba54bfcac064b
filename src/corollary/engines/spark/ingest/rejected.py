"""Rows that a load left out: a table of file, line, reason and text; the first of them on the driver."""

from __future__ import annotations

from typing import TYPE_CHECKING

from corollary.io.rejects import LISTED, Rejects

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SCHEMA = "file string, line long, reason string, text string"


def collected(table: DataFrame, total: int, source: str) -> Rejects:
    """The first rejected rows of each file by line, up to the limit of a report, and the counts of all.

    `total` is their number with those that no task listed, which count for `source`.
    """
    from pyspark.sql import functions as F  # noqa: N812

    rejects = Rejects()
    shown = table.orderBy("file", "line").limit(LISTED).collect()
    for row in shown:
        rejects.add(row["file"], row["line"], row["reason"], row["text"])
    if total > len(shown):
        counts = {row["file"]: row["rows"] for row in table.groupBy("file").agg(F.count("*").alias("rows")).collect()}
        for file, count in counts.items():
            rejects.count(file, count - rejects.by_file.get(file, 0))
        if more := total - len(rejects):
            rejects.count(source, more)
    return rejects


def table_of(spark: SparkSession, rejects: Rejects) -> DataFrame:
    """Rejected rows that the driver has."""
    rows = [(one.file, one.line, one.reason, one.text) for one in rejects]
    return spark.createDataFrame(rows, SCHEMA)
