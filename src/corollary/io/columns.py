"""Helpers for formats with columns: requested columns, rows with nulls, and Arrow's errors."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from corollary.io.read import DataFile, Loaded
from corollary.io.rejects import LISTED, Rejects


@contextmanager
def naming_errors(file: DataFile, kind: str) -> Iterator[None]:
    """Raise Arrow's errors in the block as diagnostics that name the file."""
    try:
        yield
    except pa.ArrowInvalid as error:
        raise file.broken(f"this is not a readable {kind} file: {_first_line(error)}") from None
    except OSError as error:
        if error.errno is None:  # of Arrow, about the contents
            raise file.broken(f"this is not a readable {kind} file: {_first_line(error)}") from None
        raise file.unreadable(error) from None
    except pa.ArrowException as error:
        raise file.broken(_first_line(error)) from None


def check_columns(file: DataFile, names: list[str]) -> None:
    """Raise `ProgramError` if a requested column does not exist."""
    for name in file.options.columns or ():
        if name not in names:
            hint = f"its columns are {', '.join(names)}"
            raise file.options.error(f"{file.path} has no column '{name}'", hint)


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0]


def without_nulls(file: DataFile, table: pa.Table, rejects: Rejects | None = None, before: int = 0) -> Loaded:
    """Return the rows without a null. The others are rejected; they are numbered from 1, after the rows `before`."""
    rejects = Rejects() if rejects is None else rejects
    wrong = np.zeros(table.num_rows, np.bool_)
    for column in table.columns:
        if column.null_count:
            wrong |= pc.is_null(column).to_numpy().astype(np.bool_)
    places = np.flatnonzero(wrong)
    if not len(places):
        return Loaded(table, rejects)
    for row in places[:LISTED].tolist():
        name = next(name for name in table.column_names if not table.column(name)[row].is_valid)
        rejects.add(file.name, before + row + 1, f"column '{name}' is null")
    rejects.count(file.name, len(places[LISTED:]))
    return Loaded(table.filter(pa.array(~wrong)), rejects)
