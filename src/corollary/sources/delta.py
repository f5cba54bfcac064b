"""Delta tables without a Java library: Parquet files that anybody wrote, and a log that deltalake commits.

Whoever writes puts files into a new folder of the table, where no reader looks. One commit to the log makes them the contents
of the table, or the whole folder goes: readers see the old version or the new one, and old versions stay readable.
"""

from __future__ import annotations

import datetime as dt
import json
import math
import shutil
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from corollary.diagnostics import Diagnostic, ProgramError, Span, catalogue
from corollary.language.cells import MEANING
from corollary.sources.lines import cannot_write
from corollary.sources.read import DataFile, Loaded

if TYPE_CHECKING:
    from deltalake import DeltaTable
    from deltalake.transaction import AddAction

UNIT = b"unit"
"""The meaning of the one column of a predicate without arguments: a Delta table has at least one."""
_LONGEST_BOUND = 32  # characters of a text that is kept as the least or greatest of a file
_KNOWN_FEATURES = {"timestampNtz", "appendOnly", "invariants"}


def write_table(table: pa.Table, path: Path, *, mode: str = "overwrite") -> None:
    """A table as the contents of a Delta table, in one commit."""
    import pyarrow.parquet as parquet

    from corollary.engines.embedded.narrow_tables import narrowed

    table = narrowed(table) if table.num_columns else unit_table(table.num_rows)
    with new_folder(path, table.schema, mode) as folder:
        file = folder / f"part-{uuid.uuid4()}.parquet"
        if table.num_rows:
            parquet.write_table(table, file)
        commit(path, table.schema, [file] if table.num_rows else [], mode)


def unit_table(rows: int) -> pa.Table:
    """What stands for the facts of a predicate without arguments."""
    field = pa.field("holds", pa.bool_(), metadata={MEANING: UNIT})
    return pa.Table.from_arrays([pa.array([True] * rows, pa.bool_())], schema=pa.schema([field]))


@contextmanager
def new_folder(path: Path, schema: pa.Schema, mode: str) -> Iterator[Path]:
    """A folder of the table for files of a commit that is still to come; it goes where that does not come to pass.

    Raises `ProgramError` before anything is written where the table could not be written in this mode.
    """
    _check(path, schema, mode)
    is_new = not path.exists()
    folder = path / f"data-{uuid.uuid4().hex[:12]}"
    try:
        folder.mkdir(parents=True)
        yield folder
        if not any(folder.iterdir()):
            folder.rmdir()
    except BaseException as error:
        shutil.rmtree(folder, ignore_errors=True)
        if is_new:
            shutil.rmtree(path, ignore_errors=True)
        if isinstance(error, OSError):
            raise _unwritable(f"cannot write {path}: {error.strerror or error}") from None
        raise


def commit(
    path: Path,
    schema: pa.Schema,
    files: Sequence[Path],
    mode: str,
    *,
    transactions: Mapping[str, int] | None = None,
    description: str | None = None,
) -> None:
    """One commit that makes the rows of these Parquet files, which lie below `path`, the table's rows or adds them.

    `transactions` are numbers by application that the table keeps, in one with the rows; a new table gets the description.
    """
    _needs_deltalake()
    from deltalake import CommitProperties, Schema, Transaction
    from deltalake.exceptions import DeltaError
    from deltalake.transaction import create_table_with_add_actions

    actions = [_add(path, file) for file in files]
    columns = Schema.from_arrow(schema)
    known = [Transaction(name, number) for name, number in (transactions or {}).items()]
    said = CommitProperties(app_transactions=known) if known else None
    try:
        table = existing_table(path)
        if table is None:
            create_table_with_add_actions(
                str(path), columns, actions, mode="error", description=description, commit_properties=said
            )
        elif mode == "append" or _columns(table) == _fields(schema):
            table.create_write_transaction([*actions], mode, columns, commit_properties=said)
        else:
            # Creating it again, in the same log, also raises the protocol where the new columns need that.
            kept = table.metadata()
            create_table_with_add_actions(
                str(path), columns, actions, mode="overwrite",
                name=kept.name, description=kept.description, configuration=kept.configuration, commit_properties=said,
            )  # fmt: skip
    except DeltaError as error:
        raise _unwritable(f"cannot commit to {path}: {error}") from None


def has_columns(table: DeltaTable, schema: pa.Schema) -> bool:
    """Whether a table has just these columns, with the same meanings."""
    return _columns(table) == _fields(schema)


def _check(path: Path, schema: pa.Schema, mode: str) -> None:
    _needs_deltalake()
    table = existing_table(path)
    if table is None:
        if path.is_file() or (path.is_dir() and any(path.iterdir())):
            raise _unwritable(f"{path} exists and is no Delta table")
        return
    if mode == "error":
        raise _unwritable(f"{path} exists", 'mode = "overwrite" replaces its rows, mode = "append" adds to them')
    unknown = set(table.protocol().writer_features or ()) - _KNOWN_FEATURES
    if table.metadata().partition_columns or unknown:
        why = f"features {', '.join(sorted(unknown))}" if unknown else "partitions"
        raise _unwritable(f"{path} is a Delta table with {why}, which Corollary does not write")
    if mode == "append" and _columns(table) != _fields(schema):
        has, gets = (", ".join(map(_told, columns)) for columns in (_columns(table), _fields(schema)))
        hint = f'it has {has}, and the facts have {gets}; mode = "overwrite" replaces the columns too'
        raise cannot_write(f"{path}: the columns of the table are not those of the facts", hint)


