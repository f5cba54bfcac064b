"""Look-ups of a few facts in large relations: the facts are sent to every task, and one job returns those that the
relations have.

Relations of one arity are read as one, whatever their number: the file of a matching row tells its relation. The result
is at most a few rows for each relation and each fact. A small relation is brought to the driver whole, and so is one
that is used often (`HeldRelations`); both are then looked up in the driver.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import reduce
from typing import TYPE_CHECKING
from urllib.parse import unquote
from weakref import WeakKeyDictionary

import numpy as np
import pyarrow as pa

from corollary.engines.spark.maintenance.change_rows import (
    TAG,
    ChangeRows,
    Ids,
    contained,
    distinct_rows,
    frame_of,
    hinted,
    tagged,
)
from corollary.engines.spark.maintenance.signed_relation import SignedRelation
from corollary.engines.spark.relations import COUNT, Frame, column_names, id_schema

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from corollary.engines.spark.context import Context
    from corollary.engines.spark.workspace import Workspace

IN_DRIVER = 10_000
"""Relations of up to this many facts are brought to the driver."""
_FILE = "file"
_AT_ONCE = 40  # relations without files in one job; Spark takes longer to plan more than to run them
_READ: WeakKeyDictionary[Workspace, dict[tuple[int, tuple[str, ...]], DataFrame]] = WeakKeyDictionary()
_KNOWN: WeakKeyDictionary[DataFrame, Ids] = WeakKeyDictionary()


@dataclass(frozen=True)
class _StoredPart:
    """A part of a relation that is not in the driver, and the question it belongs to."""

    place: int
    df: DataFrame
    facts: ChangeRows
    frame: Frame | None = None
    counted: bool = True

    @property
    def arity(self) -> int:
        return self.facts.arity

    @property
    def is_small(self) -> bool:
        return self.frame is not None and self.frame.rows is not None and self.frame.rows <= IN_DRIVER


@dataclass
class Lookup:
    """A collection of questions; `run` answers all of them."""

    context: Context
    _asked: list[tuple[SignedRelation, ChangeRows]] = field(default_factory=list)

    def ask(self, relation: SignedRelation, facts: ChangeRows) -> int:
        """Register the question for the numbers of some facts (in the driver) in a relation; return the position of its
        answer."""
        self._asked.append((relation, facts))
        return len(self._asked) - 1

    def run(self) -> list[Ids]:
        """Return, for each question, rows `c0 …, n` of the facts that the relation has; numbers of the same fact add up."""
        answers: list[list[Ids]] = [[] for _ in self._asked]
        whole: list[_StoredPart] = []
        in_files: dict[int, list[_StoredPart]] = {}
        others: list[_StoredPart] = []
        for place, (relation, facts) in enumerate(self._asked):
            for segment in relation.segments:
                if segment.ids is not None:
                    answers[place].append(_among(segment.ids, facts))
                else:
                    others.append(_StoredPart(place, segment.df, facts))
            for frame in relation.bases:
                held = self.context.held.relation(frame)
                if held is not None and facts.ids is not None:
                    found = held.matching(tuple(range(len(facts.columns))), facts.ids[:, :-1])
                    answers[place].append(found if relation.counted else _once(found))
                    continue
                part = _StoredPart(place, relation.numbers_of(frame), facts, frame, relation.counted)
                if frame.df in _KNOWN:
                    answers[place].append(_among(_KNOWN[frame.df], facts))
                elif part.is_small:
                    whole.append(part)
                elif frame.lies_in:
                    in_files.setdefault(relation.arity, []).append(part)
                else:
                    others.append(part)
        for start in range(0, len(whole) + len(others), _AT_ONCE):
            self._fetch([*whole, *others][start : start + _AT_ONCE], answers)
        if in_files:
            self._look_into_files(in_files, answers)
        return [
            np.concatenate(parts) if parts else np.empty((0, len(column_names(relation.arity)) + 1), np.int64)
            for parts, (relation, _) in zip(answers, self._asked, strict=True)
        ]

    def _fetch(self, parts: list[_StoredPart], answers: list[list[Ids]]) -> None:
        self.context.check()
        frames = {
            number: (
                part.df if part.is_small else part.df.join(part.facts.keys, part.facts.columns, "left_semi"),
                part.arity,
            )
            for number, part in enumerate(parts)
        }
        table = tagged(frames, (COUNT,)).toArrow()
        assert table.column_names[0] == TAG
        ids: Ids = np.stack([column.to_numpy() for column in table.columns], axis=1).astype(np.int64, copy=False)
        for number, part in enumerate(parts):
            mine = ids[ids[:, 0] == number]
            rows = np.column_stack((mine[:, 1 : 1 + len(part.facts.columns)], mine[:, -1]))
            if part.is_small and part.frame is not None:
                _KNOWN[part.frame.df] = rows
                rows = _among(rows, part.facts)
            answers[part.place].append(rows)

    # -- many files as one relation ----------------------------------------------------------------------------------

    def _look_into_files(self, parts: dict[int, list[_StoredPart]], answers: list[list[Ids]]) -> None:
        self.context.check()
        width = max(len(column_names(arity)) for arity in parts)
        frames = []
        for arity, mine in parts.items():
            columns = column_names(arity)
            padded = [*columns, *(f"0L AS c{place}" for place in range(len(columns), width))]
            frames.append(self._matching(arity, mine).selectExpr(f"{arity}L AS {TAG}", *padded, COUNT, _FILE))
        table = reduce(lambda left, right: left.union(right), frames).toArrow()
        for arity, mine in parts.items():
            self._sort(table.filter(pa.array(table.column(TAG).to_numpy() == arity)), arity, mine, answers)

    def _matching(self, arity: int, parts: list[_StoredPart]) -> DataFrame:
        """Return the rows of all these files whose values are those of some requested fact."""
        columns = column_names(arity)
        files = list(dict.fromkeys(file for part in parts if part.frame is not None for file in part.frame.lies_in))
        read = self._read(arity, tuple(files))
        facts = {id(part.facts): part.facts for part in parts}.values()
        ids, _ = distinct_rows(np.concatenate([one.ids[:, :-1] for one in facts if one.ids is not None]))
        keys = hinted(frame_of(self.context, columns, ids), len(ids))
        return read.selectExpr(*columns, COUNT, f"_metadata.file_path AS {_FILE}").join(keys, columns, "left_semi")

    def _read(self, arity: int, files: tuple[str, ...]) -> DataFrame:
        """Return these files as one relation, which Spark lists once."""
        known = _READ.setdefault(self.context.workspace, {})
        if (arity, files) not in known:
            schema = f"{id_schema(arity)}, {COUNT} long"
            known[arity, files] = self.context.spark.read.schema(schema).parquet(*files)
        return known[arity, files]

    @staticmethod
    def _sort(table: pa.Table, arity: int, parts: list[_StoredPart], answers: list[list[Ids]]) -> None:
        """Give each question the rows of its files that match it."""
        columns = [table.column(name).to_numpy() for name in column_names(arity)]
        counts = table.column(COUNT).fill_null(1).to_numpy()
        rows: Ids = np.stack([*columns, counts], axis=1).astype(np.int64, copy=False)
        if not table.num_rows:
            return
        files = table.column(_FILE).combine_chunks().dictionary_encode()
        names, indices = [_plain(name) for name in files.dictionary.to_pylist()], files.indices.to_numpy()
        for part in parts:
            assert part.frame is not None
            mine = {_plain(file) for file in part.frame.lies_in}
            fitting = [number for number, name in enumerate(names) if name in mine or name.rpartition("/")[0] in mine]
            found = rows[np.isin(indices, fitting)]
            if not part.counted:
                found = _once(found)
            answers[part.place].append(_among(found, part.facts))


def _plain(path: str) -> str:
    """Return the normal form of a path."""
    return re.sub(r"^file:/+", "/", unquote(path))


def _once(rows: Ids) -> Ids:
    found: Ids = np.column_stack((rows[:, :-1], np.ones(len(rows), np.int64)))
    return found


def _among(rows: Ids, facts: ChangeRows) -> Ids:
    assert facts.ids is not None
    found: Ids = rows[contained(rows[:, :-1], facts.ids[:, :-1])]
    return found
