"""Aggregates inside Spark: counts always, others if all values are integers or doubles inside their ids.

Spark aggregates partially before it shuffles, so a giant group costs no memory here. Sums are decimals of 29 digits,
which no number of rows overflows; sums that do not fit into an id, and averages, which are doubles, become constants in
a last stage.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from corollary.engines.embedded.relations.relation import Codes
from corollary.engines.spark.algebra.profiles import INLINE_DOUBLES, INTEGERS
from corollary.engines.spark.algebra.values import MINTED, minted_column
from corollary.engines.spark.terms.ids import CollisionTable
from corollary.engines.spark.terms.task_universe import TaskUniverse
from corollary.program import AggregateOperation

if TYPE_CHECKING:
    from pyspark.sql import Column

_EXACT = 1 << 53
_NATIVE = ("count", "min", "max", "sum", "avg")


@dataclass(frozen=True)
class NativeAggregates:
    """Spark's aggregates: `n` counts a group's rows; `r{i}` is the raw result of operation i, `m{i}` the number of
    values in an average."""

    functions: tuple[str, ...]
    expressions: tuple[str, ...]
    raw: tuple[str, ...]

    @property
    def aggregates(self) -> list[Column]:
        from pyspark.sql.functions import expr

        return [expr(one) for one in self.expressions]

    @property
    def needs_finish(self) -> bool:
        return any(function in ("sum", "avg") for function in self.functions)

    def results(self, groups: int) -> list[str]:
        """Return the ids of the results as expressions, for results that need no new constant."""
        return [
            f"{f'shiftleft(r{i}, 2)' if function == 'count' else f'r{i}'} AS c{groups + i}"
            for i, function in enumerate(self.functions)
        ]


def native_aggregates(
    operations: Sequence[AggregateOperation], arguments: Sequence[str], classes: Sequence[int]
) -> NativeAggregates | None:
    """Return the aggregates as Spark expressions; None if some depend on values that ids do not contain."""
    expressions, raw = ["count(1) AS n"], []
    for i, (operation, argument, mask) in enumerate(zip(operations, arguments, classes, strict=True)):
        distinct = "DISTINCT " if operation.distinct else ""
        if operation.function not in _NATIVE or not _decided(operation.function, mask):
            return None
        match operation.function:
            case "count":
                expressions.append(f"count({distinct}{argument}) AS r{i}")
            case "min" | "max":
                expressions.append(f"{operation.function}({argument}) AS r{i}")
            case _:
                value = f"CAST(shiftright({argument}, 2) AS DECIMAL(19, 0))"
                expressions.append(f"sum({distinct}{value}) AS r{i}")
                expressions.append(f"count({distinct}{argument}) AS m{i}")
                raw.append(f"m{i}")
        raw.append(f"r{i}")
    return NativeAggregates(tuple(operation.function for operation in operations), tuple(expressions), tuple(raw))


def _decided(function: str, classes: int) -> bool:
    """Return whether ids alone decide an aggregate over these classes, because they are ordered like their integers or
    doubles."""
    match function:
        case "count":
            return True
        case "min" | "max":
            return not classes & ~INTEGERS or not classes & ~INLINE_DOUBLES
        case _:
            return not classes & ~INTEGERS


@dataclass(frozen=True)
class FinishStage:
    """The stage that turns the raw results of groups into constants."""

    groups: int
    functions: tuple[str, ...]
    collisions: CollisionTable

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            if batch.num_rows:
                yield self._run(batch)

    def _run(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        task = TaskUniverse(self.collisions)
        columns = [batch.column(f"c{place}").to_numpy() for place in range(self.groups)]
        made = []
        for i, function in enumerate(self.functions):
            raw = batch.column(f"r{i}")
            if function in ("sum", "avg"):
                codes = _sums(task, raw) if function == "sum" else _averages(task, raw, batch.column(f"m{i}"))
                made.append(task.ids(codes))
                columns.append(made[-1])
            else:
                columns.append(raw.to_numpy() << 2 if function == "count" else raw.to_numpy())
        names = [f"c{place}" for place in range(len(columns))]
        minted = minted_column(task, made, batch.num_rows)
        return pa.RecordBatch.from_arrays([*map(pa.array, columns), minted], names=[*names, MINTED])


def _integers(column: pa.Array) -> np.ndarray[tuple[int], np.dtype[np.int64]] | None:
    try:
        return column.cast(pa.int64()).to_numpy()  # type: ignore[no-any-return]
    except pa.ArrowInvalid:  # a sum needs more than 64 bits
        return None


def _sums(task: TaskUniverse, sums: pa.Array) -> Codes:
    integers = _integers(sums)
    if integers is not None:
        return task.universe.encode_integers(integers)
    return task.universe.encode_values([int(one) for one in sums.to_pylist()])


def _averages(task: TaskUniverse, sums: pa.Array, counts: pa.Array) -> Codes:
    integers = _integers(sums)
    if integers is not None and np.abs(integers.astype(np.float64)).max() < _EXACT:
        return task.universe.encode_doubles(integers / counts.to_numpy())
    pairs = zip(sums.to_pylist(), counts.to_pylist(), strict=True)
    return task.universe.encode_doubles(np.array([float(Fraction(int(total), count)) for total, count in pairs]))
