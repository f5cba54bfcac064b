"""Profiles of columns of ids: the classes of their constants, so that comparisons and aggregates that ids decide run
inside Spark.

A set of classes is a bit mask. The class of an id is part of the id, so one cheap aggregate over a relation finds the
classes of its columns, and also the numbers of rows and of distinct values for the join order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np

from corollary.engines.embedded.values.universe import Kind
from corollary.engines.spark.terms.ids import HASHED_CLASSES, IS_BOOLEAN, Tag, are_booleans, id_of
from corollary.program import Constant

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from corollary.engines.spark.relations import Frame

_FIRST_HASHED = 8
_LARGE, _BOOLEAN = 4, 5  # bits of the mask for large integers inside ids, and for booleans
SMALL_INTEGER = 1 << 30
"""The greatest absolute value of small integers: sums and products of two of them are still inside ids."""


def _hashed(*kinds: Kind) -> int:
    return sum(1 << (_FIRST_HASHED + HASHED_CLASSES[kind]) for kind in kinds)


SMALL_INTEGERS = 1 << Tag.INTEGER
INTEGERS = SMALL_INTEGERS | 1 << _LARGE
BOOLEANS = 1 << _BOOLEAN
STRINGS, IRIS, TERMS = _hashed(Kind.STRING), _hashed(Kind.IRI), _hashed(Kind.TERM)
DECIMALS = 1 << Tag.DECIMAL | _hashed(Kind.DECIMAL)
LARGE_INTEGERS = _hashed(Kind.INTEGER, Kind.LARGE_INTEGER)
INLINE_DOUBLES = 1 << Tag.DOUBLE
"""Doubles inside their ids, ordered like these."""
DOUBLES = INLINE_DOUBLES | _hashed(Kind.DOUBLE)
NUMBERS = INTEGERS | DOUBLES | DECIMALS | LARGE_INTEGERS
LITERALS = _hashed(Kind.LITERAL)
VALUED = NUMBERS | LITERALS
"""Classes whose constants may equal others: numbers and moments."""
HASHED = sum(1 << (_FIRST_HASHED + number) for number in range(8))
ANYTHING = HASHED | INTEGERS | BOOLEANS | INLINE_DOUBLES | 1 << Tag.DECIMAL


def classes_of(constant: Constant) -> int:
    return classes_of_ids(np.array([id_of(constant.value)], np.int64))


def _place_sql(column: str) -> str:
    """Return the bit position of an id's class in a mask."""
    hashed = f"WHEN {column} & 3 = {int(Tag.HASHED)} THEN {_FIRST_HASHED} + (shiftright({column}, 2) & 7)"
    bound = SMALL_INTEGER << 2
    large = f"WHEN {column} & 3 = 0 AND ({column} > {bound}L OR {column} < -{bound}L) THEN {_LARGE}"
    boolean = f"WHEN {column} & {IS_BOOLEAN[0]} = {IS_BOOLEAN[1]} THEN {_BOOLEAN}"
    return f"CAST(CASE {hashed} {large} {boolean} ELSE {column} & 3 END AS INT)"


def classes_sql(column: str) -> str:
    """Return an aggregate for the mask of all ids in a column."""
    return f"coalesce(bit_or(shiftleft(1L, {_place_sql(column)})), 0L)"


def is_in_sql(column: str, mask: int) -> str:
    """Return a condition: the id is of one of these classes."""
    if mask & INTEGERS in (0, INTEGERS):
        if mask == INTEGERS:
            return f"({column} & 3 = 0)"
        if mask == BOOLEANS:
            return f"({column} & {IS_BOOLEAN[0]} = {IS_BOOLEAN[1]})"
        if mask == INLINE_DOUBLES:
            return f"({column} & 3 = {int(Tag.DOUBLE)})"
        for number in range(8):
            if mask == 1 << (_FIRST_HASHED + number):
                return f"({column} & 31 = {number << 2 | int(Tag.HASHED)})"
    return f"(shiftright({mask}L, {_place_sql(column)}) & 1 = 1)"


def classes_of_ids(ids: np.ndarray[Any, np.dtype[np.int64]]) -> int:
    """Return the mask of ids in the driver."""
    inline = np.where((ids & 3 == 0) & (np.abs(ids >> 2) > SMALL_INTEGER), _LARGE, ids & 3)
    inline[are_booleans(ids)] = _BOOLEAN
    places = np.where(ids & 3 == int(Tag.HASHED), _FIRST_HASHED + (ids >> 2 & 7), inline)
    return int(np.bitwise_or.reduce(np.int64(1) << places)) if len(ids) else 0


@dataclass(frozen=True)
class Profile:
    rows: int
    classes: tuple[int, ...]
    distinct: tuple[int, ...]


_KNOWN: WeakKeyDictionary[DataFrame, Profile] = WeakKeyDictionary()
_KNOWN_CLASSES: WeakKeyDictionary[DataFrame, tuple[int, ...]] = WeakKeyDictionary()


def classes_of_frame(frame: Frame) -> tuple[int, ...]:
    """Return only the masks of its columns, which cost less than a profile."""
    known = _KNOWN.get(frame.df)
    if known is not None:
        return known.classes
    if frame.df not in _KNOWN_CLASSES:
        row = frame.df.selectExpr(*(f"{classes_sql(name)} AS {name}" for name in frame.columns)).collect()[0]
        _KNOWN_CLASSES[frame.df] = tuple(row)
    return _KNOWN_CLASSES[frame.df]


def profile_of(frame: Frame) -> Profile:
    """Return the profile of a frame; the first call runs a job."""
    known = _KNOWN.get(frame.df)
    if known is None:
        wanted = [f"{classes_sql(name)} AS k{place}" for place, name in enumerate(frame.columns)]
        wanted += [f"approx_count_distinct({name}, 0.1) AS d{place}" for place, name in enumerate(frame.columns)]
        row = frame.df.selectExpr("count(1) AS n", *wanted).collect()[0]
        places = range(len(frame.columns))
        known = Profile(row["n"], tuple(row[f"k{p}"] for p in places), tuple(max(1, row[f"d{p}"]) for p in places))
        _KNOWN[frame.df] = known
    return known


def together(profiles: Sequence[Profile], arity: int) -> Profile:
    """Return the profile of a union of disjoint frames; its numbers of distinct values are lower bounds."""
    places = range(max(1, arity))
    classes = [0 for _ in places]
    for profile in profiles:
        classes = [before | new for before, new in zip(classes, profile.classes, strict=True)]
    distinct = tuple(max([1, *(profile.distinct[place] for profile in profiles)]) for place in places)
    return Profile(sum(profile.rows for profile in profiles), tuple(classes), distinct)
