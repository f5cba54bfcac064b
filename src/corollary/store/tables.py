"""The tables of a store, and how facts lie in them.

`facts` has the support of every owner, a file or more for each predicate and owner. `changes` has what came since: rows of any
predicate and owner, to be added to those of `facts`. `terms` is the universe. `program` has rules, settings and the like.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from corollary.engines.spark.terms.task_universe import TERM_FIELDS
from corollary.io.delta import DeltaFile
from corollary.store.delta_folder import NO_VERSION, DeltaFolder, TableVersion
from corollary.store.files import read_parquet, sync_folder, width_of, write_parquet
from corollary.store.parts import (
    CHANGE,
    OWNER,
    PREDICATE,
    VISIBLE,
    Ids,
    StoredChange,
    columns_of,
    from_table,
    merged,
    to_table,
)

ROWS_PER_FILE = 1 << 22
_FACT_COLUMNS = [(CHANGE, pa.int32())]
_LEAST_TO_REWRITE = 100_000
_PROGRAM_FIELDS = pa.schema([("kind", pa.string()), ("name", pa.string()), ("text", pa.string())])

Versions = dict[str, TableVersion]


@dataclass(frozen=True)
class StoredFacts:
    """The facts of one predicate that one owner supports: where they are."""

    predicate: str
    owner: str
    files: tuple[Path, ...]
    rows: int


class Tables:
    """All tables of one store; what is written appears with a commit of the table, and counts with a manifest."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self.facts = DeltaFolder(root / "facts", [PREDICATE, OWNER])
        self.changes = DeltaFolder(root / "changes")
        self.terms = DeltaFolder(root / "terms")
        self.program = DeltaFolder(root / "program")
        self.by_name = {"facts": self.facts, "changes": self.changes, "terms": self.terms, "program": self.program}

    # -- reading -----------------------------------------------------------------------------------------------------

    def stored_facts(self, versions: Versions) -> list[StoredFacts]:
        found: dict[tuple[str, str], list[DeltaFile]] = {}
        for file in self.facts.files(versions["facts"]):
            found.setdefault((unescaped(file.values[PREDICATE]), unescaped(file.values[OWNER])), []).append(file)
        return [
            StoredFacts(*key, tuple(self.facts.path / file.name for file in files), sum(file.rows for file in files))
            for key, files in sorted(found.items())
        ]

    def stored_changes(self, versions: Versions) -> Iterator[StoredChange]:
        for file in self.changes.files(versions["changes"]):
            yield from from_table(read_parquet(self.changes.path / file.name))

    def stored_terms(self, versions: Versions) -> pa.Table:
        return self._whole(self.terms, versions["terms"], TERM_FIELDS)

    def stored_program(self, versions: Versions) -> list[list[str]]:
        table = self._whole(self.program, versions["program"], _PROGRAM_FIELDS)
        return [list(row.values()) for row in table.to_pylist()]

    def _whole(self, folder: DeltaFolder, version: TableVersion, schema: pa.Schema) -> pa.Table:
        tables = [read_parquet(folder.path / file.name).cast(schema) for file in folder.files(version)]
        return pa.concat_tables(tables) if tables else schema.empty_table()

    # -- writing -----------------------------------------------------------------------------------------------------

    def take_back(self, versions: Versions) -> None:
        """Forget what somebody left unfinished."""
        for name, folder in self.by_name.items():
            folder.take_back(versions[name])

    def new_folder(self, name: str, table: DeltaFolder) -> Path:
        folder = table.path / name
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    def write_facts(self, folder: str, part: StoredChange) -> list[DeltaFile]:
        """The files of what one owner supports; they are in the table when they are committed."""
        path = self.new_folder(folder, self.facts)
        values = {PREDICATE: escaped(part.predicate), OWNER: escaped(part.owner)}
        found = []
        for start in range(0, part.rows, ROWS_PER_FILE):
            rows = slice(start, start + ROWS_PER_FILE)
            columns: dict[str, Any] = {CHANGE: part.change[rows].astype(np.int32)}
            for place, name in enumerate(columns_of(part.arity)):
                columns[name] = part.ids[rows, place]
            file = write_parquet(path, "facts", pa.table(columns))
            found.append(DeltaFile(f"{folder}/{file.name}", values, len(part.change[rows])))
        sync_folder(path)
        return found

    def commit_facts(self, arity: int, add: Sequence[DeltaFile], remove: Iterable[DeltaFile] = ()) -> TableVersion:
        named = [(name, pa.int64()) for name in columns_of(arity)]
        schema = pa.schema([*_FACT_COLUMNS, *named, (PREDICATE, pa.string()), (OWNER, pa.string())])
        return self.facts.commit(schema, add, remove)

    def replace_facts(self, folder: str, versions: Versions, add: Sequence[DeltaFile]) -> Versions:
        """Rewrite all facts; no changes remain."""
        facts = self.commit_facts(self._widest(add), add, self.facts.files(versions["facts"]))
        changes = self._write_one(self.changes, folder, to_table([]), self.changes.files(versions["changes"]))
        return {**versions, "facts": facts, "changes": changes}

    def _widest(self, files: Iterable[DeltaFile]) -> int:
        """The greatest number of arguments of facts in files."""
        return max((width_of(self.facts.path / file.name) - 1 for file in files), default=0)

    def add_changes(self, folder: str, versions: Versions, parts: Sequence[StoredChange]) -> Versions:
        """Add changes; small files are merged, and all facts are rewritten when there is much of it."""
        known = self.changes.files(versions["changes"])
        stored = sum(file.rows for file in self.facts.files(versions["facts"]))
        rows, merging = sum(part.rows for part in parts), []
        for file in sorted(known, key=lambda file: file.rows):
            if file.rows <= 4 * rows:
                merging.append(file)
                rows += file.rows
        kept = sum(file.rows for file in known) + sum(part.rows for part in parts)
        if kept > max(_LEAST_TO_REWRITE, stored // 8):
            return self._rewrite(folder, versions, parts)
        old = [part for file in merging for part in from_table(read_parquet(self.changes.path / file.name))]
        together = merged([*old, *parts])
        changes = self._write_one(self.changes, folder, to_table(together).drop_columns([VISIBLE]), merging)
        return {**versions, "changes": changes}

    def _rewrite(self, folder: str, versions: Versions, parts: Sequence[StoredChange]) -> Versions:
        """Facts of predicates and owners that changed, with their changes in them."""
        known = self.changes.files(versions["changes"])
        together = merged([*self.stored_changes(versions), *parts])
        add: list[DeltaFile] = []
        remove: list[DeltaFile] = []
        files = self.facts.files(versions["facts"])
        for part in together:
            values = {PREDICATE: escaped(part.predicate), OWNER: escaped(part.owner)}
            before = [file for file in files if file.values == values]
            stored = [facts_of_file(part.predicate, part.owner, self.facts.path / file.name) for file in before]
            (whole,) = merged([*stored, part]) or (None,)
            if whole is not None and len(whole.change[whole.change != 0]):
                kept = whole.change != 0
                whole = StoredChange(
                    part.predicate, part.owner, whole.ids[kept], whole.change[kept], whole.visible[kept]
                )
                add += self.write_facts(folder, whole)
            remove += before
        arity = max((part.arity for part in together), default=0)
        facts = self.commit_facts(arity, add, remove)
        return {**versions, "facts": facts, "changes": self._write_one(self.changes, folder, to_table([]), known)}

    def add_terms(
        self, folder: str, versions: Versions, terms: pa.Table, written: Sequence[DeltaFile] = ()
    ) -> Versions:
        """Add constants, some of them in files already; small files are merged."""
        if not terms.num_rows and not written and versions["terms"].number != NO_VERSION:
            return versions
        known = self.terms.files(versions["terms"])
        merging = []
        rows = terms.num_rows
        for file in sorted(known, key=lambda file: file.rows):
            if file.rows <= 4 * rows:
                merging.append(file)
                rows += file.rows
        old = [read_parquet(self.terms.path / file.name).cast(TERM_FIELDS) for file in merging]
        add = [*self.write_rows(self.terms, folder, pa.concat_tables([*old, terms])), *written]
        return {**versions, "terms": self.terms.commit(TERM_FIELDS, add, merging)}

    def replace_program(self, folder: str, versions: Versions, rows: list[list[str]]) -> Versions:
        table = pa.table([pa.array(column, pa.string()) for column in zip(*rows, strict=True)], schema=_PROGRAM_FIELDS)
        known = self.program.files(versions["program"])
        return {**versions, "program": self._write_one(self.program, folder, table, known)}

    def _write_one(self, table: DeltaFolder, folder: str, rows: pa.Table, remove: Sequence[DeltaFile]) -> TableVersion:
        return table.commit(rows.schema, self.write_rows(table, folder, rows), remove)

    def write_rows(self, table: DeltaFolder, folder: str, rows: pa.Table) -> list[DeltaFile]:
        path = self.new_folder(folder, table)
        add = []
        for start in range(0, rows.num_rows, ROWS_PER_FILE):
            piece = rows.slice(start, ROWS_PER_FILE)
            file = write_parquet(path, table.path.name, piece)
            add.append(DeltaFile(f"{folder}/{file.name}", {}, piece.num_rows))
        sync_folder(path)
        return add


def columns_of_file(path: Path) -> tuple[Ids, list[Ids]]:
    """The counts and the columns of ids of a file of facts."""
    table = read_parquet(path)
    names = columns_of(table.num_columns - 1)
    return table.column(CHANGE).to_numpy(), [table.column(name).to_numpy() for name in names]


def facts_of_file(predicate: str, owner: str, path: Path) -> StoredChange:
    change, columns = columns_of_file(path)
    ids = np.stack(columns, axis=1) if columns else np.empty((len(change), 0), np.int64)
    return StoredChange(predicate, owner, ids, change.astype(np.int64), np.zeros(len(change), np.int8))


def escaped(name: str) -> str:
    """Names that stand in the log of a table have no zero bytes, which those of auxiliary predicates have."""
    return name.replace("\\", "\\\\").replace("\0", "\\0")


def unescaped(name: str) -> str:
    parts = name.split("\\\\")
    return "\\".join(part.replace("\\0", "\0") for part in parts)
