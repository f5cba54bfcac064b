"""Relations cached in the driver, up to a number of facts, in which changed facts are looked up without a Spark job.

The files of a frame never change, so a cache is never out of date. A relation that is used often is read as a whole,
and indexed by some of its columns. Larger relations, and those beyond the limit, are left to jobs.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from corollary.engines.spark.relations import COUNT, Frame, LocalFrame, column_names, id_schema

if TYPE_CHECKING:
    from corollary.engines.spark.context import Context

Ids = np.ndarray[Any, np.dtype[np.int64]]

_ASKED = 3  # look-ups after which a relation is cached
_AT_ONCE = 10_000  # facts; a look-up of so many at once caches the relation, too
_OUT_OF_USE = 300  # look-ups of other relations after which an unused one may be dropped
_MIX = np.uint64(0x9E3779B97F4A7C15)


class HeldRelation:
    """Rows `c0 …, n`, indexed by some columns."""

    def __init__(self, rows: Ids) -> None:
        self.rows = rows
        self._indexes: dict[tuple[int, ...], tuple[Any, Any]] = {}

    def matching(self, places: tuple[int, ...], keys: Ids) -> Ids:
        """Return the rows whose values in these columns are among the distinct keys."""
        known, order = self._index(places)
        wanted = _mixed(keys)
        first, last = np.searchsorted(known, wanted, "left"), np.searchsorted(known, wanted, "right")
        counts = last - first
        of_key = np.repeat(np.arange(len(keys)), counts)
        starts = np.repeat(first - np.concatenate(([0], np.cumsum(counts)[:-1])), counts)
        found: Ids = self.rows[order[starts + np.arange(len(of_key))]]
        same: Ids = found[(found[:, places] == keys[of_key]).all(axis=1)]
        return same

    def _index(self, places: tuple[int, ...]) -> tuple[Any, Any]:
        if places not in self._indexes:
            numbers = _mixed(self.rows[:, places])
            order = np.argsort(numbers, kind="stable").astype(np.int32 if len(numbers) < 1 << 31 else np.int64)
            self._indexes[places] = (numbers[order], order)
        return self._indexes[places]


def _mixed(rows: Ids) -> Any:
    """Return a hash for each row."""
    numbers = np.zeros(len(rows), np.uint64)
    for place in range(rows.shape[1]):
        numbers = (numbers ^ rows[:, place].astype(np.uint64)) * _MIX
        numbers ^= numbers >> np.uint64(29)
    return numbers


@dataclass
class HeldRelations:
    """The relations that one knowledge base caches in the driver; `SparkSettings.driver_facts` is the limit."""

    context: Context
    _held: dict[tuple[str, ...], HeldRelation] = field(default_factory=dict)
    _asked: dict[tuple[str, ...], int] = field(default_factory=dict)
    _last_use: dict[tuple[str, ...], int] = field(default_factory=dict)
    _facts: int = 0
    _questions: int = 0

    def relation(self, frame: Frame) -> HeldRelation | None:
        """Return the cached rows of a frame, or None; read them now if that is worth it."""
        if isinstance(frame, LocalFrame):
            if "held" not in frame.__dict__:
                rows = np.column_stack((frame.ids, np.ones(frame.table.num_rows, np.int64)))
                object.__setattr__(frame, "held", HeldRelation(rows))
            held: HeldRelation = frame.__dict__["held"]
            return held
        key, count = frame.lies_in, frame.rows
        if not key or count is None or not self.context.settings.driver_facts:
            return None
        self._questions += 1
        self._last_use[key] = self._questions
        if key not in self._held:
            self._asked[key] = self._asked.get(key, 0) + 1
            if (self._asked[key] < _ASKED and count > _AT_ONCE) or not self._has_room(count):
                return None
            self._held[key] = HeldRelation(self._read(frame))
            self._facts += len(self._held[key].rows)
        return self._held[key]

    def has(self, frames: Sequence[Frame]) -> bool:
        """Return whether all of these frames are cached, and count each of them as used."""
        held = [self.relation(frame) for frame in frames]
        return None not in held

    def _has_room(self, rows: int) -> bool:
        most = self.context.settings.driver_facts
        if rows > most:
            return False
        for key in sorted(self._held, key=self._last_use.__getitem__):
            if self._facts + rows <= most:
                break
            if self._questions - self._last_use[key] < _OUT_OF_USE:
                return False
            self._facts -= len(self._held.pop(key).rows)
        return self._facts + rows <= most

    def _read(self, frame: Frame) -> Ids:
        names = column_names(frame.arity)
        paths = [Path(re.sub(r"^file:/+", "/", unquote(path))) for path in frame.lies_in]
        if all(path.exists() for path in paths):
            tables = [pq.read_table(path) for path in paths]
        else:
            schema = f"{id_schema(frame.arity)}, {COUNT} long"
            tables = [self.context.spark.read.schema(schema).parquet(*frame.lies_in).toArrow()]
        return np.concatenate([_ids(table, names) for table in tables])


def _ids(table: pa.Table, names: Sequence[str]) -> Ids:
    rows = np.ones((table.num_rows, len(names) + 1), np.int64)
    for place, name in enumerate([*names, COUNT]):
        if name in table.column_names:
            rows[:, place] = table.column(name).fill_null(1).to_numpy()
    return rows
