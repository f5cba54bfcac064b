"""Relations as data frames of values: for the caller, for views of Spark SQL, and for the writers of tables."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from enum import IntFlag
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from corollary.engines.embedded.relations.relation import Codes
from corollary.engines.embedded.values.tables import WIDEST_DECIMAL, by_code, text_column
from corollary.engines.embedded.values.universe import Kind, Universe
from corollary.engines.spark.publish.forms import over_codes, with_forms
from corollary.engines.spark.relations import Frame
from corollary.engines.spark.terms.double_ids import double_sql
from corollary.engines.spark.terms.ids import HASHED_CLASSES, IS_BOOLEAN, Tag, boolean_sql
from corollary.engines.spark_session.arrow_frames import described, spark_schema
from corollary.language import print_value
from corollary.language.cells import IRIS, MEANING, TERMS
from corollary.program.python_values import to_python

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

    from corollary.engines.spark.context import Context

# -- column types ------------------------------------------------------------------------------------------------------

# The types of published columns: those that the embedded engine gives, found without collecting a column.
#
# Most columns are decided by the kinds of their constants, which one job over the ids alone finds. Decimals need their
# digits and literals their forms, which one pass of the tasks reduces to a few numbers for each column.

_INLINE = {Tag.INTEGER: Kind.INTEGER, Tag.DECIMAL: Kind.DECIMAL, Tag.HASHED: Kind.BOOLEAN, Tag.DOUBLE: Kind.DOUBLE}
"""By position in a mask: booleans share the tag of decimals, so they are counted at the position of hashed ids."""
_CLASSES = len(Tag)  # hashed classes are counted after the tags
_NUMBERS = {Kind.INTEGER, Kind.LARGE_INTEGER, Kind.DECIMAL}


@dataclass(frozen=True)
class ColumnKinds:
    """`inline` are the kinds of constants inside ids, `hashed` those of constants in the universe."""

    inline: frozenset[Kind]
    hashed: frozenset[Kind]

    @property
    def all(self) -> frozenset[Kind]:
        return self.inline | self.hashed


@dataclass(frozen=True)
class Summary:
    """The number of rows, and the kinds of each column."""

    rows: int
    columns: tuple[ColumnKinds, ...]

    @property
    def hashed(self) -> list[int]:
        """The positions of columns that need the universe."""
        return [place for place, column in enumerate(self.columns) if column.hashed]


def summary_of(frame: Frame) -> Summary:
    """Return the number of rows and the kinds of each column, from one pass over the ids without a shuffle."""
    from pyspark.sql import functions

    names = frame.columns[: frame.arity]
    seen = [functions.expr(f"bit_or(shiftleft(1, {_number(name)})) AS {name}") for name in names]
    row = frame.df.agg(functions.count(functions.lit(1)).alias("rows"), *seen).collect()[0]
    return Summary(row["rows"], tuple(_kinds(row[name] or 0) for name in names))


def _number(name: str) -> str:
    tag, kind = f"cast({name} & 3 AS int)", f"cast(shiftright({name}, 2) & 7 AS int)"
    mask, value = IS_BOOLEAN
    inline = f"if({name} & {mask} = {value}, {int(Tag.HASHED)}, {tag})"
    return f"if({tag} = {int(Tag.HASHED)}, {_CLASSES} + {kind}, {inline})"


def _kinds(mask: int) -> ColumnKinds:
    inline = frozenset(kind for tag, kind in _INLINE.items() if mask >> tag & 1)
    hashed = frozenset(kind for kind, number in HASHED_CLASSES.items() if mask >> (_CLASSES + number) & 1)
    return ColumnKinds(inline, hashed)


# -- types -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ColumnType:
    """The type of a column, and what its texts mean if they are not just strings."""

    arrow: pa.DataType
    meaning: bytes | None = None


class _Times(IntFlag):
    DATE = 1
    NAIVE = 2
    UTC = 4
    OTHER = 8


_TERMS = ColumnType(pa.string(), TERMS)
_OF_TIMES = {
    _Times.DATE: ColumnType(pa.date32()),
    _Times.NAIVE: ColumnType(pa.timestamp("us")),
    _Times.UTC: ColumnType(pa.timestamp("us", "UTC")),
}


def column_types(context: Context, frame: Frame, summary: Summary) -> list[ColumnType]:
    """Return the type of every column; this costs a job only if there are decimals or literals."""
    decided = [_by_kinds(column) for column in summary.columns]
    open_places = [place for place, found in enumerate(decided) if found is None]
    if open_places:
        for place, found in zip(open_places, _by_values(context, frame, summary, open_places), strict=True):
            decided[place] = found
    return [found for found in decided if found is not None]


def _by_kinds(column: ColumnKinds) -> ColumnType | None:
    kinds = column.all
    if kinds == {Kind.INTEGER}:
        return ColumnType(pa.int64())
    if kinds == {Kind.DOUBLE}:
        return ColumnType(pa.float64())
    if kinds == {Kind.BOOLEAN}:
        return ColumnType(pa.bool_())
    if not kinds or kinds == {Kind.STRING}:
        return ColumnType(pa.string())
    if kinds == {Kind.IRI}:
        return ColumnType(pa.string(), IRIS)
    return None if kinds <= _NUMBERS or kinds == {Kind.LITERAL} else _TERMS


def _by_values(context: Context, frame: Frame, summary: Summary, places: Sequence[int]) -> list[ColumnType]:
    from pyspark.sql import functions

    names = [frame.columns[place] for place in places]
    hashed = [frame.columns[place] for place in places if place in summary.hashed]
    seen = with_forms(context, frame.df.select(*names), hashed).mapInArrow(
        over_codes(names, hashed, _look), "place int, scale int, digits int, times int"
    )
    most = seen.groupBy("place").agg(
        functions.max("scale").alias("scale"),
        functions.max("digits").alias("digits"),
        functions.expr("bit_or(times)").alias("times"),
    )
    found = {row["place"]: row for row in most.collect()}
    return [_of_figures(found[number]) for number in range(len(places))]


def _of_figures(row: Any) -> ColumnType:
    if row["times"]:
        return _OF_TIMES.get(_Times(row["times"]), _TERMS)
    return (
        ColumnType(pa.decimal128(WIDEST_DECIMAL, row["scale"]))
        if row["digits"] + row["scale"] <= WIDEST_DECIMAL
        else _TERMS
    )


def _look(universe: Universe, columns: list[Codes], batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    rows = [(place, *_figures(universe, codes)) for place, codes in enumerate(columns)]
    arrays = [pa.array(numbers, pa.int32()) for numbers in zip(*rows, strict=True)]
    yield pa.RecordBatch.from_arrays(arrays, names=["place", "scale", "digits", "times"])


def _figures(universe: Universe, codes: Codes) -> tuple[int, int, int]:
    """Return the digits after and before the point, and the kinds of times that occur."""
    scale, digits, times = 0, 1, _Times(0)
    for value in map(universe.value, np.unique(codes).tolist()):
        if isinstance(value, (int, Decimal)):
            exponent = value.as_tuple().exponent if isinstance(value, Decimal) else 0
            scale, digits = max(scale, -int(exponent)), max(digits, len(str(abs(int(value)))))
        else:
            times |= _time_of(to_python(value))
    return scale, digits, int(times)


def _time_of(value: object) -> _Times:
    if isinstance(value, dt.datetime):
        return _Times.NAIVE if value.tzinfo is None else _Times.UTC if value.tzinfo is dt.UTC else _Times.OTHER
    return _Times.DATE if isinstance(value, dt.date) else _Times.OTHER


def typed_column(universe: Universe, codes: Codes, kind: ColumnType) -> pa.Array:
    """Return codes as a column of a type that was decided for the whole relation."""
    if kind.meaning == TERMS:
        return by_code(universe, codes, lambda values: pa.array(map(print_value, values), pa.string()))
    if pa.types.is_int64(kind.arrow):
        return pa.array(universe.words[codes])
    if pa.types.is_float64(kind.arrow):
        return pa.array(universe.words[codes].view(np.float64), from_pandas=False)
    if pa.types.is_boolean(kind.arrow):
        return pa.array(universe.words[codes].astype(np.bool_))
    if pa.types.is_string(kind.arrow):
        return text_column(universe, codes).cast(pa.string())
    if pa.types.is_decimal(kind.arrow):
        return by_code(universe, codes, lambda values: pa.array(list(map(_decimal, values)), kind.arrow))
    return by_code(universe, codes, lambda values: pa.array([to_python(value) for value in values], kind.arrow))


def _decimal(value: Any) -> Decimal:
    return Decimal(value)


# -- decoded -----------------------------------------------------------------------------------------------------------


@dataclass
class Decoded:
    """A relation and what is known of its constants, each computed once: `summary`, the types, the data frame."""

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
        """The columns with the types that the embedded engine would give them."""
        fields = [
            pa.field(name, kind.arrow, metadata={MEANING: kind.meaning} if kind.meaning else None)
            for name, kind in zip(distinct_names(self.names), self.types, strict=True)
        ]
        return pa.schema(fields)

    @cached_property
    def df(self) -> DataFrame:
        """The decoded rows. Columns of integers, doubles, booleans, strings and IRIs never leave Java."""
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
    """The decoding inside a task: columns that Java decoded pass through, the others are made from codes."""

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
    """Return `a1`, `a2` …, the columns of a predicate's facts."""
    return [f"a{position}" for position in range(1, arity + 1)]


def distinct_names(names: Sequence[str]) -> list[str]:
    return [name if name not in names[:place] else f"{name}_{place}" for place, name in enumerate(names)]


def _is_native(kinds: ColumnKinds) -> bool:
    """Return whether Spark's own expressions decode a column: inline integers, doubles or booleans, or texts as they
    are in the universe."""
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
