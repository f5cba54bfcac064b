"""Which forms the function terms and lists of a universe have: rules about equal constants are made for each of them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import reduce
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from corollary.engines.spark.terms.forms import TERM
from corollary.program.forms import LIST, Form

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

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
