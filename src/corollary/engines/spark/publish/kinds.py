"""Which kinds of constants the columns of a relation hold: one job over the ids alone says it."""

from __future__ import annotations

from dataclasses import dataclass

from corollary.engines.embedded.universe import Kind
from corollary.engines.spark.relations import Frame
from corollary.engines.spark.terms.ids import HASHED_CLASSES, IS_BOOLEAN, Tag

_INLINE = {Tag.INTEGER: Kind.INTEGER, Tag.DECIMAL: Kind.DECIMAL, Tag.HASHED: Kind.BOOLEAN, Tag.DOUBLE: Kind.DOUBLE}
"""By place in a mask: booleans, whose tag is that of decimals, are counted at that of hashes."""
_CLASSES = len(Tag)  # hashed classes are counted behind the tags


@dataclass(frozen=True)
class ColumnKinds:
    """`inline` are the kinds of constants that are their own ids, `hashed` those of constants that the universe explains."""

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
        """The places of columns that need the universe."""
        return [place for place, column in enumerate(self.columns) if column.hashed]


def summary_of(frame: Frame) -> Summary:
    """One pass over the ids, without a shuffle of them."""
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
