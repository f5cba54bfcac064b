"""Relations on Spark for tests of publishing, and the same relations in the embedded engine."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Sequence
from decimal import Decimal
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import SparkSession

from corollary import Iri, KnowledgeBase, Literal
from corollary.engines.embedded.values.universe import Kind
from corollary.engines.spark.context import Context
from corollary.engines.spark.publish.decoded import ColumnKinds, Decoded, Summary
from corollary.engines.spark.relations import Frame
from corollary.engines.spark.terms.forms import form_table
from corollary.engines.spark.terms.ids import ids_of_universe, is_hashed
from corollary.engines.spark.terms.task_universe import TERM_FIELDS
from corollary.program import Structure, identity
from corollary.program.values import RDF
from tests.engines.spark.frames import frame_of_ids

Row = tuple[Any, ...]

CONSTANTS: list[Any] = [
    0, -(2**63), 2**62, 2**61, 2**80, -(2**61) - 1, Decimal("0.1"), Decimal("-12345678901234567890.5"), Decimal("1e-70"),
    1.0, -0.0, 1e300, float("inf"), float("nan"), True, False, "", "plain", "7", "true", 'say "hi", twice',
    "two\nlines\r\n", "日本 🎉", "back\\slash", "<a>", " blank ", Iri("http://e.org/a#b"), Iri("urn:é"), Iri("_:node"),
    Literal("chat", RDF + "langString", "fr"), Literal('x"y', "http://e.org/type"), dt.date(2026, 1, 31),
    dt.datetime(2026, 1, 31, 12, 30), dt.datetime(1066, 10, 14, 9, tzinfo=dt.UTC), dt.time(12, 0, 1),
]  # fmt: skip
TERMS: list[Any] = [Structure("f", (1, "a")), (), (1, ("x", Decimal("2.5")))]


class Published:
    """The facts of predicate `p` in both engines."""

    def __init__(self, spark: SparkSession, rows: Sequence[Row], arity: int | None = None, parts: int = 2) -> None:
        self.kb = KnowledgeBase()
        self.kb.insert("p", rows)
        self.embedded = self.kb.facts("p")
        arity = arity if arity is not None else self.embedded.codes[1].shape[1]
        universe, codes = self.embedded.codes
        ids = ids_of_universe(universe, codes.reshape(-1)).reshape(len(codes), arity)
        frame = frame_of_ids(spark, ids)
        self.frame = Frame(frame.df.repartition(parts) if len(codes) else frame.df, arity)
        terms = SimpleNamespace(df=_universe(spark, self.kb), held_forms=lambda ids: None)
        self.context: Context = SimpleNamespace(  # type: ignore[assignment]
            spark=spark, caller=spark, universe=terms, for_caller=lambda df: df
        )


def _universe(spark: SparkSession, kb: KnowledgeBase) -> Any:
    universe, _ = kb.facts("p").codes
    codes = np.arange(universe.size, dtype=np.uint32)
    ids = ids_of_universe(universe, codes)
    hashed = is_hashed(ids)
    forms = form_table(universe, codes[hashed])
    table = pa.table([pa.array(ids[hashed]), *forms.columns], schema=TERM_FIELDS)
    return spark.createDataFrame(table) if table.num_rows else spark.createDataFrame([], _SCHEMA)


_SCHEMA = "id long, common string, canonical string, datatype string"


def same(rows: Iterable[Row]) -> set[tuple[object, ...]]:
    """Rows of constants by identity."""
    return {tuple(map(identity, row)) for row in rows}


def failing_in_the_middle(published: Published) -> Decoded:
    """Rows that were looked at without trouble; when they are written, three tasks finish and the fourth fails."""
    broken = "IF(id = 39999, CAST(raise_error('the disk is gone') AS bigint), id * 4) AS c0"
    df = published.context.spark.range(0, 40_000, numPartitions=4).selectExpr(broken)
    rows = Decoded(published.context, Frame(df, 1), ["a1"])
    rows.__dict__["summary"] = Summary(40_000, (ColumnKinds(frozenset({Kind.INTEGER}), frozenset()),))
    return rows
