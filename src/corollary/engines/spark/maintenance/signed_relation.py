"""A relation that changes: a base and signed segments, merged when it is read, and folded into a new base by size.

The base is never rewritten for a small change. Reading it leaves out the few deleted rows, which are broadcast to every
task, and adds the few inserted ones. Everything here is immutable: a transaction makes new relations from the old
files.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from typing import TYPE_CHECKING

from corollary.engines.spark.algebra.profiles import Profile, profile_of, together
from corollary.engines.spark.maintenance.change_rows import ChangeRows, hinted, no_rows, summed
from corollary.engines.spark.relations import COUNT, Frame, column_names

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from corollary.engines.spark.context import Context

MOST_SEGMENTS = 4
_SHARE_TO_FOLD = 4  # segments are folded at a quarter of the base


@dataclass(frozen=True, eq=False)
class SignedRelation:
    """A base whose rows count once (or, if `counted`, as often as their column `n` says), and `segments` that add to
    it.

    Rows whose sum is zero are not in the relation; no sum is negative. The frames of the base are disjoint.
    """

    context: Context
    arity: int
    base: tuple[Frame, ...] = ()
    counted: bool = False
    segments: tuple[ChangeRows, ...] = ()

    @property
    def columns(self) -> list[str]:
        return column_names(self.arity)

    # -- reading -----------------------------------------------------------------------------------------------------

    def numbers(self) -> list[DataFrame]:
        """Return parts with the columns `c0 …, n`; a row may be in several of them, and its numbers add up."""
        return [*self.base_numbers(), *(segment.df for segment in self.segments)]

    def base_numbers(self) -> list[DataFrame]:
        return [self.numbers_of(frame) for frame in self.bases]

    def numbers_of(self, frame: Frame) -> DataFrame:
        """Return the rows of one frame of the base, with their numbers."""
        return frame.df if self.counted else frame.df.selectExpr(*self.columns, f"1L AS {COUNT}")

    def matching(self, keys: DataFrame) -> list[DataFrame]:
        """Return the rows with these keys, with their numbers. If the keys are few and hinted, the relation is not shuffled."""
        return [part.join(keys, self.columns, "left_semi") for part in self.numbers()]

    def visible(self) -> Frame:
        """Return every row once, for a relation that does not count."""
        return self._visible

    @cached_property
    def _visible(self) -> Frame:
        assert not self.counted
        if len(self.bases) == 1 and not self.segments:
            return self.bases[0]
        base = [frame.df for frame in self.bases]
        if self.segments:
            change = summed(self.segments)
            gone, came = change.where(-1), change.where(+1)
            if gone.rows:
                hidden = hinted(gone.df.select(*self.columns), gone.rows)
                base = [df.join(hidden, self.columns, "left_anti") for df in base]
            if came.rows:
                base.append(came.df.select(*self.columns))
        df = reduce(lambda left, right: left.union(right), base) if base else no_rows(self.context, self.arity)
        return Frame(df, self.arity, self.rows)

    def supported(self) -> Frame:
        """Return every row once with its number, which needs a shuffle if there are segments."""
        parts = self.numbers()
        if not parts:
            return Frame(no_rows(self.context, self.arity).selectExpr("*", f"0L AS {COUNT}"), self.arity, 0)
        df = reduce(lambda left, right: left.union(right), parts)
        if self.segments:
            df = df.groupBy(*self.columns).agg({COUNT: "sum"}).withColumnRenamed(f"sum({COUNT})", COUNT)
            df = df.where(f"{COUNT} > 0")
        return Frame(df, self.arity, None if self.segments else self.rows)

    @property
    def bases(self) -> list[Frame]:
        """The nonempty frames of the base."""
        return [frame for frame in self.base if frame.rows != 0]

    @property
    def rows(self) -> int | None:
        """The number of rows, None for a relation that counts and has changed."""
        known = [frame.rows for frame in self.base]
        if any(rows is None for rows in known) or (self.counted and self.segments):
            return None
        return sum(rows or 0 for rows in known) + sum(segment.total for segment in self.segments)

    @property
    def size(self) -> int:
        """About the number of rows."""
        return sum(frame.rows or 0 for frame in self.base) + sum(segment.rows for segment in self.segments)

    def profile(self) -> Profile:
        parts = [profile_of(frame) for frame in self.bases] + [segment.profile for segment in self.segments]
        return together(parts, self.arity)

    # -- changing ----------------------------------------------------------------------------------------------------

    def changed(self, change: ChangeRows, name: str) -> SignedRelation:
        """Return the relation after a change, folded if that pays."""
        if not change.rows:
            return self
        after = replace(self, segments=(*self.segments, change))
        rows = sum(segment.rows for segment in after.segments)
        large = sum(frame.rows or 0 for frame in self.base) // _SHARE_TO_FOLD
        if rows > max(self.context.settings.fold_changes, large):
            return after.folded(name)
        if len(after.segments) > MOST_SEGMENTS:
            return replace(after, segments=(summed(after.segments),))
        return after

    def folded(self, name: str) -> SignedRelation:
        """Return the relation as a base without segments."""
        frame = self.supported()
        df = frame.df if self.counted else frame.df.select(*self.columns)
        return replace(self, base=(self.context.workspace.table(df, name, self.arity),), segments=())


def united(relations: Sequence[SignedRelation], name: str) -> SignedRelation:
    """Return the union of at least one relation, each row once.

    A single relation stays where it is. Several are merged by a job.
    """
    first = relations[0]
    if len(relations) == 1 and not first.counted:
        return first
    if len(relations) == 1 and len(first.base) == 1 and not first.segments:
        (frame,) = first.base
        plain = Frame(frame.df.select(*first.columns), frame.arity, frame.rows, lies_in=frame.lies_in)
        return replace(first, base=(plain,), counted=False)
    parts = [part for relation in relations for part in relation.numbers()]
    empty = SignedRelation(first.context, first.arity)
    if not parts:
        return empty
    df = reduce(lambda left, right: left.union(right), parts)
    df = df.groupBy(*first.columns).agg({COUNT: "sum"}).where(f"`sum({COUNT})` > 0").select(*first.columns)
    return replace(empty, base=(first.context.workspace.table(df, name, first.arity),))
