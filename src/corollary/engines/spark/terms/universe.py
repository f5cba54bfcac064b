"""The universe on Spark: the constant of every hashed id, in a table that only grows.

Tasks make ids independently, so two of them may make one id for two constants. `append` finds that before anything is
stored: it raises `Collisions`, all but one of the constants get another id from then on, and the stage that made them
runs again (`settled`).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from corollary.engines.embedded.values.universe import Universe
from corollary.engines.spark.terms.first_rows import first_places
from corollary.engines.spark.terms.forms import TERM, codes_of_forms
from corollary.engines.spark.terms.ids import HASH_BITS, CollisionTable, salted_id
from corollary.engines.spark.terms.task_universe import TERM_FIELDS, TERM_SCHEMA
from corollary.engines.spark_session.arrow_frames import rows_of_table
from corollary.program.patterns import LIST, Form

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

    from corollary.engines.spark.workspace import Workspace

T = TypeVar("T")

_MOST_SEGMENTS = 16
_FOLDED = 12
_SMALL = 200_000  # new constants that may be broadcast to compare each task's part of the universe with
_PARTITION = 200_000  # rows in which one task looks for equal ones
_AT_ONCE = 10_000  # collisions that the driver resolves at once; the next run finds the others
_MOST_RUNS = 100
_IN_PLAN = 10_000  # new constants that stay in the driver's plans until they are merged with others
_ASKED = 3  # look-ups after which the driver caches a universe


class Collisions(Exception):
    """Raised when two constants have one id; `table` is how ids are made from now on. Only `settled` catches it."""

    def __init__(self, table: CollisionTable) -> None:
        super().__init__("two constants have one id; the stage must run again")
        self.table = table


def settled(stage: Callable[[], T]) -> T:
    """Run a stage that makes ids and adds them to the universe, until no ids collide; return its result."""
    for _ in range(_MOST_RUNS):
        try:
            return stage()
        except Collisions:
            continue
    raise RuntimeError(f"constants still have equal ids after {_MOST_RUNS} runs: are the hashes too narrow?")


class _Segment(NamedTuple):
    """A part of the universe; `held` has the same constants if the driver caches them."""

    df: DataFrame
    rows: int
    held: HeldTerms | None = None


class SparkUniverse:
    """The universe of one knowledge base. Ids are made with its current `collisions`."""

    def __init__(
        self, spark: SparkSession, workspace: Workspace, hash_bits: int = HASH_BITS, most_held: int = 0
    ) -> None:
        """Create an empty universe; `most_held` is how many constants the driver may cache."""
        self._spark = spark
        self._workspace = workspace
        self._most_held = most_held
        self._asked = 0
        self._segments: list[_Segment] = []
        self.collisions = CollisionTable(hash_bits=hash_bits)
        self.term_forms = TermForms(self.everything)
        self.unstored: list[DataFrame] = []
        """Constants that are in no store yet; the store clears this after writing them."""

    def nest(self, deepest: int) -> None:
        """Allow tasks to make terms of this depth. If nothing changes, the table stays the same object."""
        if self.collisions.deepest != deepest:
            self.collisions = replace(self.collisions, deepest=deepest)

    @property
    def rows(self) -> int:
        """The number of hashed constants."""
        return sum(segment.rows for segment in self._segments)

    @property
    def df(self) -> DataFrame:
        """The columns `id`, `common`, `canonical`, `datatype`; ids are unique."""
        if not self._segments:
            return self._spark.createDataFrame([], TERM_SCHEMA)
        return reduce(lambda left, right: left.union(right), (segment.df for segment in self._segments))

    def everything(self) -> list[DataFrame]:
        """Return all constants, in a few tables."""
        return [segment.df for segment in self._segments]

    def restore(self, terms: Sequence[DataFrame], collisions: CollisionTable) -> None:
        """Start with the constants of a store; ids may be repeated."""
        self.collisions = replace(collisions, deepest=self.collisions.deepest)
        if terms:
            df = reduce(lambda left, right: left.union(right), terms).dropDuplicates(["id"])
            self._segments = [_Segment(*self._workspace.write(df, "universe"))]
            self.term_forms.wait(self._segments[0].df)
        self.unstored = []

    def forms(self, ids: DataFrame) -> DataFrame:
        """Return the rows of the ids in the column `id` of a table; inline ones have none."""
        return self.df.join(ids.where("id & 3 = 2").select("id").distinct(), "id", "left_semi")

    def held_forms(self, ids: np.ndarray[Any, np.dtype[np.int64]]) -> pa.Table | None:
        """Return the rows of some ids if the driver caches all constants; otherwise None."""
        parts = [segment.held.forms(ids) for segment in self._segments if segment.held is not None]
        if not parts or len(parts) < len(self._segments):
            return None
        return pa.concat_tables(parts).cast(TERM_FIELDS)

    def append(self, terms: DataFrame | pa.Table, rows: int = 0) -> int:
        """Add the constants that are new, and return their number; raise `Collisions`, with nothing added, if ids
        collide.

        Rows may be repeated; `rows` is an estimate of their number, if known.
        """
        if isinstance(terms, pa.Table):
            if not terms.num_rows:
                return 0
            terms = terms.cast(TERM_FIELDS)
            added = self._append_in_driver(terms)
            if added is not None:
                return added
            if self._knows_all(terms):
                return 0
            once = each_once(terms)
            if once is not None:
                return self._append_found(self._workspace.keep(once, "universe")[0], once.num_rows, is_unique=True)
            terms = rows_of_table(self._spark, terms)
        found, count = self._workspace.write(self._distinct(terms.select(*TERM_FIELDS.names), rows), "universe")
        return self._append_found(found, count) if count else 0

    def _distinct(self, terms: DataFrame, rows: int) -> DataFrame:
        """Return the distinct rows. With few shuffle partitions, many rows would not fit into the memory of one task,
        so more partitions are used."""
        parts = -(-rows // _PARTITION)
        if parts > int(self._spark.conf.get("spark.sql.shuffle.partitions") or 1):
            terms = terms.repartition(parts, "id")
        return terms.distinct()

    def _append_found(self, found: DataFrame, rows: int, *, is_unique: bool = False) -> int:
        """Add the new ones among distinct rows in the workspace; `is_unique` says that their ids are unique."""
        within, known, different = (0, 0, 0) if is_unique and not self._segments else self._crowded(found, rows)
        if within:
            self._collide(found, found.groupBy("id").count().where("count > 1").select("id"))
        if different:
            both = self.df.alias("old").join(found.alias("new"), "id")
            self._collide(found, both.where(_differ("old", "new")).select("id"))
        if known == rows:
            return 0
        if known:
            found, rows = self._workspace.write(found.join(self.df.select("id"), "id", "left_anti"), "universe")
        self._add(found, rows)
        return rows

    def _append_in_driver(self, terms: pa.Table) -> int | None:
        """Like `append`, if the driver caches all constants and none collide; otherwise None."""
        if terms.num_rows > _SMALL or not self._holds_all():
            return None
        found = terms.group_by(["id", "canonical", "datatype"], use_threads=False).aggregate([("common", "min")])
        found = found.rename_columns(["id", "canonical", "datatype", "common"]).select(TERM_FIELDS.names)
        if len(found.column("id").unique()) < found.num_rows:
            return None
        for segment in self._segments:
            assert segment.held is not None
            known, different = segment.held.look_up(found)
            if different:
                return None
            found = found.filter(pa.array(~known))
        if found.num_rows > _IN_PLAN:
            return None
        if found.num_rows:
            found = found.cast(TERM_FIELDS).combine_chunks()
            self._add(self._spark.createDataFrame(found), found.num_rows, HeldTerms.of(found))
        return int(found.num_rows)

    def _holds_all(self) -> bool:
        """Return whether the driver caches all constants; it does so after enough look-ups, if they are not too many."""
        self._asked += 1
        if self._asked < _ASKED or self.rows > self._most_held:
            return False
        self._segments = [
            segment if segment.held is not None else segment._replace(held=HeldTerms.read(segment.df))
            for segment in self._segments
        ]
        return True

    def _knows_all(self, terms: pa.Table) -> bool:
        """Return whether a few constants are all known, which needs no job; this is common when facts are deleted."""
        if not self._segments or terms.num_rows > _SMALL:
            return False
        found = terms.group_by(["id", "canonical", "datatype"], use_threads=False).aggregate([])
        if len(found.column("id").unique()) < found.num_rows:
            return False
        return self._known_among(self._spark.createDataFrame(found), found.num_rows) == (found.num_rows, 0)

    def _crowded(self, found: DataFrame, rows: int) -> tuple[int, int, int]:
        """Return how many of these constants share an id, how many ids the universe already has, and how many of those
        have another constant there. With many constants, texts are compared only for known ids."""
        from pyspark.sql import functions as F  # noqa: N812

        distinct = F.count(F.lit(1)) - F.countDistinct("id")
        within = found.agg(F.lit(0).alias("kind"), distinct.alias("number"), F.lit(0).cast("long").alias("different"))
        if not self._segments:
            return int(within.collect()[0]["number"]), 0, 0
        if rows <= _SMALL:
            known = self._compared(found, rows)
        else:
            ids = self.df.select("id").join(found.select("id"), "id")
            known = ids.agg(F.count(F.lit(1)).alias("number"), F.lit(0).cast("long").alias("different"))
        both = within.union(known.select(F.lit(1).alias("kind"), "number", "different"))
        (_, inner, _), (_, outer, different) = sorted(map(tuple, both.collect()))
        if rows > _SMALL and outer:
            different = self._known_among(found, rows)[1]
        return int(inner), int(outer), int(different)

    def _known_among(self, found: DataFrame, rows: int) -> tuple[int, int]:
        """Return how many ids the universe already has, and how many of those have another constant there."""
        row = self._compared(found, rows).collect()[0]
        return row["number"], row["different"]

    def _compared(self, found: DataFrame, rows: int) -> DataFrame:
        from pyspark.sql import functions as F  # noqa: N812

        new = found.select("id", "canonical", "datatype")
        both = self.df.alias("old").join((F.broadcast(new) if rows <= _SMALL else new).alias("new"), "id")
        return both.agg(
            F.count(F.lit(1)).alias("number"), F.count_if(_differ("old", "new")).cast("long").alias("different")
        )

    def _add(self, df: DataFrame, rows: int, held: HeldTerms | None = None) -> None:
        self._segments.append(_Segment(df, rows, held))
        self.unstored.append(df)
        self.term_forms.wait(df)
        if len(self._segments) > _MOST_SEGMENTS:
            ordered = sorted(self._segments, key=lambda segment: segment.rows)
            small = reduce(lambda left, right: left.union(right), (segment.df for segment in ordered[:_FOLDED]))
            # The files of merged segments stay, because existing data frames may read them.
            parts = [segment.held for segment in ordered[:_FOLDED] if segment.held is not None]
            held = HeldTerms.together(parts) if len(parts) == _FOLDED else None
            written = _Segment(*self._workspace.write(small.coalesce(1), "universe"), held)
            self._segments = [*ordered[_FOLDED:], written]

    def _collide(self, terms: DataFrame, ids: DataFrame) -> None:
        """Raise `Collisions`: the constant that had the id first keeps it, otherwise the first in the order of texts."""
        from pyspark.sql import functions as F  # noqa: N812

        ids = ids.distinct().limit(_AT_ONCE)
        old = self.df.join(ids, "id", "left_semi").select("id", F.lit(0).alias("is_new"), "datatype", "canonical")
        new = terms.join(ids, "id", "left_semi").select("id", F.lit(1).alias("is_new"), "datatype", "canonical")
        rows = sorted(map(tuple, old.union(new.distinct()).limit(_AT_ONCE).collect()))
        self.collisions = self.collisions.with_salts(_new_salts(rows, self.collisions))
        raise Collisions(self.collisions)


def _differ(left: str, right: str) -> Column:
    from pyspark.sql import functions as F  # noqa: N812

    same = [F.col(f"{left}.{name}") == F.col(f"{right}.{name}") for name in ("datatype", "canonical")]
    return ~(same[0] & same[1])


def _new_salts(rows: list[tuple[int, int, str, str]], table: CollisionTable) -> dict[tuple[str, str], int]:
    """Return salts for all but the first constant of each id, which give them ids that no other constant has."""
    owners: dict[int, tuple[str, str]] = {}
    losers: dict[tuple[str, str], None] = {}
    for number, _, datatype, canonical in rows:
        if owners.setdefault(number, (datatype, canonical)) != (datatype, canonical):
            losers[datatype, canonical] = None
    if not losers:
        return {}
    universe = Universe()
    datatypes, canonicals = (pa.array(part, pa.string()) for part in zip(*losers, strict=True))
    salts: dict[tuple[str, str], int] = {}
    taken = set(owners)
    for form, code in zip(losers, codes_of_forms(universe, canonicals, datatypes).tolist(), strict=True):
        first = table.salts.get(form, 0) + 1
        # Narrow hashes may leave no free id; then the next run searches further.
        options = ((salt, salted_id(universe, code, salt, table)) for salt in range(first, first + 1000))
        salts[form], number = next((option for option in options if option[1] not in taken), (first, 0))
        taken.add(number)
    return salts


# Constants in the driver, so that it sees without a Spark job which constants are known.


_FORMS = ["common", "canonical", "datatype"]
_TEXTS = pa.schema([(name, pa.large_string()) for name in _FORMS])


def each_once(terms: pa.Table) -> pa.Table | None:
    """Return distinct rows of the universe; None if an id belongs to two constants."""
    ids = terms.column("id").to_numpy()
    places = first_places(ids.reshape(-1, 1))
    is_first = places == np.arange(len(ids))
    if is_first.all():
        return terms
    repeated = np.flatnonzero(~is_first)
    for name in ("canonical", "datatype"):
        # Many files together may exceed the 32-bit offsets of other types.
        texts = terms.column(name).cast(pa.large_string())
        if not pc.all(pc.equal(texts.take(pa.array(repeated)), texts.take(pa.array(places[repeated])))).as_py():
            return None
    return terms.filter(pa.array(is_first))


@dataclass(frozen=True)
class HeldTerms:
    """Constants in the driver, sorted by unique id."""

    ids: np.ndarray[Any, np.dtype[np.int64]]
    texts: pa.Table

    @classmethod
    def of(cls, terms: pa.Table) -> HeldTerms:
        """Return the constants from rows with the columns of the universe; ids must be unique."""
        ids = terms.column("id").to_numpy()
        order = np.argsort(ids, kind="stable")
        texts = terms.select(_FORMS).cast(_TEXTS).combine_chunks()
        return cls(ids[order], texts.take(pa.array(order)).combine_chunks())

    @classmethod
    def read(cls, df: DataFrame) -> HeldTerms:
        return cls.of(df.select("id", *_FORMS).toArrow())

    @classmethod
    def together(cls, parts: Sequence[HeldTerms]) -> HeldTerms:
        """Return the constants of parts that share no id."""
        texts = pa.concat_tables([part.texts for part in parts])
        ids = np.concatenate([part.ids for part in parts])
        return cls.of(texts.append_column("id", pa.array(ids)))

    def look_up(self, terms: pa.Table) -> tuple[Any, int]:
        """Return which of some constants have a known id, and how many of those ids have another constant."""
        known, places = self._places(terms.column("id").to_numpy())
        here, there = self.texts.take(pa.array(places)), terms.filter(pa.array(known))
        canonical, datatype = (
            pc.equal(here.column(name), there.column(name).cast(pa.large_string())) for name in _FORMS[1:]
        )
        return known, len(places) - int(pc.sum(pc.and_(canonical, datatype)).as_py() or 0)

    def forms(self, ids: np.ndarray[Any, np.dtype[np.int64]]) -> pa.Table:
        """Return the rows of those ids that are here."""
        known, places = self._places(ids)
        return self.texts.take(pa.array(places)).add_column(0, "id", pa.array(ids[known]))

    def _places(self, ids: np.ndarray[Any, np.dtype[np.int64]]) -> tuple[Any, Any]:
        """Return which ids are known, and their positions."""
        if not len(self.ids):
            return np.zeros(len(ids), np.bool_), np.empty(0, np.int64)
        places = np.minimum(np.searchsorted(self.ids, ids), len(self.ids) - 1)
        known = self.ids[places] == ids
        return known, places[known]


# The forms of the function terms and lists in a universe, for which rules about equal constants are made.


_MOST_WAITING = 16  # tables; the universe itself merges them
_SCHEMA = "name string, arguments int"
_FIELDS = pa.schema([("name", pa.string()), ("arguments", pa.int32())])


class TermForms:
    """The forms of terms in the universe. It reads only constants added since the last request; without requests, it
    reads nothing."""

    def __init__(self, everything: Callable[[], Sequence[DataFrame]]) -> None:
        """Create the forms of a universe; `everything` returns all of its rows."""
        self._everything = everything
        self._found: frozenset[Form] = frozenset()
        self._waiting: list[DataFrame] = []
        self._is_behind = False

    def wait(self, terms: DataFrame) -> None:
        """Note more rows of the universe."""
        self._waiting.append(terms)
        if len(self._waiting) > _MOST_WAITING:
            self._waiting, self._is_behind = [], True

    def all(self) -> frozenset[Form]:
        waiting = self._everything() if self._is_behind else self._waiting
        if waiting:
            terms = reduce(lambda left, right: left.union(right), waiting)
            texts = terms.where(terms.datatype == TERM).select("canonical")
            rows = texts.mapInArrow(_forms_of_texts, _SCHEMA).distinct().collect()
            self._found |= {(row["name"], row["arguments"]) for row in rows}
            self._waiting, self._is_behind = [], False
        return self._found


def _forms_of_texts(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    found = {form for batch in batches for text in batch.column(0).to_pylist() for form in _forms(json.loads(text))}
    names, arguments = zip(*found, strict=True) if found else ((), ())
    yield pa.RecordBatch.from_arrays([pa.array(names, pa.string()), pa.array(arguments, pa.int32())], schema=_FIELDS)


def _forms(nested: Any) -> Iterator[Form]:
    """Yield the forms of a canonical text, as `forms.term_text` writes it, and of all terms inside."""
    if isinstance(nested, dict):
        yield (nested["name"], len(nested["of"])) if "name" in nested else LIST
        for part in nested["of"]:
            yield from _forms(part)
