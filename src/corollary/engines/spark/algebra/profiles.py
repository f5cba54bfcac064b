"""What a column of ids may hold, so that comparisons and aggregates run inside Spark wherever ids alone decide them.

A set of classes is a bit mask. The class of an id is in the id itself, so one cheap aggregate over a relation tells the classes
of its columns, and with them the number of rows and of distinct values that the join order asks for.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np

from corollary.engines.embedded.universe import Kind
from corollary.engines.spark.terms.ids import HASHED_CLASSES, Tag, id_of
from corollary.program import Constant

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from corollary.engines.spark.relations import Frame

_FIRST_HASHED = 8


def _hashed(*kinds: Kind) -> int:
    return sum(1 << (_FIRST_HASHED + HASHED_CLASSES[kind]) for kind in kinds)


INTEGERS = 1 << Tag.INTEGER
DOUBLES = _hashed(Kind.DOUBLE)
NUMBERS = INTEGERS | DOUBLES | 1 << Tag.DECIMAL | _hashed(Kind.INTEGER, Kind.LARGE_INTEGER, Kind.DECIMAL)
LITERALS = _hashed(Kind.LITERAL)
VALUED = NUMBERS | LITERALS
"""What may be equal to another constant: numbers and moments."""
HASHED = sum(1 << (_FIRST_HASHED + number) for number in range(8))
ANYTHING = HASHED | sum(1 << tag for tag in (Tag.INTEGER, Tag.DECIMAL, Tag.SMALL))


def classes_of(constant: Constant) -> int:
    number = id_of(constant.value)
    return 1 << (_FIRST_HASHED + (number >> 2 & 7) if number & 3 == Tag.HASHED else number & 3)


def classes_sql(column: str) -> str:
    """An aggregate: the mask of all ids in a column."""
    place = f"IF({column} & 3 = {int(Tag.HASHED)}, {_FIRST_HASHED} + (shiftright({column}, 2) & 7), {column} & 3)"
    return f"coalesce(bit_or(shiftleft(1L, CAST({place} AS INT))), 0L)"


def classes_of_ids(ids: np.ndarray[Any, np.dtype[np.int64]]) -> int:
    """The mask of ids that the driver has."""
    places = np.where(ids & 3 == int(Tag.HASHED), _FIRST_HASHED + (ids >> 2 & 7), ids & 3)
    return int(np.bitwise_or.reduce(np.int64(1) << places)) if len(ids) else 0


@dataclass(frozen=True)
class Profile:
    rows: int
    classes: tuple[int, ...]
    distinct: tuple[int, ...]


_KNOWN: WeakKeyDictionary[DataFrame, Profile] = WeakKeyDictionary()


def profile_of(frame: Frame) -> Profile:
    """The profile of a frame; it costs a job the first time."""
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
    """The profile of a union of disjoint frames; of distinct values there are at least as many as in each of them."""
    places = range(max(1, arity))
    classes = [0 for _ in places]
    for profile in profiles:
        classes = [before | new for before, new in zip(classes, profile.classes, strict=True)]
    distinct = tuple(max([1, *(profile.distinct[place] for profile in profiles)]) for place in places)
    return Profile(sum(profile.rows for profile in profiles), tuple(classes), distinct)
