"""Which forms the function terms and lists of a universe have: rules about equal constants are made for each of them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from functools import reduce
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from corollary.engines.spark.terms.forms import TERM
from corollary.program.forms import LIST, Form

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_SCHEMA = "name string, arguments int"
_FIELDS = pa.schema([("name", pa.string()), ("arguments", pa.int32())])


class TermForms:
    """Looks only at constants that have come since it was asked last; who is never asked looks at none."""

    def __init__(self) -> None:
        self._found: frozenset[Form] = frozenset()
        self._waiting: list[DataFrame] = []

    def wait(self, terms: DataFrame) -> None:
        """More rows of the universe."""
        self._waiting.append(terms)

    def all(self) -> frozenset[Form]:
        if self._waiting:
            terms = reduce(lambda left, right: left.union(right), self._waiting)
            texts = terms.where(terms.datatype == TERM).select("canonical")
            rows = texts.mapInArrow(_forms_of_texts, _SCHEMA).distinct().collect()
            self._found |= {(row["name"], row["arguments"]) for row in rows}
            self._waiting = []
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
