"""Relations as data frames of values: for the caller, for views of Spark SQL, and for the writers of tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import pyarrow as pa

from corollary.engines.embedded.relations.relation import Codes
from corollary.engines.embedded.values.universe import Kind, Universe
from corollary.engines.spark.publish.column_types import (
    ColumnKinds,
    ColumnType,
    Summary,
    column_types,
    summary_of,
    typed_column,
)
from corollary.engines.spark.publish.forms import over_codes, with_forms
from corollary.engines.spark.relations import Frame
from corollary.engines.spark.terms.double_ids import double_sql
from corollary.engines.spark.terms.ids import boolean_sql
from corollary.engines.spark_session.arrow_frames import described, spark_schema
from corollary.language.cells import MEANING

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

    from corollary.engines.spark.context import Context


@dataclass
class Decoded:
    """A relation and what is known of its constants, each fact found out once: `summary`, the types, the data frame."""

    context: Context
    frame: Frame
    names: Sequence[str]

    @cached_property
    def summary(self) -> Summary:
        return summary_of(self.frame)

    @cached_property
    def types(self) -> list[ColumnType]:
        return column_types(self.context, self.frame, self.summary)

    @cached_property
    def schema(self) -> pa.Schema:
        """The columns as the embedded engine would type them."""
        fields = [
            pa.field(name, kind.arrow, metadata={MEANING: kind.meaning} if kind.meaning else None)
            for name, kind in zip(distinct_names(self.names), self.types, strict=True)
        ]
        return pa.schema(fields)

    @cached_property
    def df(self) -> DataFrame:
        """Decoded rows. Columns of integers, doubles, booleans, strings and IRIs never leave Java."""
        if not self.frame.arity:
            return self.frame.df.select()
        columns = list(zip(self.frame.columns, self.summary.columns, strict=True))
        hashed = [name for name, kinds in columns if kinds.hashed]
        joined = with_forms(self.context, self.frame.df, hashed)
        if all(_is_native(kinds) for _, kinds in columns):
            return described(joined.select(*(_native(name, kinds) for name, kinds in columns)), self.schema)
        ready = {name for name, kinds in columns if _is_native(kinds)}
        wanted = [_native(name, kinds) if name in ready else name for name, kinds in columns]
        forms = [f"{name}_{form}" for name in hashed if name not in ready for form in ("canonical", "datatype")]
        work = _Decoding(self.frame.columns, ready, self.types)
        coded = [name for name in self.frame.columns if name not in ready]
        function = over_codes(coded, [name for name in hashed if name not in ready], work)
        plain = pa.schema(
            [pa.field(name, kind.arrow) for name, kind in zip(self.frame.columns, self.types, strict=True)]
        )
        return described(joined.select(*wanted, *forms).mapInArrow(function, spark_schema(plain)), self.schema)


@dataclass(frozen=True)
class _Decoding:
    """Decodes inside a task: columns that Java decoded pass, the others are made from codes."""

    columns: Sequence[str]
    ready: set[str]
    types: Sequence[ColumnType]

    def __call__(self, universe: Universe, codes: list[Codes], batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        coded = iter(codes)
        arrays = [
            batch.column(name) if name in self.ready else typed_column(universe, next(coded), kind)
            for name, kind in zip(self.columns, self.types, strict=True)
        ]
        yield pa.RecordBatch.from_arrays(arrays, names=list(self.columns))


def argument_names(arity: int) -> list[str]:
    """`a1`, `a2` …: the columns of a predicate's facts."""
    return [f"a{position}" for position in range(1, arity + 1)]


def distinct_names(names: Sequence[str]) -> list[str]:
    return [name if name not in names[:place] else f"{name}_{place}" for place, name in enumerate(names)]


def _is_native(kinds: ColumnKinds) -> bool:
    """Spark's own expressions decode it: inline integers, doubles or booleans, or texts as the universe has them."""
    if kinds.hashed:
        return not kinds.inline and kinds.hashed in ({Kind.STRING}, {Kind.IRI})
    return kinds.inline in (frozenset(), {Kind.INTEGER}, {Kind.DOUBLE}, {Kind.BOOLEAN})


def _native(name: str, kinds: ColumnKinds) -> Column:
    from pyspark.sql import functions

    if kinds.hashed:
        return functions.col(f"{name}_canonical").alias(name)
    if not kinds.inline:
        return functions.lit(None).cast("string").alias(name)
    if kinds.inline == {Kind.DOUBLE}:
        return functions.expr(double_sql(name)).alias(name)
    if kinds.inline == {Kind.BOOLEAN}:
        return functions.expr(boolean_sql(name)).alias(name)
    return functions.shiftright(functions.col(name), 2).alias(name)
