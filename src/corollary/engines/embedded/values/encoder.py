"""Facts as Python programs have them, in rows of codes: sequences of rows, Arrow tables, pandas frames, numpy arrays."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from corollary.engines.embedded.relations.relation import Codes
from corollary.engines.embedded.values.columns import encode_table
from corollary.engines.embedded.values.constants import encode_constants
from corollary.engines.embedded.values.universe import Universe
from corollary.program import Value
from corollary.program.python_values import NoConstant, from_python


class Encoder:
    """Encodes for one universe. What does not fit raises a `ValueError` with a text for people."""

    def __init__(self, universe: Universe) -> None:
        self._universe = universe

    def facts(self, facts: Any, arity: int | None) -> Codes:
        """Facts of any kind that have `arity` columns, if that is known. What has `codes_in` encodes itself."""
        if hasattr(facts, "codes_in"):
            codes: Codes = facts.codes_in(self._universe)
            if arity is not None and codes.shape[1] != arity:
                raise ValueError(f"there are {codes.shape[1]} columns, expected {arity}")
            return codes
        if isinstance(facts, np.ndarray) and facts.ndim == 2:
            facts = pa.table({f"a{place}": facts[:, place] for place in range(facts.shape[1])})
        table = _as_table(facts)
        if table is not None:
            if arity is not None and table.num_columns != arity:
                raise ValueError(f"there are {table.num_columns} columns, expected {arity}")
            return self.table(table)
        return self._python_rows(facts, arity)

    def table(self, table: pa.Table) -> Codes:
        return encode_table(self._universe, table)

    def rows(self, rows: Sequence[Sequence[Value]], arity: int) -> Codes:
        """Rows of constants, all of that length."""
        codes = np.empty((len(rows), arity), np.uint32)
        for place, column in enumerate(zip(*rows, strict=True)):
            codes[:, place] = encode_constants(self._universe, column)
        return codes

    def _python_rows(self, facts: Iterable[Any], arity: int | None) -> Codes:
        if not isinstance(facts, Iterable):
            raise TypeError(f"facts are a collection of rows, and not a value of type {type(facts).__name__}")
        rows = [row if isinstance(row, (tuple, list)) else _as_row(row) for row in facts]
        expected = arity if arity is not None else len(rows[0]) if rows else 0
        if set(map(len, rows)) - {expected}:
            number, row = next((number, row) for number, row in enumerate(rows, 1) if len(row) != expected)
            raise ValueError(f"row {number} has {len(row)} values, expected {expected}")
        codes = np.empty((len(rows), expected), np.uint32)
        for place, column in enumerate(zip(*rows, strict=True)):
            codes[:, place] = self._column(column)
        return codes

    def _column(self, column: Sequence[Any]) -> Codes:
        if set(map(type, column)) <= {int, float, bool, str}:
            return encode_constants(self._universe, column)  # what is no valid text is a ValueError too
        try:
            return encode_constants(self._universe, [from_python(value) for value in column])
        except RecursionError:
            raise NoConstant("a term is nested too deeply to be a constant") from None


def _as_row(row: Any) -> Sequence[Any]:
    """A single value is a row of one; a row of a numpy array is a row."""
    return tuple(row.tolist()) if isinstance(row, np.ndarray) and row.ndim == 1 else (row,)


def _as_table(facts: Any) -> pa.Table | None:
    if isinstance(facts, pa.Table):
        return facts
    if isinstance(facts, pa.RecordBatch):
        return pa.Table.from_batches([facts])
    if type(facts).__module__.partition(".")[0] == "pandas":
        return _of_pandas(facts)
    if hasattr(facts, "__arrow_c_stream__"):
        return pa.table(facts)
    return None


def _of_pandas(frame: Any) -> pa.Table | None:
    """None where a column of objects is of no single Arrow type: it is taken row by row then."""
    try:
        return pa.Table.from_pandas(frame, preserve_index=False)
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        return None
