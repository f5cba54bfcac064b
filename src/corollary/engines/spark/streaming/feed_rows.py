"""Rows of a change feed from a result on Spark: tasks write the values of each fact as JSON."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa

from corollary.engines.embedded.relations.relation import Codes
from corollary.engines.embedded.values.universe import Universe
from corollary.engines.spark.publish.forms import over_codes, with_forms
from corollary.engines.spark.result import SparkResult
from corollary.io.formats import JSON

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

SCHEMA = pa.schema([("version", pa.int64()), ("predicate", pa.string()), ("op", pa.string()), ("values", pa.string())])
_SPARK_SCHEMA = "version long, predicate string, op string, values string"


@dataclass(frozen=True)
class FeedRows:
    """Facts of one predicate that were inserted or deleted in one version."""

    version: int
    predicate: str
    op: str

    def of(self, universe: Universe, columns: list[Codes], count: int) -> pa.RecordBatch:
        names = [f"a{place}" for place in range(1, len(columns) + 1)]
        lines = JSON.lines(names, target="a feed", predicate=self.predicate)
        said = (pa.scalar(self.version, pa.int64()), pa.scalar(self.predicate), pa.scalar(self.op))
        texts = lines.of(universe, columns, count).cast(pa.string())
        return pa.RecordBatch.from_arrays([*(pa.repeat(one, count) for one in said), texts], schema=SCHEMA)

    def __call__(self, universe: Universe, codes: list[Codes], batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        yield self.of(universe, codes, batch.num_rows)

    def on_spark(self, result: SparkResult) -> DataFrame:
        """Return the rows for facts on Spark, of a predicate with arguments."""
        rows = result.decoded
        names = rows.frame.columns
        hashed = [names[place] for place in rows.summary.hashed]
        joined = with_forms(rows.context, rows.frame.df, hashed)
        return joined.mapInArrow(over_codes(names, hashed, self), _SPARK_SCHEMA)