def existing_table(path: Path) -> DeltaTable | None:
    """The table at a place; None where there is none."""
    _needs_deltalake()
    from deltalake import DeltaTable
    from deltalake.exceptions import DeltaError

    if not (path / "_delta_log").is_dir():
        return None
    try:
        return DeltaTable(str(path))
    except DeltaError as error:
        raise _unwritable(f"{path} is a damaged Delta table: {error}") from None


_Column = tuple[str, str, str]


def _columns(table: DeltaTable) -> list[_Column]:
    return [_column(field) for field in json.loads(table.schema().to_json())["fields"]]


def _fields(schema: pa.Schema) -> list[_Column]:
    from deltalake import Schema

    return [_column(field) for field in json.loads(Schema.from_arrow(schema).to_json())["fields"]]


def _column(field: dict[str, Any]) -> _Column:
    return field["name"], str(field["type"]), field["metadata"].get(MEANING.decode(), "")


def _told(column: _Column) -> str:
    name, kind, meaning = column
    return f"{name} {kind}" + (f" ({meaning})" if meaning else "")


def _add(root: Path, file: Path) -> AddAction:
    import pyarrow.parquet as parquet
    from deltalake.transaction import AddAction

    facts = file.stat()
    name = file.relative_to(root).as_posix()
    stats = json.dumps(_statistics(parquet.read_metadata(file)), ensure_ascii=False)
    return AddAction(name, facts.st_size, {}, int(facts.st_mtime * 1000), True, stats)


def _statistics(metadata: Any) -> dict[str, Any]:
    """What the log says of a file, so that readers can leave it out: rows, and bounds of columns where they are exact."""
    least: dict[str, Any] = {}
    greatest: dict[str, Any] = {}
    groups = [metadata.row_group(number) for number in range(metadata.num_row_groups)]
    names = [metadata.schema.column(place).name for place in range(metadata.num_columns)]
    for place, name in enumerate(names):
        found = [group.column(place).statistics for group in groups]
        if groups and all(one is not None and one.has_min_max for one in found):
            low, high = min(one.min for one in found), max(one.max for one in found)
            if _is_bound(low) and _is_bound(high):
                least[name], greatest[name] = _bound(low), _bound(high)
    nulls = dict.fromkeys(names, 0)  # a fact has no nulls
    return {"numRecords": metadata.num_rows, "minValues": least, "maxValues": greatest, "nullCount": nulls}


def _is_bound(value: Any) -> bool:
    if isinstance(value, str):
        return len(value) <= _LONGEST_BOUND
    if isinstance(value, float):
        return math.isfinite(value)
    # A point in time is kept in milliseconds and a decimal as a double: both would be rounded.
    return type(value) in (int, dt.date)


def _bound(value: Any) -> Any:
    return value.isoformat() if isinstance(value, dt.date) else value


def read_delta(file: DataFile) -> Loaded:
    """The rows of the newest version; a row with a null is rejected, as in Parquet files."""
    _needs_deltalake(file.options.span)
    from deltalake import DeltaTable
    from deltalake.exceptions import DeltaError, TableNotFoundError

    from corollary.sources.parquet import check_columns, without_nulls

    try:
        if not file.path.exists():
            raise FileNotFoundError(2, "No such file or directory")
        source = DeltaTable(file.name).to_pyarrow_dataset()
        check_columns(file, source.schema.names)
        columns = list(file.options.columns) if file.options.columns else None
        loaded = without_nulls(file, source.to_table(columns=columns))
    except TableNotFoundError:
        raise file.broken("this is not a Delta table") from None
    except (DeltaError, pa.ArrowInvalid) as error:
        raise file.broken(f"this is not a readable Delta table: {str(error).partition(chr(10))[0]}") from None
    except OSError as error:
        raise file.unreadable(error) from None
    meanings = [(field.metadata or {}).get(MEANING) for field in loaded.table.schema]
    if meanings == [UNIT]:
        loaded.table = loaded.table.select([])
    return loaded


def _needs_deltalake(span: Span | None = None) -> None:
    try:
        import deltalake  # noqa: F401
    except ImportError:
        message, hint = "Delta tables need the package deltalake", "pip install 'corollary[delta]'"
        raise ProgramError([Diagnostic(catalogue.MISSING_PACKAGE, message, span, hint)]) from None


def _unwritable(message: str, hint: str | None = None) -> ProgramError:
    return ProgramError([Diagnostic(catalogue.UNWRITABLE_FILE, message, None, hint)])
