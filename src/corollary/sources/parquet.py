"""Parquet files, and directories of them as Spark writes them."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from corollary.sources.read import DataFile, Loaded
from corollary.sources.rejects import LISTED, Rejects


def read_parquet(file: DataFile) -> Loaded:
    """The rows of a Parquet file; a row with a null is rejected, since no constant stands for one."""
    return without_nulls(file, _read(file))


def _read(file: DataFile) -> pa.Table:
    columns = list(file.options.columns) if file.options.columns else None
    try:
        if file.path.is_dir():
            import pyarrow.dataset as dataset

            source = dataset.dataset(file.name, format="parquet", exclude_invalid_files=False)
            _check_columns(file, source.schema.names)
            return source.to_table(columns=columns)
        import pyarrow.parquet as parquet

        with parquet.ParquetFile(file.name) as source:
            _check_columns(file, source.schema_arrow.names)
            return source.read(columns=columns).select(columns or source.schema_arrow.names)
    except pa.ArrowInvalid as error:
        raise file.broken(f"this is not a readable Parquet file: {_first_line(error)}") from None
    except OSError as error:
        if error.errno is None:  # of Arrow, about the contents
            raise file.broken(f"this is not a readable Parquet file: {_first_line(error)}") from None
        raise file.unreadable(error) from None
    except pa.ArrowException as error:
        raise file.broken(_first_line(error)) from None


def _check_columns(file: DataFile, names: list[str]) -> None:
    for name in file.options.columns or ():
        if name not in names:
            hint = f"its columns are {', '.join(names)}"
            raise file.options.error(f"{file.path} has no column '{name}'", hint)


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0]


def without_nulls(file: DataFile, table: pa.Table) -> Loaded:
    """Rows with a null are rejected; their numbers are counted from 1."""
    rejects = Rejects()
    wrong = np.zeros(table.num_rows, np.bool_)
    for column in table.columns:
        if column.null_count:
            wrong |= pc.is_null(column).to_numpy().astype(np.bool_)
    places = np.flatnonzero(wrong)
    if not len(places):
        return Loaded(table)
    for row in places[:LISTED].tolist():
        name = next(name for name in table.column_names if not table.column(name)[row].is_valid)
        rejects.add(file.name, row + 1, f"column '{name}' is null")
    rejects.count(file.name, len(places[LISTED:]))
    return Loaded(table.filter(pa.array(~wrong)), rejects)
