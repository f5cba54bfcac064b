"""The stage as the knowledge base sees it: one relation to one place."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from corollary.engines.spark.publish.decoded import Decoded, argument_names
from corollary.engines.spark.publish.files import SINGLE_FILE_ROWS, FileOutput, write_files, write_remotely
from corollary.engines.spark.publish.places import unwritable
from corollary.engines.spark.publish.remote_places import local_path, remote_address
from corollary.engines.spark.relations import Frame
from corollary.sources.formats import Format
from corollary.sources.options import option_error
from corollary.sources.write import check_mode, writable_format

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from corollary.engines.spark.context import Context


def decoded_frame(context: Context, frame: Frame, names: Sequence[str] | None = None) -> DataFrame:
    """A relation as a data frame of values, whose columns are called `a1`, `a2` … where no names are given."""
    return _decoded(context, frame, names).df


def create_view(context: Context, frame: Frame, predicate: str) -> str:
    """A temporary view of a relation with the columns `a1`, `a2` …; gives its name as texts of Spark SQL take it."""
    return _decoded(context, frame, None).view(predicate)


def write_frame(
    context: Context,
    frame: Frame,
    path: str | os.PathLike[str],
    *,
    names: Sequence[str] | None = None,
    **options: Any,
) -> int:
    """Writes a relation and gives the number of its rows; the options are those of `write_decoded`."""
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
    """Writes rows as `corollary.sources.write.write_result` would, and gives their number.

    A path may be an address of a file system that Spark reaches, or one of a database (`jdbc:postgresql:…`); `database` has the
    options `table`, `user`, `password`, `driver` and `jar` for the latter. `mode` is for Delta tables and databases.
    """
    given = os.fspath(path)
    if given.startswith("jdbc:"):
        from corollary.engines.spark.publish.jdbc import JdbcTable, write_jdbc

        options = {key: value for key, value in (database or {}).items() if value is not None}
        if "table" not in options:
            raise option_error('a database needs table = "…"', None)
        return write_jdbc(rows, JdbcTable(url=given, **options), mode=mode or "overwrite")
    remote = remote_address(given)
    target = Path(local_path(given))
    chosen = writable_format(target, form)
    check_mode(chosen, mode)
    if chosen is Format.DELTA:
        if remote is not None:
            raise unwritable(f"publish: cannot write {remote}: Delta tables are written to directories of this machine")
        from corollary.engines.spark.publish.delta import write_delta

        return write_delta(rows, target, mode=mode or "overwrite")
    output = FileOutput(target, chosen, header, predicate, single_file_rows)
    return write_files(rows, output) if remote is None else write_remotely(rows, output, remote)


def _decoded(context: Context, frame: Frame, names: Sequence[str] | None) -> Decoded:
    return Decoded(context, frame, argument_names(frame.arity) if names is None else list(names))
