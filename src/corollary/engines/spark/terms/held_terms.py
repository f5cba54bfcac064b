"""Constants that the driver has, or keeps to see without a job of Spark which constants are known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from corollary.engines.spark.terms.first_rows import first_places

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

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
