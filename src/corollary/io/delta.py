"""Delta tables without a Java library: Parquet files that anybody wrote, and a log that deltalake reads and commits.

A writer puts files into a new folder of the table, where no reader looks. One commit to the log makes them the contents
of the table, or the whole folder goes: readers see the old version or the new one, and old versions stay readable.
"""

from __future__ import annotations

import datetime as dt
import json
import math
import re
import shutil
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import pyarrow as pa

from corollary.diagnostics import Diagnostic, ProgramError, catalogue
from corollary.diagnostics.packages import optional_package
from corollary.io.atomic import replacing
from corollary.io.columns import check_columns, without_nulls
from corollary.io.formats import DELTA, Format, file_name
from corollary.io.framed_files import FramedFiles
from corollary.io.lines import cannot_write
from corollary.io.options import ReadOptions
from corollary.io.places import InputPlace, without_pattern
from corollary.io.publication import Origin, not_published
from corollary.io.read import DataFile, Loaded
from corollary.io.roots import check_named
from corollary.language.cells import MEANING

if TYPE_CHECKING:
    from deltalake import DeltaTable
    from deltalake.transaction import AddAction
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

UNIT = b"unit"
"""The meaning of the one column of a predicate without arguments: a Delta table has at least one."""
_LONGEST_BOUND = 32  # characters of a text that is kept as the least or greatest of a file
_WRITTEN_FEATURES = {"timestampNtz", "appendOnly", "invariants"}
_HARMLESS = {"timestampNtz", "v2Checkpoint", "vacuumProtocolCheck"}
"""Features for readers that change nothing about what files mean."""
_FILE, _ROW = "corollary file", "corollary row"
_ORIGIN = "corollary.json"
_GONE = "corollary gone"
_COMPACT_EVERY = 50  # versions of a published table


@dataclass(frozen=True)
class DeltaFile:
    """A file of a table: its name below the table or its address, the values of the columns that it does not have itself, and the
    number of its rows, which is -1 where the log does not say it."""

    name: str
    values: dict[str, Any] = field(default_factory=dict)
    rows: int = -1


def files_of(table: DeltaTable, partitions: Sequence[str] = ()) -> list[DeltaFile]:
    """Return the files of a version of a table; `partitions` are the columns whose values the log has."""
    actions = pa.table(table.get_add_actions(flatten=True))
    names = [unquote(name) for name in actions.column("path").to_pylist()]
    values = [actions.column(f"partition.{column}").to_pylist() if names else [] for column in partitions]
    is_counted = "num_records" in actions.column_names
    rows = actions.column("num_records").fill_null(-1).to_pylist() if is_counted else [-1] * len(names)
    return [
        DeltaFile(name, {column: some[place] for column, some in zip(partitions, values, strict=True)}, rows[place])
        for place, name in enumerate(names)
    ]


# -- reading -----------------------------------------------------------------------------------------------------------


def read(file: DataFile, form: Format) -> Loaded:
    """Return the rows of the newest version; a row with a null is rejected, as in Parquet files."""
    with optional_package("deltalake", "a Delta table", file.options.span):
        from deltalake import DeltaTable
        from deltalake.exceptions import DeltaError, TableNotFoundError

    try:
        if not file.path.exists():
            raise FileNotFoundError(2, "No such file or directory")
        table = DeltaTable(file.name)
        for one in files_of(table) if file.options.roots is not None else ():
            check_named(one.name, file.name, file.options.roots, file.options.span)
        source = table.to_pyarrow_dataset()
        check_columns(file, source.schema.names)
        columns = list(file.options.columns) if file.options.columns else None
        loaded = without_nulls(file, source.to_table(columns=columns))
    except TableNotFoundError:
        raise file.broken("this is not a Delta table") from None
    except (DeltaError, pa.ArrowInvalid) as error:
        raise file.broken(f"this is not a readable Delta table: {_first_line(error)}") from None
    except OSError as error:
        raise file.unreadable(error) from None
    if [(column.metadata or {}).get(MEANING) for column in loaded.table.schema] == [UNIT]:
        loaded.table = loaded.table.select([])
    return loaded


def frame(spark: SparkSession, place: InputPlace, options: ReadOptions) -> FramedFiles:
    """Return the rows of the newest version: deltalake reads the log, Spark the files that it names.

    Raise `ProgramError` for a table whose contents are not just those of its files.
    """
    with optional_package("deltalake", "a Delta table", options.span):
        from deltalake import DeltaTable
        from deltalake.exceptions import DeltaError
    from pyspark.sql.types import StructType

    try:
        table = DeltaTable(str(place.local) if place.local else place.address)
        _check_readable(table, place, options)
        schema = StructType.fromJson(json.loads(table.schema().to_json()))
        partitions = list(table.metadata().partition_columns)
        files = [_located(one, place, options) for one in files_of(table, partitions)]
    except (DeltaError, OSError) as error:
        message = f"ingest: {place.given} is not a readable Delta table: {_first_line(error)}"
        raise ProgramError([Diagnostic(catalogue.BROKEN_DATA, message, options.span)]) from None

    def schema_of(address: str) -> StructType:
        return spark.read.parquet(without_pattern(address)).schema

    rows = _rows_of(spark, schema, partitions, files)
    return FramedFiles(place, rows, f"`{_FILE}`", f"`{_ROW}`", schema_of, schema.names)


