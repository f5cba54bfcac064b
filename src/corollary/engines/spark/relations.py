"""Relations on Spark: data frames of ids, and the store that maps predicates to them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from corollary.engines.spark_session.arrow_frames import rows_of_table
from corollary.planning.steps import is_auxiliary

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


COUNT = "n"
"""The column of a counted frame with the number of derivations of a row."""


def column_names(arity: int) -> list[str]:
    """Return `c0 … c{n-1}`; a predicate without arguments has `c0`, too, always 0, because Spark cannot write rows
    without columns."""
    return [f"c{place}" for place in range(max(arity, 1))]


def id_schema(arity: int) -> str:
    """Return the schema of a frame, as Spark's functions take it."""
    return ", ".join(f"{name} long" for name in column_names(arity))


@dataclass(frozen=True)
class Frame:
    """Distinct rows of ids in the columns `c0 …`; `rows` is their exact number, or None if unknown.

    `files` are Parquet files with exactly these columns and rows, if known to exist; `parts` are the frames of which
    this one is the union. `lies_in` are files, or directories of files, that contain these rows, perhaps with one more
    column.
    """

    df: DataFrame
    arity: int
    rows: int | None = None
    files: tuple[str, ...] = ()
    parts: tuple[Frame, ...] = ()
    lies_in: tuple[str, ...] = ()

    @property
    def columns(self) -> list[str]:
        return column_names(self.arity)

    def counted(self) -> Frame:
        """Return this frame with its number of rows; runs a job if it is unknown."""
        return self if self.rows is not None else replace(self, rows=self.df.count())


class LazyFrame(Frame):
    """Rows whose data frame is made when it is first used."""

    def __init__(self, make: Callable[[], DataFrame], arity: int, rows: int | None) -> None:
        object.__setattr__(self, "arity", arity)
        object.__setattr__(self, "rows", rows)
        object.__setattr__(self, "_make", make)

    def __getattr__(self, name: str) -> Any:
        if name != "df":
            raise AttributeError(name)
        object.__setattr__(self, "df", self._make())
        return self.df


class LocalFrame(LazyFrame):
    """Rows in the driver."""

    def __init__(self, spark: SparkSession, table: pa.Table, arity: int) -> None:
        super().__init__(lambda: rows_of_table(spark, table), arity, table.num_rows)
        object.__setattr__(self, "table", table)

    @property
    def ids(self) -> np.ndarray[Any, np.dtype[np.int64]]:
        """The ids as an array of rows and columns."""
        return np.stack([column.to_numpy() for column in self.table.columns], axis=1)


def empty_frame(spark: SparkSession, arity: int) -> Frame:
    return Frame(spark.createDataFrame([], id_schema(arity)), arity, 0)


def union(frames: Sequence[Frame]) -> Frame:
    """Return the union of at least one frame; the frames must be disjoint."""
    kept = [frame for frame in frames if frame.rows != 0] or list(frames[:1])
    df = reduce(lambda left, right: left.union(right), (frame.df for frame in kept))
    known = [frame.rows for frame in kept if frame.rows is not None]
    parts = tuple(part for frame in kept for part in (frame.parts or (frame,)))
    lies_in = tuple(file for frame in kept for file in frame.lies_in) if all(one.lies_in for one in kept) else ()
    rows = sum(known) if len(known) == len(kept) else None
    return Frame(df, kept[0].arity, rows, parts=parts, lies_in=lies_in)


class FrameStore:
    """The facts of every predicate: what was loaded, and what each hyper-node derived; all of them disjoint.

    If changes will be followed, `owned` has everything that an owner derives, by predicate and owner: for nonrecursive
    hyper-nodes with a column `n`, the number of derivations. Owners may share facts there.
    """

    def __init__(self, spark: SparkSession, arities: Mapping[str, int] | None = None) -> None:
        self.spark = spark
        self.arities: dict[str, int] = dict(arities or {})
        self.explicit: dict[str, Frame] = {}
        self.derived: dict[str, list[Frame]] = {}
        self.owned: dict[str, dict[str, Frame]] = {}
        self.facts_beside = 0
        """A lower bound for the facts of predicates outside the store, which count for limits, too."""

    def copy(self) -> FrameStore:
        """Return a store with the same facts, which can change independently."""
        copied = FrameStore(self.spark, self.arities)
        copied.explicit = dict(self.explicit)
        copied.derived = {predicate: list(frames) for predicate, frames in self.derived.items()}
        copied.facts_beside = self.facts_beside
        return copied

    def forget(self) -> None:
        """Drop the derived facts, which are out of date."""
        self.derived.clear()
        self.owned.clear()

    def add_explicit(self, predicate: str, frame: Frame) -> None:
        """Add explicit facts that are in no other frame of the predicate."""
        self.arities.setdefault(predicate, frame.arity)
        before = self.explicit.get(predicate)
        self.explicit[predicate] = frame if before is None else union([before, frame])

    def add_derived(self, predicate: str, frame: Frame) -> None:
        """Add facts of another owner that are in no other frame of the predicate."""
        self.arities.setdefault(predicate, frame.arity)
        self.derived.setdefault(predicate, []).append(frame)

    def add_owned(self, predicate: str, owner: str, frame: Frame) -> None:
        """Add everything that an owner derives, which others may derive, too."""
        self.owned.setdefault(predicate, {})[owner] = frame

    def frames(self, predicate: str) -> list[Frame]:
        explicit = self.explicit.get(predicate)
        return [*([explicit] if explicit else []), *self.derived.get(predicate, [])]

    def visible(self, predicate: str, arity: int | None = None) -> Frame:
        """Return every fact of the predicate. `arity` is needed for a predicate that the store does not know."""
        frames = self.frames(predicate)
        if frames:
            return union(frames)
        return empty_frame(self.spark, self.arities[predicate] if arity is None else arity)

    @property
    def facts(self) -> int:
        """The number of visible facts in frames whose rows were counted."""
        return sum(self.rows(name) or 0 for name in list(self.arities) if not is_auxiliary(name))

    def rows(self, predicate: str) -> int | None:
        """Return the number of its facts, None if some frame was not counted."""
        counts = [frame.rows for frame in self.frames(predicate)]
        known = [count for count in counts if count is not None]
        return sum(known) if len(known) == len(counts) else None
