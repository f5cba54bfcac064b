"""Publishing one relation to one place, as the knowledge base uses it."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from corollary.engines.spark.publish.decoded import Decoded, argument_names
from corollary.engines.spark.publish.files import (
    SINGLE_FILE_ROWS,
    FileOutput,
    publishing,
    write_files,
    write_parts,
    write_remotely,
)
from corollary.engines.spark.relations import Frame
from corollary.engines.spark_session.arrow_frames import frame_of_table
from corollary.io.atomic import unwritable
from corollary.io.databases import JDBC
from corollary.io.databases.jdbc import JdbcTable
from corollary.io.databases.jdbc import write as write_table_of_database
from corollary.io.delta import commit, new_folder, unit_table, write_table
from corollary.io.formats import DELTA
from corollary.io.options import option_error
from corollary.io.places import local_path, remote_address
from corollary.io.write import check_mode, writable_format

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from corollary.engines.spark.context import Context


def decoded_frame(context: Context, frame: Frame, names: Sequence[str] | None = None) -> DataFrame:
    """Return a relation as a data frame of values in the caller's session; without `names`, its columns are `a1`, `a2` …"""
    return context.for_caller(_decoded(context, frame, names).df)


def write_frame(
    context: Context,
    frame: Frame,
    path: str | os.PathLike[str],
    *,
    names: Sequence[str] | None = None,
    **options: Any,
) -> int:
    """Write a relation and return the number of its rows; the options are those of `write_decoded`."""
    return write_decoded(_decoded(context, frame, names), path, **options)


def write_decoded(
    rows: Decoded,
    path: str | os.PathLike[str],
    *,
    form: str | None = None,
    header: bool = False,
    predicate: str | None = None,
    mode: str | None = None,
    single_file_rows: int = SINGLE_FILE_ROWS,
    database: Mapping[str, str | None] | None = None,
) -> int:
    """Write rows as `corollary.io.write.write_result` would, and return their number.

    A path may be an address of a file system that Spark reaches, or one of a database (`jdbc:postgresql:…`); `database` has the
    options `table`, `user`, `password`, `driver` and `jar` for the latter. `mode` is for Delta tables and databases.
    """
    given = os.fspath(path)
    if given.startswith(JDBC):
        options = {key: value for key, value in (database or {}).items() if value is not None}
        if "table" not in options:
            raise option_error('a database needs table = "…"', None)
        return write_jdbc(rows, JdbcTable(url=given, **options), mode=mode or "overwrite")
    remote = remote_address(given)
    target = Path(local_path(given))
    chosen = writable_format(target, form)
    check_mode(chosen, mode)
    if chosen is DELTA:
        if remote is not None:
            raise unwritable(f"publish: cannot write {remote}: Delta tables are written to directories of this machine")
        return write_delta(rows, target, mode=mode or "overwrite")
    output = FileOutput(target, chosen, header, predicate, single_file_rows)
    return write_files(rows, output) if remote is None else write_remotely(rows, output, remote)


def write_jdbc(rows: Decoded, table: JdbcTable, *, mode: str = "overwrite") -> int:
    """Write a relation into a table of a database and return the number of its rows."""
    spark = rows.context.spark
    with publishing(f"table {table.table}"):
        df = rows.df if rows.frame.arity else frame_of_table(spark, unit_table(rows.summary.rows))
        write_table_of_database(spark, df, table, mode=mode)
    return rows.summary.rows


def write_delta(rows: Decoded, path: Path, *, mode: str = "overwrite") -> int:
    """Write a relation into a Delta table in one commit and return the number of its rows.

    Tasks write Parquet into a new folder of the table.
    """
    count = rows.summary.rows
    if not rows.frame.arity:
        write_table(unit_table(count).select([]), path, mode=mode)
        return count
    with new_folder(path, rows.schema, mode) as folder, publishing(path):
        files = [part for part, number in write_parts(rows, folder).items() if number] if count else []
        for other in set(folder.iterdir()) - set(files):
            other.unlink()  # Spark's success markers and checksums, and parts without rows
        commit(path, rows.schema, files, mode)
    return count


def _decoded(context: Context, frame: Frame, names: Sequence[str] | None) -> Decoded:
    return Decoded(context, frame, argument_names(frame.arity) if names is None else list(names))
