"""Parquet files, and directories of them as Spark writes them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from corollary.language.cells import MEANING
from corollary.sources.read import DataFile, Loaded
from corollary.sources.rejects import LISTED, Rejects

_PIECE = 1 << 15  # rows
_SPARK_FIELDS = b"org.apache.spark.sql.parquet.row.metadata"


def read_parquet(file: DataFile) -> Loaded:
    """The rows of a Parquet file; a row with a null is rejected, since no constant stands for one."""
    return without_nulls(file, _with_meanings(_read(file)))


def parquet_pieces(file: DataFile) -> Iterator[Loaded]:
    """The rows of a Parquet file some at a time, at least once, for memory that is used again costs less than more memory.

    What was rejected so far is told with each piece.
    """
    import pyarrow.parquet as parquet

    rejects, before = Rejects(), 0
    with _named_errors(file), parquet.ParquetFile(file.name) as source:
        names = source.schema_arrow.names
        check_columns(file, names)
        columns = list(file.options.columns) if file.options.columns else None
        for batch in source.iter_batches(_PIECE, columns=columns):
            table = pa.Table.from_batches([batch]).select(columns or names)
            yield without_nulls(file, _with_meanings(table), rejects, before)
            before += batch.num_rows
        if not before:
            yield Loaded(_with_meanings(source.schema_arrow.empty_table().select(columns or names)))


def _read(file: DataFile) -> pa.Table:
    columns = list(file.options.columns) if file.options.columns else None
    with _named_errors(file):
        if file.path.is_dir():
            import pyarrow.dataset as dataset

            source = dataset.dataset(file.name, format="parquet", exclude_invalid_files=False)
            check_columns(file, source.schema.names)
            return source.to_table(columns=columns)
        import pyarrow.parquet as parquet

        with parquet.ParquetFile(file.name) as source:
            check_columns(file, source.schema_arrow.names)
            return source.read(columns=columns).select(columns or source.schema_arrow.names)


@contextmanager
def _named_errors(file: DataFile) -> Iterator[None]:
    """What Arrow finds wrong with a file is said with its name."""
    try:
        yield
    except pa.ArrowInvalid as error:
        raise file.broken(f"this is not a readable Parquet file: {_first_line(error)}") from None
    except OSError as error:
        if error.errno is None:  # of Arrow, about the contents
            raise file.broken(f"this is not a readable Parquet file: {_first_line(error)}") from None
        raise file.unreadable(error) from None
    except pa.ArrowException as error:
        raise file.broken(_first_line(error)) from None


def _with_meanings(table: pa.Table) -> pa.Table:
    """What columns of text hold, where Spark wrote the files: it keeps that in a place of its own."""
    described = (table.schema.metadata or {}).get(_SPARK_FIELDS)
    if described is None:
        return table
    meanings = {field["name"]: field["metadata"].get(MEANING.decode()) for field in json.loads(described)["fields"]}
    fields = [
        field.with_metadata({MEANING: meaning.encode()}) if (meaning := meanings.get(field.name)) else field
        for field in table.schema
    ]
    return table.cast(pa.schema(fields, table.schema.metadata))


def check_columns(file: DataFile, names: list[str]) -> None:
    for name in file.options.columns or ():
        if name not in names:
            hint = f"its columns are {', '.join(names)}"
            raise file.options.error(f"{file.path} has no column '{name}'", hint)


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0]


def without_nulls(file: DataFile, table: pa.Table, rejects: Rejects | None = None, before: int = 0) -> Loaded:
    """Rows with a null are rejected; their numbers are counted from 1, behind those of the rows `before`."""
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
