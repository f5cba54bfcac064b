"""One Delta table of a store: Corollary writes the files, deltalake commits the log.

If a process dies before it writes the manifest, the table has versions that no manifest names. Readers ignore them, and the
next writer rolls them back first.
"""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from corollary.diagnostics import ProgramError, catalogue
from corollary.diagnostics.packages import optional_package
from corollary.io.delta import DeltaFile, files_of
from corollary.store.files import digest_of, sync_file, sync_folder
from corollary.store.problems import damaged, naming_what_cannot_be_written, problem, unwritable

if TYPE_CHECKING:
    from deltalake import DeltaTable

_LOG = "_delta_log"
_CHECKPOINT_EVERY = 50
_KEEPS_EVERYTHING = {"delta.logRetentionDuration": "interval 36500 days", "delta.enableExpiredLogCleanup": "false"}
NO_VERSION = -1


@dataclass(frozen=True)
class TableVersion:
    """The version of a table as a manifest records it: its number, and a digest of the names of its files, whose own digests are
    elsewhere."""

    number: int = NO_VERSION
    digest: str = ""
    contents: str = ""
    """A digest of all that the log says of the files, for the files do not say whose facts they have; older stores have none."""


class DeltaFolder:
    """A table below the directory of a store; its first commit makes it."""

    def __init__(self, path: Path, partition_by: Sequence[str] = ()) -> None:
        self.path = path
        self._partition_by = list(partition_by)
        self._table: DeltaTable | None = None

    # -- reading -----------------------------------------------------------------------------------------------------

    def files(self, version: TableVersion) -> list[DeltaFile]:
        """Return the files of a version, checked against what the manifest says."""
        if version.number == NO_VERSION:
            return []
        found = self._listed(self._at(version.number))
        if _digest(found) != version.digest:
            raise self._damaged(version.number, "the table does not have the files it should have")
        if version.contents and _digest_of_contents(found) != version.contents:
            raise self._damaged(version.number, "its entries about the files are not those that were written")
        return found

    def _damaged(self, number: int, why: str) -> ProgramError:
        return damaged(self.path / _LOG / f"{number:020}.json", f"or a log before it is damaged: {why}")

    def _at(self, number: int) -> DeltaTable:
        deltalake, errors = _deltalake()
        try:
            table: DeltaTable = deltalake.DeltaTable(str(self.path), version=number)
        except (errors, OSError) as error:
            raise self._damaged(number, str(error).partition("\n")[0]) from None
        return table

    def _listed(self, table: DeltaTable) -> list[DeltaFile]:
        _, errors = _deltalake()
        try:
            files = files_of(table, self._partition_by)
        except (errors, pa.ArrowException, ValueError, KeyError, TypeError) as error:
            raise self._damaged(table.version(), str(error).partition("\n")[0]) from None
        if any(file.rows < 0 or not all(isinstance(one, str) for one in file.values.values()) for file in files):
            raise self._damaged(
                table.version(), "it does not say to whom the facts of a file belong, and how many there are"
            )
        return files

    # -- writing -----------------------------------------------------------------------------------------------------

    def take_back(self, version: TableVersion) -> None:
        """Make the newest version equal to the manifest; an unfinished version after it is dropped."""
        if version.number == NO_VERSION:
            if self.path.exists():
                with naming_what_cannot_be_written(self.path):
                    shutil.rmtree(self.path)
            return
        newest = self._newest()
        if newest.version() != version.number and _digest(self._listed(newest)) != version.digest:
            newest.restore(version.number, ignore_missing_files=True)
            self._sync(newest.version())
        self._table = newest

    def _newest(self) -> DeltaTable:
        deltalake, errors = _deltalake()
        try:
            table: DeltaTable = deltalake.DeltaTable(str(self.path))
        except (errors, OSError) as error:
            raise damaged(self.path / _LOG, f"is not a readable log: {str(error).partition(chr(10))[0]}") from None
        return table

    def commit(self, schema: pa.Schema, add: Sequence[DeltaFile], remove: Iterable[DeltaFile] = ()) -> TableVersion:
        """Add and remove files in one step, on the disk when this returns. The files themselves are there already."""
        _, errors = _deltalake()
        try:
            table = self._committed(schema, add, remove)
        except errors as error:
            raise problem(catalogue.UNWRITABLE_STORE, f"cannot commit to {self.path}: {error}") from None
        except OSError as error:
            raise unwritable(self.path, error) from None
        self._table = table
        self._sync(table.version())
        found = self._listed(table)
        return TableVersion(table.version(), _digest(found), _digest_of_contents(found))

    def _committed(self, schema: pa.Schema, add: Sequence[DeltaFile], remove: Iterable[DeltaFile]) -> DeltaTable:
        with optional_package("deltalake", "a knowledge base in a directory"):
            from deltalake import DeltaTable, PostCommitHookProperties, Schema
            from deltalake.transaction import AddAction, RemoveAction, create_table_with_add_actions

        now = int(time.time() * 1000)
        hook = PostCommitHookProperties(create_checkpoint=False, cleanup_expired_logs=False)
        added = [
            AddAction(one.name, (self.path / one.name).stat().st_size, dict(one.values), now, True, _statistics(one))
            for one in add
        ]
        if self._table is None and not (self.path / _LOG).exists():
            create_table_with_add_actions(
                str(self.path), Schema.from_arrow(schema), added, "error", self._partition_by,
                configuration=_KEEPS_EVERYTHING, post_commithook_properties=hook,
            )  # fmt: skip
            return DeltaTable(str(self.path))
        table = self._table if self._table is not None else self._newest()
        self._widen(table, schema)
        removed = [RemoveAction(one.name, True, now, None, dict(one.values)) for one in remove]
        table.create_write_transaction(
            [*added, *removed], "append", table.schema(), self._partition_by, post_commithook_properties=hook
        )
        table.update_incremental()
        return table

    def _widen(self, table: DeltaTable, schema: pa.Schema) -> None:
        """Facts with more arguments than any before need more columns."""
        with optional_package("deltalake", "a knowledge base in a directory"):
            from deltalake import Field, Schema

        known = {column.name for column in table.schema().fields}
        new = [column for column in Schema.from_arrow(schema).fields if column.name not in known]
        if new:
            table.alter.add_columns([Field(column.name, column.type, nullable=True) for column in new])
            table.update_incremental()
            self._sync(table.version())

    def _sync(self, version: int) -> None:
        log = self.path / _LOG
        with naming_what_cannot_be_written(log):
            sync_file(log / f"{version:020}.json")
            if version and version % _CHECKPOINT_EVERY == 0 and self._table is not None:
                self._table.create_checkpoint()
                for file in log.glob(f"{version:020}.checkpoint*"):
                    sync_file(file)
                sync_file(log / "_last_checkpoint")
            sync_folder(log)
            sync_folder(self.path)


def _statistics(file: DeltaFile) -> str:
    return json.dumps({"numRecords": file.rows})


def _digest(files: Iterable[DeltaFile]) -> str:
    return digest_of(json.dumps(sorted(file.name for file in files)).encode())


def _digest_of_contents(files: Iterable[DeltaFile]) -> str:
    described = sorted([file.name, file.rows, sorted(file.values.items())] for file in files)
    return digest_of(json.dumps(described).encode())


def _deltalake() -> tuple[Any, type[Exception]]:
    with optional_package("deltalake", "a knowledge base in a directory"):
        import deltalake
        from deltalake.exceptions import DeltaError
    return deltalake, DeltaError
