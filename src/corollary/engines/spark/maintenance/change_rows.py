"""Changed rows: a few of them in the driver, from where Spark sends them to the large relations; many in a table.

A change is usually small, and the relations that it meets are large. Rows in the driver cost Spark neither a broadcast
stage nor a file. Their number is limited; larger changes are written to the workspace.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import pyarrow as pa

from corollary.engines.spark.algebra.profiles import Profile, classes_of_ids, profile_of
from corollary.engines.spark.relations import COUNT, Frame, LocalFrame, column_names, empty_frame
from corollary.engines.spark_session.arrow_frames import rows_of_table

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from corollary.engines.spark.context import Context

# -- distinct rows -----------------------------------------------------------------------------------------------------

# Equal rows of ids, found by one number for each row, since numpy sorts numbers many times as fast as rows.

Ids: TypeAlias = np.ndarray[Any, np.dtype[np.int64]]

_LARGEST = 1 << 62


def row_numbers(rows: Ids) -> Ids:
    """Return a number for each row; equal rows have equal numbers."""
    numbers: Ids = np.zeros(len(rows), np.int64)
    size = 1
    for place in range(rows.shape[1]):
        values, codes = np.unique(rows[:, place], return_inverse=True)
        if size * max(1, len(values)) > _LARGEST:
            known, numbers = np.unique(numbers, return_inverse=True)
            size = len(known)
        numbers = numbers * len(values) + codes.reshape(-1)
        size *= max(1, len(values))
    return numbers


def distinct_rows(rows: Ids) -> tuple[Ids, Ids]:
    """Return the distinct rows, and for each given row the position of its equal."""
    _, first, places = np.unique(row_numbers(rows), return_index=True, return_inverse=True)
    return rows[first], places.reshape(-1)


# -- change rows -------------------------------------------------------------------------------------------------------

TAG = "tag"
BROADCAST_ROWS = 1_000_000
"""Rows that may be broadcast to every task."""


@dataclass(frozen=True, eq=False)
class ChangeRows:
    """Distinct rows of ids in `c0 …` and a column `n` of signed numbers; `ids` holds them if they are in the driver."""

    context: Context
    arity: int
    rows: int
    ids: Ids | None = None
    """The columns `c0 …` and `n`."""
    stored: DataFrame | None = None

    @classmethod
    def of_ids(cls, context: Context, arity: int, ids: Ids) -> ChangeRows:
        return cls(context, arity, len(ids), ids)

    @classmethod
    def nothing(cls, context: Context, arity: int) -> ChangeRows:
        return cls.of_ids(context, arity, np.empty((0, len(column_names(arity)) + 1), np.int64))

    @property
    def columns(self) -> list[str]:
        return column_names(self.arity)

    @cached_property
    def df(self) -> DataFrame:
        if self.stored is not None:
            return self.stored
        assert self.ids is not None
        return frame_of(self.context, [*self.columns, COUNT], self.ids)

    @cached_property
    def keys(self) -> DataFrame:
        """The facts alone, broadcast to every task if that is cheaper than moving the relations they meet."""
        return hinted(self.df.select(*self.columns), self.rows)

    @property
    def frame(self) -> Frame:
        if self.ids is None:
            return Frame(self.df.select(*self.columns), self.arity, self.rows)
        if not self.rows:
            return empty_frame(self.context.spark, self.arity)
        columns = [pa.array(np.ascontiguousarray(self.ids[:, place])) for place in range(len(self.columns))]
        return LocalFrame(self.context.spark, pa.table(columns, names=self.columns), self.arity)

    @cached_property
    def profile(self) -> Profile:
        if self.ids is None:
            return profile_of(self.frame)
        columns = [self.ids[:, place] for place in range(len(self.columns))]
        return Profile(
            self.rows,
            tuple(classes_of_ids(column) for column in columns),
            tuple(max(1, len(np.unique(column))) for column in columns),
        )

    @cached_property
    def total(self) -> int:
        """The sum of the numbers."""
        if self.ids is not None:
            return int(self.ids[:, -1].sum())
        return int(self.df.agg({COUNT: "sum"}).collect()[0][0] or 0)

    def where(self, sign: int) -> ChangeRows:
        """Return the rows with a positive or a negative number."""
        if self.ids is not None:
            chosen = self.ids[:, -1] > 0 if sign > 0 else self.ids[:, -1] < 0
            return ChangeRows.of_ids(self.context, self.arity, self.ids[chosen])
        df = self.df.where(f"{COUNT} {'>' if sign > 0 else '<'} 0")
        return ChangeRows(self.context, self.arity, df.count(), None, df)

    def having(self, *numbers: int) -> ChangeRows:
        """Return the rows with one of these numbers in `n`."""
        if self.ids is not None:
            return ChangeRows.of_ids(self.context, self.arity, self.ids[np.isin(self.ids[:, -1], numbers)])
        df = self.df.where(f"{COUNT} IN ({', '.join(map(str, numbers))})")
        return ChangeRows(self.context, self.arity, df.count(), None, df)

    def times(self, factor: int) -> ChangeRows:
        """Return the rows with their numbers multiplied by a factor."""
        if self.ids is not None:
            ids = self.ids.copy()
            ids[:, -1] *= factor
            return ChangeRows.of_ids(self.context, self.arity, ids)
        df = self.df.selectExpr(*self.columns, f"{COUNT} * {factor}L AS {COUNT}")
        return ChangeRows(self.context, self.arity, self.rows, None, df)

    def in_driver(self) -> Ids:
        """Return the columns `c0 …` and `n` as one array, whatever the number of rows."""
        if self.ids is not None:
            return self.ids
        table = self.df.select(*self.columns, COUNT).toArrow()
        return np.column_stack([column.to_numpy() for column in table.columns])

    def once(self) -> ChangeRows:
        """Return the rows, each with 1 in `n`."""
        if self.ids is not None:
            ids = self.ids.copy()
            ids[:, -1] = 1
            return ChangeRows.of_ids(self.context, self.arity, ids)
        df = self.df.selectExpr(*self.columns, f"1L AS {COUNT}")
        return ChangeRows(self.context, self.arity, self.rows, None, df)


def hinted(df: DataFrame, rows: int) -> DataFrame:
    from pyspark.sql.functions import broadcast

    return broadcast(df) if rows <= BROADCAST_ROWS else df


def frame_of(context: Context, names: Sequence[str], ids: Ids) -> DataFrame:
    """Return rows of the driver as a data frame."""
    if not len(ids):
        return context.spark.createDataFrame([], ", ".join(f"{name} long" for name in names))
    columns = [pa.array(np.ascontiguousarray(ids[:, place])) for place in range(len(names))]
    return rows_of_table(context.spark, pa.table(columns, names=list(names)))


def settle(context: Context, df: DataFrame, name: str) -> tuple[Ids | None, DataFrame | None, int]:
    """Run a query over long columns; return its rows, or a table if there are too many for the driver, and their number."""
    context.check()
    most = context.settings.change_rows
    found = df.limit(most + 1).toArrow()
    if found.num_rows <= most:
        columns = [column.to_numpy() for column in found.columns]
        ids = np.stack(columns, axis=1) if columns else np.empty((found.num_rows, 0), np.int64)
        return ids.astype(np.int64, copy=False), None, found.num_rows
    written, rows = context.workspace.write(df, name)
    return None, written, rows


def summed(parts: Sequence[ChangeRows]) -> ChangeRows:
    """Return the sum of changes to one relation; there must be at least one."""
    parts = [part for part in parts if part.rows] or list(parts[:1])
    if len(parts) == 1:
        return parts[0]
    context, arity, columns = parts[0].context, parts[0].arity, parts[0].columns
    if all(part.ids is not None for part in parts):
        together = np.concatenate([part.ids for part in parts if part.ids is not None])
        return ChangeRows.of_ids(context, arity, summed_ids(together))
    df = reduce(lambda left, right: left.union(right), (part.df for part in parts))
    sums = df.groupBy(*columns).agg({COUNT: "sum"}).withColumnRenamed(f"sum({COUNT})", COUNT).where(f"{COUNT} <> 0")
    ids, stored, rows = settle(context, sums, "change")
    return ChangeRows(context, arity, rows, ids, stored)


def distinct_ids(rows: Ids, number: int) -> Ids:
    """Return the distinct rows `c0 …`, with a number in `n`."""
    found, _ = distinct_rows(rows)
    return np.column_stack((found, np.full(len(found), number, np.int64)))


def summed_ids(ids: Ids) -> Ids:
    keys, places = distinct_rows(ids[:, :-1])
    totals = np.zeros(len(keys), np.int64)
    np.add.at(totals, places, ids[:, -1])
    sums: Ids = np.column_stack((keys, totals))[totals != 0]
    return sums


# -- several relations in one job ------------------------------------------------------------------------------------------


def tagged(frames: Mapping[int, tuple[DataFrame, int]], others: Sequence[str]) -> DataFrame:
    """Return frames of different arities (given with each) as one frame with a tag for each; all have the columns `others`."""
    width = max(len(column_names(arity)) for _, arity in frames.values())
    pieces = []
    for tag, (df, arity) in frames.items():
        known = len(column_names(arity))
        ids = [f"c{place}" if place < known else f"0L AS c{place}" for place in range(width)]
        pieces.append(df.selectExpr(f"{tag}L AS {TAG}", *ids, *others))
    return reduce(lambda left, right: left.union(right), pieces)


def taken_apart(
    context: Context, settled: tuple[Ids | None, DataFrame | None, int], arities: Mapping[int, int]
) -> dict[int, ChangeRows]:
    """Return the changes of each tag from rows `tag, c0 …, n`; tags without a row are missing."""
    ids, stored, _ = settled
    found: dict[int, ChangeRows] = {}
    for tag, arity in arities.items():
        width = len(column_names(arity))
        if ids is not None:
            chosen = ids[ids[:, 0] == tag]
            if len(chosen):
                found[tag] = ChangeRows.of_ids(
                    context, arity, np.column_stack((chosen[:, 1 : 1 + width], chosen[:, -1]))
                )
            continue
        assert stored is not None
        df = stored.where(f"{TAG} = {tag}").select(*column_names(arity), COUNT)
        if rows := df.count():
            found[tag] = ChangeRows(context, arity, rows, None, df)
    return found


def no_rows(context: Context, arity: int) -> DataFrame:
    return empty_frame(context.spark, arity).df


# -- row sets ----------------------------------------------------------------------------------------------------------

# Set operations on rows, in the driver if they are few.


def either(left: ChangeRows, right: ChangeRows) -> ChangeRows:
    """Return the union of two sets of rows, each row with 1 in `n`."""
    if not left.rows or not right.rows:
        return (left if left.rows else right).once()
    return summed([left.once(), right.once()]).once()


def without(left: ChangeRows, right: ChangeRows) -> ChangeRows:
    """Return the rows of the first set that are not in the second, with their numbers."""
    if not left.rows or not right.rows:
        return left
    if left.ids is not None and right.ids is not None:
        return ChangeRows.of_ids(left.context, left.arity, left.ids[~contained(left.ids[:, :-1], right.ids[:, :-1])])
    others = hinted(right.df.select(*right.columns), right.rows)
    df = left.df.join(others, left.columns, "left_anti").select(*left.columns, COUNT)
    ids, stored, rows = settle(left.context, df, "rows")
    return ChangeRows(left.context, left.arity, rows, ids, stored)


def contained(rows: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Return, for each row, whether it is among the others."""
    numbers = row_numbers(np.concatenate((rows, others)))
    return np.isin(numbers[: len(rows)], numbers[len(rows) :])
