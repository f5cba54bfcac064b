"""A relation that grows in rounds: the facts from before, those that rounds added in a few parts, and the last delta.

All of it is in reliable checkpoints, partitioned by one key and sorted, so that neither the difference with new facts
nor a join by that key moves the full relation. Parts are folded by size, as in a log-structured store: every fact is
rewritten a logarithmic number of times, and a plan never has more than `fold_every` parts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING, Any

from corollary.engines.spark.algebra.profiles import ANYTHING, classes_sql
from corollary.engines.spark.failures import LostRowsError
from corollary.engines.spark.relations import Frame, column_names, empty_frame
from corollary.engines.spark.watched import seen_by

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, Observation

    from corollary.engines.spark.context import Context

_SORTED_FROM = 200_000
"""A part of at least this many rows gets its own anti-join, which uses its order; smaller parts share one."""


@dataclass(frozen=True)
class GrowingPart:
    df: DataFrame
    rows: int


class Growing:
    """`base` has the facts visible before; `parts` and `delta` have new facts, disjoint from it and from each other."""

    def __init__(self, context: Context, arity: int, key: tuple[int, ...], *, watches_classes: bool) -> None:
        self._context = context
        self.arity = arity
        self.columns = column_names(arity)
        self._key = [self.columns[place] for place in key]
        self._watches_classes = watches_classes
        self.classes = [0] * len(self.columns)
        self.base: GrowingPart | None = None
        self.parts: list[GrowingPart] = []
        self.delta: GrowingPart | None = None

    # -- reading -----------------------------------------------------------------------------------------------------

    @property
    def old(self) -> list[GrowingPart]:
        return [*([self.base] if self.base else []), *self.parts]

    @property
    def full(self) -> list[GrowingPart]:
        return [*self.old, *([self.delta] if self.delta else [])]

    @property
    def rows(self) -> int:
        return sum(part.rows for part in self.full)

    @property
    def new_rows(self) -> int:
        """The number of facts added to those in the base."""
        return self.rows - (self.base.rows if self.base else 0)

    def union(self, parts: Sequence[GrowingPart]) -> DataFrame:
        if not parts:
            return empty_frame(self._context.spark, self.arity).df
        return reduce(lambda left, right: left.union(right), (part.df for part in parts))

    # -- writing -----------------------------------------------------------------------------------------------------

    def start(self, frame: Frame | None, *, derived: Frame | None = None) -> None:
        """Write the facts that exist before the first round; those in `derived` count as new nevertheless."""
        if frame is not None and frame.rows != 0:
            self.base = self._written(frame.df.repartition(self._context.partitions, *self._key))
        if derived is not None and derived.rows != 0:
            part = self._written(derived.df.repartition(self._context.partitions, *self._key))
            self.parts = [part] if part else []

    def grow(self, derived: DataFrame) -> GrowingPart | None:
        """Return those of the derived facts that are new, in one job; `advance` makes them the delta."""
        return self._written(self.difference(derived))

    def difference(self, derived: DataFrame) -> DataFrame:
        """Return the derived facts that are not known yet; only the derived ones are moved."""
        new = derived.repartition(self._context.partitions, *self._key).distinct()
        for part in self.full:
            if part.rows >= _SORTED_FROM:
                new = new.join(part.df, self.columns, "left_anti")
        small = [part for part in self.full if part.rows < _SORTED_FROM]
        return new.join(self.union(small), self.columns, "left_anti") if small else new

    def advance(self, new: GrowingPart | None) -> None:
        if self.delta is not None:
            self.parts.append(self.delta)
        self.delta = new
        if len(self.parts) >= max(2, self._context.settings.fold_every):
            self._fold()

    def finish(self, name: str) -> Frame:
        """Return all new facts as one table, after which no checkpoint is needed."""
        parts = self.full[len(self.old) - len(self.parts) :]
        if not parts:
            found = empty_frame(self._context.spark, self.arity)
        else:
            found = self._context.workspace.table(self.union(parts), name, self.arity)
            check_nothing_lost(sum(part.rows for part in parts), found.rows)
        self.forget()
        return found

    def forget(self) -> None:
        for part in self.full:
            self._context.workspace.forget(part.df)
        self.base, self.parts, self.delta = None, [], None

    def _fold(self) -> None:
        start = len(self.parts) - 2
        rows = self.parts[-1].rows + self.parts[start].rows
        while start and self.parts[start - 1].rows <= 2 * rows:
            start -= 1
            rows += self.parts[start].rows
        folded = self.parts[start:]
        df = self.union(folded).sortWithinPartitions(*self.columns)
        self.parts[start:] = [GrowingPart(self._context.workspace.checkpoint(df), rows)]
        for part in folded:
            self._context.workspace.forget(part.df)

    def _written(self, df: DataFrame) -> GrowingPart | None:
        """Return rows in a checkpoint, counted by the job that writes them; None if there are none."""
        from pyspark.sql import Observation
        from pyspark.sql.functions import expr

        observation = Observation()
        wanted = [f"{classes_sql(name)} AS {name}" for name in self.columns] if self._watches_classes else []
        df = df.sortWithinPartitions(*self.columns)
        df = df.observe(observation, *(expr(one) for one in ["count(1) AS n", *wanted]))
        written = self._context.workspace.checkpoint(df)
        found = observed(observation, written)
        if self._watches_classes:
            self.classes = [before | found[name] for before, name in zip(self.classes, self.columns, strict=True)]
        if not found["n"]:
            self._context.workspace.forget(written)
            return None
        return GrowingPart(written, found["n"])


def check_nothing_lost(written: int, read: int | None) -> None:
    """Raise `LostRowsError` if Spark read less from a checkpoint than was written: it reports no lost or truncated file."""
    if read != written:
        raise LostRowsError(f"checkpoints have {read:,} rows, and {written:,} were written to them")


def observed(observation: Observation, written: DataFrame) -> dict[str, Any]:
    """Return what a job observed, or a safe bound if Spark's optimiser removed the observer."""
    found = seen_by(observation)
    if "n" in found:
        return found
    return {"n": written.count(), **dict.fromkeys(written.columns, ANYTHING)}
