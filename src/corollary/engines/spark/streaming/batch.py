"""The changes of one micro-batch: checked, in order, and only the last one of each fact.

A batch that the driver may hold is looked at there, after one job; a larger one is written down once, and stays on Spark.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from corollary.engines.spark.ingest.columns_task import in_utc
from corollary.engines.spark.streaming.change_columns import (
    CODE,
    DELETE,
    INSERT,
    OP,
    ORDER,
    PREDICATE,
    REASON,
    TEXT,
    ChangeColumns,
)
from corollary.language.cells import MEANING

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from corollary.engines.spark.context import Context

FactTables = dict[str, Any]
"""Facts by predicate, as a `Change` takes them."""


@dataclass(frozen=True)
class MicroBatch:
    """The content of a micro-batch. `rejected` is a table with `code`, `reason` and `text`: of Arrow, or of Spark where it is
    large."""

    rows: int
    insert: FactTables
    delete: FactTables
    bad: int
    rejected: pa.Table | DataFrame


def read_batch(context: Context, batch: DataFrame, columns: ChangeColumns) -> MicroBatch:
    classified, most = columns.classified(context.for_engine(batch)), context.settings.change_rows
    few = classified.limit(most + 1).toArrow()
    if few.num_rows <= most:
        return _in_driver(few.combine_chunks(), columns)
    return _on_spark(context, classified, columns)


# -- in the driver -----------------------------------------------------------------------------------------------------


def _in_driver(table: pa.Table, columns: ChangeColumns) -> MicroBatch:
    is_bad = pc.is_valid(table.column(CODE))
    rejected = table.filter(is_bad).select([CODE, REASON, TEXT])
    good = table.filter(pc.invert(is_bad))
    if columns.order is not None:
        good = _last_of_each(good)
    sides: dict[str, FactTables] = {INSERT: {}, DELETE: {}}
    for written in good.column(PREDICATE).unique().to_pylist():
        name = columns.spelled[written]
        mine = good.filter(pc.equal(good.column(PREDICATE), written))
        for op, side in sides.items():
            rows = mine.filter(pc.equal(mine.column(OP), op)).select(columns.places(name))
            if rows.num_rows:
                _add(side, name, rows, columns.meaning(name))
    return MicroBatch(table.num_rows, sides[INSERT], sides[DELETE], rejected.num_rows, rejected)


def _add(side: FactTables, name: str, rows: pa.Table, meanings: list[bytes | None]) -> None:
    if not rows.num_columns:
        side[name] = [()]
        return
    columns = [in_utc(column) for column in rows.columns]
    fields = [
        pa.field(f"a{place}", column.type, metadata={MEANING: meaning} if meaning else None)
        for place, (column, meaning) in enumerate(zip(columns, meanings, strict=True), 1)
    ]
    rows = pa.Table.from_arrays(columns, schema=pa.schema(fields))
    side[name] = pa.concat_tables([side[name], rows]) if name in side else rows


def _last_of_each(table: pa.Table) -> pa.Table:
    """For each fact the change that comes last; an insertion where two come at once."""
    order = pc.sort_indices(table.select([ORDER, OP]), sort_keys=[(ORDER, "ascending"), (OP, "ascending")])
    ordered = table.take(order)  # 'delete' comes before 'insert'
    keys = [name for name in ordered.column_names if name not in (OP, ORDER, CODE, REASON, TEXT)]
    numbered = ordered.append_column("place", pa.array(range(ordered.num_rows), pa.int64()))
    last = numbered.group_by(keys, use_threads=False).aggregate([("place", "max")]).column("place_max")
    return ordered.take(last)


# -- on Spark ----------------------------------------------------------------------------------------------------------


def _on_spark(context: Context, classified: DataFrame, columns: ChangeColumns) -> MicroBatch:
    written, rows = context.workspace.write(classified, "batch")
    rejected = written.where(f"{CODE} IS NOT NULL").select(CODE, REASON, TEXT)
    good = written.where(f"{CODE} IS NULL")
    if columns.order is not None:
        good = _last_on_spark(good)
    groups = good.groupBy(PREDICATE, OP).count().collect()
    sides: dict[str, FactTables] = {INSERT: {}, DELETE: {}}
    for written_name, op in sorted((row[PREDICATE], row[OP]) for row in groups):
        name, side = columns.spelled[written_name], sides[op]
        mine = good.where(_is(PREDICATE, written_name) & _is(OP, op)).select(*columns.places(name))
        if not columns.arguments[name]:
            side[name] = [()]
        else:
            side[name] = side[name].union(mine) if name in side else mine
    return MicroBatch(rows, sides[INSERT], sides[DELETE], rejected.count(), rejected)


def _last_on_spark(good: DataFrame) -> DataFrame:
    from pyspark.sql import functions as F  # noqa: N812

    keys = [name for name in good.columns if name not in (OP, ORDER, CODE, REASON, TEXT)]
    last = F.max(F.struct(ORDER, OP)).alias("last")
    return good.groupBy(*keys).agg(last).select(*keys, F.col(f"last.{OP}").alias(OP))


def _is(column: str, value: str) -> Any:
    from pyspark.sql import functions as F  # noqa: N812

    return F.col(column) == F.lit(value)


def all_rejected(batch: DataFrame, code: str, reason: str) -> DataFrame:
    """Every row of a batch, with the same reason."""
    from pyspark.sql import functions as F  # noqa: N812

    text = F.to_json(F.struct(*("`" + name.replace("`", "``") + "`" for name in batch.columns)))
    return batch.select(F.lit(code).alias(CODE), F.lit(reason).alias(REASON), text.alias(TEXT))