def _check_readable(table: DeltaTable, place: InputPlace, options: ReadOptions) -> None:
    features = set(table.protocol().reader_features or ()) - _HARMLESS
    mapping = table.metadata().configuration.get("delta.columnMapping.mode", "none")
    if mapping == "none":
        features.discard("columnMapping")
    elif mapping:
        features.add("columnMapping")
    if features:
        message = (
            f"ingest: {place.given} is a Delta table with {', '.join(sorted(features))}, which Corollary does not read"
        )
        hint = "Spark with the Delta library reads it: kb.insert(predicate, data_frame)"
        raise ProgramError([Diagnostic(catalogue.BROKEN_DATA, message, options.span, hint)])


def _located(file: DeltaFile, place: InputPlace, options: ReadOptions) -> DeltaFile:
    """Return the file with its address in place of its name."""
    root = str(place.local.absolute()) if place.local else place.address.rstrip("/")
    check_named(file.name, root, options.roots, options.span)
    is_whole = "://" in file.name or file.name.startswith("/")
    return replace(file, name=file.name if is_whole else f"{root}/{file.name}")


def _rows_of(spark: SparkSession, schema: StructType, partitions: list[str], files: list[DeltaFile]) -> DataFrame:
    from pyspark.sql import functions as F  # noqa: N812
    from pyspark.sql.types import StringType, StructField, StructType

    if not files:
        return spark.createDataFrame([], schema).withColumns({_FILE: F.lit(""), _ROW: F.lit(0)})
    in_files = StructType([column for column in schema.fields if column.name not in partitions])
    paths = [without_pattern(file.name) for file in files]
    paths = [f"file://{path}" if path.startswith("/") else path for path in paths]
    read = spark.read.option("recursiveFileLookup", "true").schema(in_files).parquet(*paths)
    rows = read.withColumns({_FILE: F.col("_metadata.file_path"), _ROW: F.col("_metadata.row_index")})
    if not partitions:
        return rows
    addresses = {
        unquote(re.sub(r"^file:/+", "/", one)): re.sub(r"^file:/+", "file:/", one) for one in read.inputFiles()
    }
    columns = [StructField(_FILE, StringType()), *(schema[name] for name in partitions)]
    values = [(addresses[file.name], *(file.values[name] for name in partitions)) for file in files]
    return rows.join(F.broadcast(spark.createDataFrame(values, StructType(columns))), _FILE)


# -- writing -----------------------------------------------------------------------------------------------------------


def write_table(table: pa.Table, path: Path, *, mode: str = "overwrite") -> None:
    """Write a table of Arrow as the contents of a Delta table, in one commit."""
    import pyarrow.parquet as parquet

    from corollary.engines.embedded.values.tables import narrowed

    table = narrowed(table) if table.num_columns else unit_table(table.num_rows)
    with new_folder(path, table.schema, mode) as folder:
        file = folder / f"part-{uuid.uuid4()}.parquet"
        if table.num_rows:
            parquet.write_table(table, file)
        commit(path, table.schema, [file] if table.num_rows else [], mode)


def unit_table(rows: int) -> pa.Table:
    """Return the table that stores the facts of a predicate without arguments, a column of `true`."""
    column = pa.field("holds", pa.bool_(), metadata={MEANING: UNIT})
    return pa.Table.from_arrays([pa.array([True] * rows, pa.bool_())], schema=pa.schema([column]))


@contextmanager
def new_folder(path: Path, schema: pa.Schema, mode: str) -> Iterator[Path]:
    """A folder of the table for files of a commit that is still to come; it is removed if the block raises.

    Raise `ProgramError` before anything is written where the table could not be written in this mode.
    """
    _check_writable(path, schema, mode)
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
    """Make the rows of these Parquet files, which lie below `path`, the rows of the table, or add them, in one commit.

    `transactions` are numbers by application that the table keeps, in one with the rows; a new table gets the description.
    """
    with optional_package("deltalake", "a Delta table"):
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


def _check_writable(path: Path, schema: pa.Schema, mode: str) -> None:
    table = existing_table(path)
    if table is None:
        if path.is_file() or (path.is_dir() and any(path.iterdir())):
            raise _unwritable(f"{path} exists and is not a Delta table")
        return
    if mode == "error":
        raise _unwritable(f"{path} exists", 'mode = "overwrite" replaces its rows, mode = "append" adds to them')
    unknown = set(table.protocol().writer_features or ()) - _WRITTEN_FEATURES
    if table.metadata().partition_columns or unknown:
        why = f"features {', '.join(sorted(unknown))}" if unknown else "partitions"
        raise _unwritable(f"{path} is a Delta table with {why}, which Corollary does not write")
    if mode == "append" and _columns(table) != _fields(schema):
        has, gets = (", ".join(map(_shown, columns)) for columns in (_columns(table), _fields(schema)))
        hint = f'it has {has}, but the facts have {gets}; mode = "overwrite" also replaces the columns'
        raise cannot_write(f"{path}: the columns of the table are not those of the facts", hint)


