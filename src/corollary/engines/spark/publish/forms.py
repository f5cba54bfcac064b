"""Ids with the forms of their constants, and functions over batches of codes for tasks.

A row of ids is joined with the universe once for each column of hashed constants. In the task, a small universe of the
embedded engine learns the distinct constants of a batch, so that the engine's writers and decoders do the rest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import pyarrow as pa

from corollary.engines.embedded.relations.relation import Codes
from corollary.engines.embedded.values.universe import Universe
from corollary.engines.spark.terms.ids import is_hashed

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from corollary.engines.spark.context import Context
    from corollary.engines.spark.terms.task_universe import TaskUniverse

Batches: TypeAlias = Iterator[pa.RecordBatch]
OfCodes: TypeAlias = Callable[[Universe, list[Codes], pa.RecordBatch], Iterator[pa.RecordBatch]]
"""The work of a task on a batch, given its columns as codes, and the batch itself."""

_LARGEST_UNIVERSE = 1 << 20  # constants that a task keeps between batches


def with_forms(context: Context, df: DataFrame, columns: Sequence[str]) -> DataFrame:
    """Return the rows with `<column>_canonical` and `<column>_datatype` added after the named columns."""
    from pyspark.sql import functions

    for column in columns:
        forms = context.universe.df.select(
            functions.col("id").alias(f"{column}_id"),
            functions.col("canonical").alias(f"{column}_canonical"),
            functions.col("datatype").alias(f"{column}_datatype"),
        )
        df = df.join(forms, functions.col(column) == functions.col(f"{column}_id"), "left").drop(f"{column}_id")
    return df


def over_codes(columns: Sequence[str], hashed: Sequence[str], work: OfCodes) -> Callable[[Batches], Batches]:
    """Return a function for `mapInArrow` over rows from `with_forms`: it turns `columns` into codes; those in `hashed`
    have forms."""

    def run(batches: Batches) -> Batches:
        from corollary.engines.spark.terms.task_universe import TaskUniverse

        known = TaskUniverse()
        for batch in batches:
            if known.universe.size > _LARGEST_UNIVERSE:
                known = TaskUniverse()
            teach(known, batch, hashed)
            codes = [known.codes(batch.column(name).to_numpy()) for name in columns]
            yield from work(known.universe, codes, batch)

    return run


def teach(known: TaskUniverse, batch: pa.RecordBatch, hashed: Sequence[str]) -> None:
    for name in hashed:
        terms = distinct_terms(batch, name)
        if terms.num_rows:
            known.learn(terms)


def distinct_terms(batch: pa.RecordBatch, name: str) -> pa.Table:
    """Return the rows of the universe for the distinct hashed constants of a column."""
    from corollary.engines.spark.terms.task_universe import TERM_FIELDS

    ids, first = np.unique(batch.column(name).to_numpy(), return_index=True)
    wanted = is_hashed(ids)
    places = pa.array(first[wanted])
    canonical = batch.column(f"{name}_canonical").take(places)
    datatype = batch.column(f"{name}_datatype").take(places)
    # Output does not need the common forms: values are made from the canonical ones.
    return pa.table([pa.array(ids[wanted]), canonical, canonical, datatype], schema=TERM_FIELDS)
