"""Published results as Delta tables in a directory, for Spark, DuckDB, Polars, pandas and everything else that reads them."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from corollary.diagnostics import Diagnostic, ProgramError, catalogue
from corollary.sources.atomic import replacing
from corollary.sources.delta import has_columns, write_table
from corollary.sources.formats import Format, file_name
from corollary.store.publishing import Mark

if TYPE_CHECKING:
    from deltalake import DeltaTable

_MARK = "corollary.json"
_GONE = "corollary gone"
_COMPACT_EVERY = 50


class DeltaTables:
    """A directory with `<predicate>.delta` for each predicate. Each table changes in a commit of its own, the mark comes last."""

    def __init__(self, path: Path) -> None:
        self._path = path
        if path.exists() and not path.is_dir():
            raise _unpublished(f"cannot publish to {path}: this is a file")

    @contextmanager
    def changing(self) -> Iterator[None]:
        try:
            self._path.mkdir(parents=True, exist_ok=True)
            yield
        except OSError as error:
            raise _unpublished(f"cannot publish to {error.filename or self._path}: {error.strerror or error}") from None

    def mark(self) -> Mark | None:
        try:
            told = json.loads((self._path / _MARK).read_text(encoding="utf-8"))
            return Mark(told["store"], told["version"], tuple(told["predicates"]))
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def set_mark(self, mark: Mark) -> None:
        told = {"store": mark.store, "version": mark.version, "predicates": list(mark.predicates)}
        with replacing(self._path / _MARK) as aside:
            aside.write_text(json.dumps(told) + "\n", encoding="utf-8")

    def replace(self, predicate: str, table: pa.Table) -> None:
        write_table(table, self._table(predicate))

    def change(self, predicate: str, gone: pa.Table, new: pa.Table, *, again: bool = False) -> bool:
        from deltalake import DeltaTable
        from deltalake.exceptions import DeltaError

        path = self._table(predicate)
        if not (path / "_delta_log").is_dir():
            return False
        table = DeltaTable(str(path))
        if not all(has_columns(table, side.schema) and not _has_nan(side) for side in (gone, new) if side.num_rows):
            return False
        try:
            _merge(table, gone, new, again=again)
            if table.version() % _COMPACT_EVERY == 0:
                table.optimize.compact()
        except DeltaError as error:
            raise _unpublished(f"cannot change {path}: {error}") from None
        return True

    def _table(self, predicate: str) -> Path:
        return self._path / file_name(predicate, Format.DELTA)


def _merge(table: DeltaTable, gone: pa.Table, new: pa.Table, *, again: bool) -> None:
    """Takes rows away and adds others, in one commit; `again`: those that are there already are not added."""
    names = (gone if gone.num_rows else new).column_names
    if not gone.num_rows and not again:
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


def _unpublished(message: str) -> ProgramError:
    return ProgramError([Diagnostic(catalogue.NOT_PUBLISHED, message)])
