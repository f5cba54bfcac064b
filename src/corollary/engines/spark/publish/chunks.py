"""Rows on their way to the driver, some thousands at a time.

A task packs each batch into two cells: the ids as bytes, and the rows of the universe for the hashed ones among them.
So the driver gets one Spark row for thousands of facts, requests the next partition while it works on this one, and
decodes the ids itself. A few rows come in one job, and their rows of the universe in another, without Python workers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from corollary.engines.embedded.relations.relation import Codes
from corollary.engines.spark.context import Context
from corollary.engines.spark.publish.decoded import Decoded
from corollary.engines.spark.publish.forms import Batches, distinct_terms, with_forms
from corollary.engines.spark.relations import LocalFrame
from corollary.engines.spark.terms.ids import Ids, is_hashed
from corollary.engines.spark.terms.task_universe import TaskUniverse
from corollary.io.atomic import replacing
from corollary.io.formats import Format
from corollary.program import Value
from corollary.results import Result

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from corollary.engines.spark.context import Context
    from corollary.engines.spark.terms.task_universe import TaskUniverse

AT_ONCE = 50_000
"""Rows that the driver fetches in one job instead of one for each partition."""
_IN_A_LIST = 200  # ids that are looked up by a filter; more of them are joined


@dataclass(frozen=True)
class Chunk:
    """Some rows of ids, and the rows of the universe for the hashed ones among them."""

    ids: Ids
    terms: pa.Table

    def codes(self, known: TaskUniverse) -> Codes:
        """Return the rows as codes of a universe, which learns the constants it lacks."""
        if self.terms.num_rows:
            known.learn(self.terms)
        count, arity = self.ids.shape
        return known.codes(self.ids.reshape(-1)).reshape(count, arity)

    def constants(self) -> Iterator[tuple[Value, ...]]:
        from corollary.engines.spark.terms.task_universe import TaskUniverse

        known = TaskUniverse()
        width = self.ids.shape[1]
        values = known.universe.values(self.codes(known).reshape(-1).tolist())
        yield from (tuple(values[at * width : (at + 1) * width]) for at in range(len(self.ids)))


def chunks_of(rows: Decoded) -> Iterator[Chunk]:
    """Yield all rows of a relation."""
    frame, context = rows.frame, rows.context
    if isinstance(frame, LocalFrame) and frame.table.num_rows <= AT_ONCE:
        yield _chunk(context, frame.ids[:, : frame.arity])
        return
    if rows.summary.rows <= AT_ONCE:
        yield _at_once(context, frame.df, frame.arity)
        return
    names = frame.columns
    hashed = [names[place] for place in rows.summary.hashed]
    packed = with_forms(context, frame.df, hashed).mapInArrow(_Packing(names, hashed), "ids binary, terms binary")
    for row in packed.toLocalIterator(prefetchPartitions=True):
        ids = np.frombuffer(row["ids"], np.int64).reshape(-1, len(names))
        with pa.ipc.open_stream(row["terms"]) as stream:
            yield Chunk(ids, stream.read_all())


def first_rows(rows: Decoded, count: int) -> Chunk:
    """Return at most this many rows, whichever Spark finds first."""
    return _at_once(rows.context, rows.frame.df.limit(count), rows.frame.arity)


def _at_once(context: Context, df: DataFrame, arity: int) -> Chunk:
    table = df.toArrow()
    ids = np.empty((table.num_rows, arity), np.int64)
    for place in range(arity):
        ids[:, place] = table.column(place).to_numpy()
    return _chunk(context, ids)


def _chunk(context: Context, ids: Ids) -> Chunk:
    return Chunk(ids, terms_of(context, np.unique(ids[is_hashed(ids)])))


def terms_of(context: Context, ids: Ids) -> pa.Table:
    """Return the rows of the universe for these ids, which must be hashed and distinct."""
    from pyspark.sql import functions

    from corollary.engines.spark.terms.task_universe import TERM_FIELDS

    if not len(ids):
        return TERM_FIELDS.empty_table()
    held = context.universe.held_forms(ids)
    if held is not None:
        return held
    universe = context.universe.df.select(*TERM_FIELDS.names)
    if len(ids) <= _IN_A_LIST:
        return universe.where(functions.col("id").isin(ids.tolist())).toArrow()
    wanted = context.spark.createDataFrame(pa.table({"id": ids}))
    return universe.join(functions.broadcast(wanted), "id", "left_semi").toArrow()


@dataclass(frozen=True)
class _Packing:
    columns: Sequence[str]
    hashed: Sequence[str]

    def __call__(self, batches: Batches) -> Batches:
        for batch in batches:
            ids = np.stack([batch.column(name).to_numpy() for name in self.columns], axis=1)
            terms = pa.concat_tables(distinct_terms(batch, name) for name in self.hashed) if self.hashed else _none()
            sink = pa.BufferOutputStream()
            with pa.ipc.new_stream(sink, terms.schema) as stream:
                stream.write_table(terms)
            cells = [pa.array([ids.tobytes()], pa.binary()), pa.array([sink.getvalue().to_pybytes()], pa.binary())]
            yield pa.RecordBatch.from_arrays(cells, names=["ids", "terms"])


def _none() -> pa.Table:
    from corollary.engines.spark.terms.task_universe import TERM_FIELDS

    return TERM_FIELDS.empty_table()


# -- small -------------------------------------------------------------------------------------------------------------

# Relations with few rows: the driver writes them as the embedded engine would, in one short job instead of several.
#
# The driver keeps the constants that it has learnt for the next relation, since relations share most of their constants.

DRIVER_ROWS = 300_000
"""Rows of a relation that the driver writes itself."""
_MOST_TERMS = 2_000_000  # constants that the driver keeps


def is_small(rows: Decoded) -> bool:
    return rows.frame.rows is not None and rows.frame.rows <= DRIVER_ROWS


def write_small(rows: Decoded, path: Path, form: Format, *, header: bool, predicate: str | None) -> int:
    result = _result(rows)
    with replacing(path, also_parts=True) as aside:
        form.write(result, aside, target=path, header=header, predicate=predicate)
    return len(result)


def _result(rows: Decoded) -> Result:
    table = rows.frame.df.select(*rows.frame.columns).toArrow()
    ids = np.empty((table.num_rows, rows.frame.arity), np.int64)
    for place in range(rows.frame.arity):
        ids[:, place] = table.column(place).to_numpy()
    known = _known_terms(rows.context)
    wanted = np.unique(ids[is_hashed(ids)])
    terms = terms_of(rows.context, wanted[~known.explains(wanted)])
    if terms.num_rows:
        known.learn(terms)
    return Result(known.universe, known.codes(ids), rows.names)


def _known_terms(context: Context) -> TaskUniverse:
    """Return the terms that the driver knows; they are dropped after a collision, which changes the meaning of ids."""
    known = context.known_terms
    if known is None or known.collisions is not context.universe.collisions or known.universe.size > _MOST_TERMS:
        known = context.known_terms = TaskUniverse(context.universe.collisions)
    return known
