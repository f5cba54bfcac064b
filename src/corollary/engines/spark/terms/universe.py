"""The universe on Spark: what every hashed id stands for, as a table that only grows.

Tasks make ids alone, so two of them may make one id for two constants. `append` finds that before anything is kept: it raises
`Collisions`, all but one of the constants get another id from then on, and the stage that made them runs again (`settled`).
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
_SMALL = 200_000  # new constants that every task may get, to compare its part of the universe with
_PARTITION = 200_000  # rows that one task looks through for equal ones
_AT_ONCE = 10_000  # collisions that the driver looks at in one go; the next run finds the others
_MOST_RUNS = 100
_IN_PLAN = 10_000  # new constants that stay in the driver's plans until they are put together with others
_ASKED = 3  # a universe that was asked so often is kept by the driver


class Collisions(Exception):
    """Two constants have one id; `table` is how ids are made from now on. Only `settled` catches it."""

    def __init__(self, table: CollisionTable) -> None:
        super().__init__("two constants have one id; the stage must run again")
        self.table = table


def settled(stage: Callable[[], T]) -> T:
    """Run a stage that makes ids and adds them to the universe, again and again until no ids collide; return its result."""
    for _ in range(_MOST_RUNS):
        try:
            return stage()
        except Collisions:
            continue
    raise RuntimeError(f"constants still have equal ids after {_MOST_RUNS} runs: are the hashes too narrow?")


class _Segment(NamedTuple):
    """`held` has the same constants where the driver keeps them."""

    df: DataFrame
    rows: int
    held: HeldTerms | None = None


class SparkUniverse:
    """Belongs to one knowledge base. Ids are made with its current `collisions`."""

    def __init__(
        self, spark: SparkSession, workspace: Workspace, hash_bits: int = HASH_BITS, most_held: int = 0
    ) -> None:
        """`most_held` is how many constants the driver may keep."""
        self._spark = spark
        self._workspace = workspace
        self._most_held = most_held
        self._asked = 0
        self._segments: list[_Segment] = []
        self.collisions = CollisionTable(hash_bits=hash_bits)
        self.term_forms = TermForms(self.everything)
        self.unstored: list[DataFrame] = []
        """Constants that are in no store yet; the store empties it when it has written them."""

    def nest(self, deepest: int) -> None:
        """From now on tasks make terms that are nested so deep. The table stays the same object where nothing changes."""
        if self.collisions.deepest != deepest:
            self.collisions = replace(self.collisions, deepest=deepest)

    @property
    def rows(self) -> int:
        """The number of hashed constants."""
        return sum(segment.rows for segment in self._segments)

    @property
    def df(self) -> DataFrame:
        """Columns `id`, `common`, `canonical`, `datatype`; an id occurs once."""
        if not self._segments:
            return self._spark.createDataFrame([], TERM_SCHEMA)
        return reduce(lambda left, right: left.union(right), (segment.df for segment in self._segments))

    def everything(self) -> list[DataFrame]:
        """All constants, in a few tables."""
        return [segment.df for segment in self._segments]

    def restore(self, terms: Sequence[DataFrame], collisions: CollisionTable) -> None:
        """Starts from constants that a store has; an id may occur more than once."""
        self.collisions = replace(collisions, deepest=self.collisions.deepest)
        if terms:
            df = reduce(lambda left, right: left.union(right), terms).dropDuplicates(["id"])
            self._segments = [_Segment(*self._workspace.write(df, "universe"))]
            self.term_forms.wait(self._segments[0].df)
        self.unstored = []

    def forms(self, ids: DataFrame) -> DataFrame:
        """The rows of the ids in the column `id` of a table; inline ones have none."""
        return self.df.join(ids.where("id & 3 = 2").select("id").distinct(), "id", "left_semi")

    def held_forms(self, ids: np.ndarray[Any, np.dtype[np.int64]]) -> pa.Table | None:
        """The rows of some ids where the driver keeps all constants; None where it does not."""
        parts = [segment.held.forms(ids) for segment in self._segments if segment.held is not None]
        if not parts or len(parts) < len(self._segments):
            return None
        return pa.concat_tables(parts).cast(TERM_FIELDS)

    def append(self, terms: DataFrame | pa.Table, rows: int = 0) -> int:
        """Adds the constants that are new, and says how many they are; raises `Collisions`, and then nothing was added.

        A row may come any number of times; `rows` is about how many there are, where it is known.
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
        """Each row once. Of many rows a session with few partitions would have more in one than fit into memory together."""
        parts = -(-rows // _PARTITION)
        if parts > int(self._spark.conf.get("spark.sql.shuffle.partitions") or 1):
            terms = terms.repartition(parts, "id")
        return terms.distinct()

    def _append_found(self, found: DataFrame, rows: int, *, is_unique: bool = False) -> int:
        """Adds what is new among distinct rows in the workspace; `is_unique` says that no two of them have one id."""
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
        """Like `append`, where the driver keeps all constants and none collide; None where that is not so."""
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
        """Whether the driver keeps all constants, which it does when it was asked often enough and they are not too many."""
        self._asked += 1
        if self._asked < _ASKED or self.rows > self._most_held:
            return False
        self._segments = [
            segment if segment.held is not None else segment._replace(held=HeldTerms.read(segment.df))
            for segment in self._segments
        ]
        return True

    def _knows_all(self, terms: pa.Table) -> bool:
        """Whether a few constants are all known, which is so where facts go, and which takes nothing but a look."""
        if not self._segments or terms.num_rows > _SMALL:
            return False
        found = terms.group_by(["id", "canonical", "datatype"], use_threads=False).aggregate([])
        if len(found.column("id").unique()) < found.num_rows:
            return False
        return self._known_among(self._spark.createDataFrame(found), found.num_rows) == (found.num_rows, 0)

    def _crowded(self, found: DataFrame, rows: int) -> tuple[int, int, int]:
        """How many of these constants have the id of another one among them, how many ids the universe has already, and how
        many of these stand for something else there. Of many constants, texts are compared only where ids are known.
        """
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
        """How many ids the universe has already, and how many of these stand for something else there."""
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
            # The files of the small ones stay: a data frame that somebody made before may read them.
            parts = [segment.held for segment in ordered[:_FOLDED] if segment.held is not None]
            held = HeldTerms.together(parts) if len(parts) == _FOLDED else None
            written = _Segment(*self._workspace.write(small.coalesce(1), "universe"), held)
            self._segments = [*ordered[_FOLDED:], written]

    def _collide(self, terms: DataFrame, ids: DataFrame) -> None:
        """Raises `Collisions`: who had the id first keeps it, else the first in the order of texts."""
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
    """Salts for all but the first constant of each id, with which they have an id that none of the others has."""
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
        # Narrow hashes may leave nothing free; then the next run looks further.
        options = ((salt, salted_id(universe, code, salt, table)) for salt in range(first, first + 1000))
        salts[form], number = next((option for option in options if option[1] not in taken), (first, 0))
        taken.add(number)
    return salts


# Constants that the driver has, or keeps to see without a job of Spark which constants are known.


_FORMS = ["common", "canonical", "datatype"]
_TEXTS = pa.schema([(name, pa.large_string()) for name in _FORMS])


def each_once(terms: pa.Table) -> pa.Table | None:
    """Rows of the universe, each of them once; None where an id stands for two constants."""
    ids = terms.column("id").to_numpy()
    places = first_places(ids.reshape(-1, 1))
    is_first = places == np.arange(len(ids))
    if is_first.all():
        return terms
    repeated = np.flatnonzero(~is_first)
    for name in ("canonical", "datatype"):
        texts = terms.column(name).cast(
            pa.large_string()
        )  # those of many files may have more bytes than others can hold
        if not pc.all(pc.equal(texts.take(pa.array(repeated)), texts.take(pa.array(places[repeated])))).as_py():
            return None
    return terms.filter(pa.array(is_first))


@dataclass(frozen=True)
class HeldTerms:
    """Sorted by id, and each id once."""

    ids: np.ndarray[Any, np.dtype[np.int64]]
    texts: pa.Table

    @classmethod
    def of(cls, terms: pa.Table) -> HeldTerms:
        """From rows with the columns of the universe; an id occurs once."""
        ids = terms.column("id").to_numpy()
        order = np.argsort(ids, kind="stable")
        texts = terms.select(_FORMS).cast(_TEXTS).combine_chunks()
        return cls(ids[order], texts.take(pa.array(order)).combine_chunks())

    @classmethod
    def read(cls, df: DataFrame) -> HeldTerms:
        return cls.of(df.select("id", *_FORMS).toArrow())

    @classmethod
    def together(cls, parts: Sequence[HeldTerms]) -> HeldTerms:
        """Of parts that have no id in common."""
        texts = pa.concat_tables([part.texts for part in parts])
        ids = np.concatenate([part.ids for part in parts])
        return cls.of(texts.append_column("id", pa.array(ids)))

    def look_up(self, terms: pa.Table) -> tuple[Any, int]:
        """Which of some constants have an id that is here, and how many of those stand for something else here."""
        known, places = self._places(terms.column("id").to_numpy())
        here, there = self.texts.take(pa.array(places)), terms.filter(pa.array(known))
        canonical, datatype = (
            pc.equal(here.column(name), there.column(name).cast(pa.large_string())) for name in _FORMS[1:]
        )
        return known, len(places) - int(pc.sum(pc.and_(canonical, datatype)).as_py() or 0)

    def forms(self, ids: np.ndarray[Any, np.dtype[np.int64]]) -> pa.Table:
        """The rows of those ids that are here."""
        known, places = self._places(ids)
        return self.texts.take(pa.array(places)).add_column(0, "id", pa.array(ids[known]))

    def _places(self, ids: np.ndarray[Any, np.dtype[np.int64]]) -> tuple[Any, Any]:
        """Which ids are here, and where those are."""
        if not len(self.ids):
            return np.zeros(len(ids), np.bool_), np.empty(0, np.int64)
        places = np.minimum(np.searchsorted(self.ids, ids), len(self.ids) - 1)
        known = self.ids[places] == ids
        return known, places[known]


# Which forms the function terms and lists of a universe have: rules about equal constants are made for each of them.


_MOST_WAITING = 16  # tables; the universe itself puts them together
_SCHEMA = "name string, arguments int"
_FIELDS = pa.schema([("name", pa.string()), ("arguments", pa.int32())])


class TermForms:
    """Looks only at constants that have come since it was asked last; who is never asked looks at none, and keeps no tables."""

    def __init__(self, everything: Callable[[], Sequence[DataFrame]]) -> None:
        """`everything` gives all rows of the universe."""
        self._everything = everything
        self._found: frozenset[Form] = frozenset()
        self._waiting: list[DataFrame] = []
        self._is_behind = False

    def wait(self, terms: DataFrame) -> None:
        """More rows of the universe."""
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
    """Those of a canonical text, as `forms.term_text` writes it, and of all terms inside."""
    if isinstance(nested, dict):
        yield (nested["name"], len(nested["of"])) if "name" in nested else LIST
        for part in nested["of"]:
            yield from _forms(part)