def existing_table(path: Path) -> DeltaTable | None:
    """Return the table at a place; None where there is none."""
    with optional_package("deltalake", "a Delta table"):
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
    return [_column(one) for one in json.loads(table.schema().to_json())["fields"]]


def _fields(schema: pa.Schema) -> list[_Column]:
    with optional_package("deltalake", "a Delta table"):
        from deltalake import Schema

    return [_column(one) for one in json.loads(Schema.from_arrow(schema).to_json())["fields"]]


def _column(described: dict[str, Any]) -> _Column:
    return described["name"], str(described["type"]), described["metadata"].get(MEANING.decode(), "")


def _shown(column: _Column) -> str:
    name, kind, meaning = column
    return f"{name} {kind}" + (f" ({meaning})" if meaning else "")


def _add(root: Path, file: Path) -> AddAction:
    import pyarrow.parquet as parquet

    with optional_package("deltalake", "a Delta table"):
        from deltalake.transaction import AddAction

    facts = file.stat()
    name = file.relative_to(root).as_posix()
    stats = json.dumps(_statistics(parquet.read_metadata(file)), ensure_ascii=False)
    return AddAction(name, facts.st_size, {}, int(facts.st_mtime * 1000), True, stats)


def _statistics(metadata: Any) -> dict[str, Any]:
    """Return the statistics of a file for the log, by which readers skip it: rows, and bounds of columns where they are exact."""
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


def _unwritable(message: str, hint: str | None = None) -> ProgramError:
    return ProgramError([Diagnostic(catalogue.UNWRITABLE_FILE, message, None, hint)])


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0]


# -- published ---------------------------------------------------------------------------------------------------------


class DeltaTables:
    """A directory with `<predicate>.delta` for each predicate. Each table has a commit of its own, and the origin comes last."""

    def __init__(self, path: Path) -> None:
        self._path = path
        if path.exists() and not path.is_dir():
            raise not_published(f"cannot publish to {path}: this is a file")

    @contextmanager
    def changing(self) -> Iterator[None]:
        try:
            self._path.mkdir(parents=True, exist_ok=True)
            yield
        except OSError as error:
            raise not_published(
                f"cannot publish to {error.filename or self._path}: {error.strerror or error}"
            ) from None

    def origin(self) -> Origin | None:
        try:
            fields = json.loads((self._path / _ORIGIN).read_text(encoding="utf-8"))
            return Origin(fields["store"], fields["version"], tuple(fields["predicates"]))
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def set_origin(self, origin: Origin) -> None:
        fields = {"store": origin.store, "version": origin.version, "predicates": list(origin.predicates)}
        with replacing(self._path / _ORIGIN) as aside:
            aside.write_text(json.dumps(fields) + "\n", encoding="utf-8")

    def replace(self, predicate: str, table: pa.Table) -> None:
        write_table(table, self._table(predicate))

    def change(self, predicate: str, gone: pa.Table, new: pa.Table, *, again: bool = False) -> bool:
        with optional_package("deltalake", "a Delta table"):
            from deltalake.exceptions import DeltaError

        path = self._table(predicate)
        table = existing_table(path)
        if table is None:
            return False
        if any(_columns(table) != _fields(side.schema) or _has_nan(side) for side in (gone, new) if side.num_rows):
            return False
        try:
            _merge(table, gone, new, again=again)
            if table.version() % _COMPACT_EVERY == 0:
                table.optimize.compact()
        except DeltaError as error:
            raise not_published(f"cannot change {path}: {error}") from None
        return True

    def _table(self, predicate: str) -> Path:
        return self._path / file_name(predicate, DELTA)


def _merge(table: DeltaTable, gone: pa.Table, new: pa.Table, *, again: bool) -> None:
    """Remove rows and add others, in one commit; with `again`, those that are there already are not added."""
    names = (gone if gone.num_rows else new).column_names
    if not gone.num_rows and not again:
        with optional_package("deltalake", "a Delta table"):
            from deltalake import write_deltalake

        write_deltalake(table, new, mode="append")
        return
    sides = [
        side.append_column(_GONE, pa.array([flag] * side.num_rows, pa.bool_()))
        for side, flag in ((gone, True), (new, False))
        if side.num_rows
    ]
    quoted = {name: f'"{name}"' for name in names}
    same = " AND ".join(f"target.{name} = source.{name}" for name in quoted.values())
    merging = table.merge(pa.concat_tables(sides), same, source_alias="source", target_alias="target")
    merging.when_matched_delete(f'source."{_GONE}"').when_not_matched_insert(
        {name: f"source.{quoted[name]}" for name in names}, f'NOT source."{_GONE}"'
    ).execute()


def _has_nan(table: pa.Table) -> bool:
    """Nothing equals NaN, so no row with it can be found again."""
    doubles = [column for column in table.columns if pa.types.is_floating(column.type)]
    return any(math.isnan(value) for column in doubles for value in column.unique().to_pylist())
