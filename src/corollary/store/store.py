"""A knowledge base in a directory: its versions, and how a new one comes.

Everything that a version needs is on the disk before its manifest is. Small changes are part of their manifest; when there are
many of them, they are folded into the tables, as part of the next version.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import time
import uuid
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import pyarrow as pa

from corollary.diagnostics import catalogue
from corollary.engines.spark.terms.ids import CollisionTable
from corollary.engines.spark.terms.task_universe import TERM_FIELDS
from corollary.io.delta import DeltaFile
from corollary.program.arities import sized
from corollary.reasoning.run import Run
from corollary.store.delta_folder import TableVersion
from corollary.store.files import ASIDE, read_parquet, sync_folder, write_exclusively, write_parquet
from corollary.store.manifest import (
    FORMAT,
    Counts,
    Manifest,
    VersionFiles,
    VersionMetadata,
    check_format,
    follow,
    meaning_of,
    new_salts,
    rows_of_meaning,
)
from corollary.store.parts import StoredChange, from_json, from_table, merged, to_json, to_table
from corollary.store.problems import damaged, naming_what_cannot_be_read, naming_what_cannot_be_written, problem
from corollary.store.tables import Tables, facts_of_file

# -- tidying -----------------------------------------------------------------------------------------------------------

# Finds leftovers in the directory of a store: files of no version, left by a process that died, or no longer needed.


def remove_leftovers(versions: VersionFiles, tables: Tables, newest: int, keep: Collection[str]) -> None:
    """Remove what was written for versions that never came. Nobody else writes now; `keep` are files of the next version."""
    _remove_asides(versions.folder)
    for file in versions.folder.glob("*-*.parquet"):
        if int(file.name.split("-")[1]) > newest and file.name not in keep:
            file.unlink()
    folders = {folder for table in tables.by_name.values() for folder in table.path.glob("v*-*")}
    suspects = [folder for folder in folders if _number(folder) > newest]
    # Of a version that was forgotten, files may be in use all the same.
    numbers = {_number(folder) for folder in folders} & set(versions.numbers())
    known = {manifest.version: manifest.folder for manifest in versions.read(numbers)}
    suspects += [folder for folder in folders if known.get(_number(folder), folder.name) != folder.name]
    for folder in suspects:
        shutil.rmtree(folder, ignore_errors=True)


def _number(folder: Path) -> int:
    """The version that a folder of a table was written for."""
    return int(folder.name[1:11])


def _remove_asides(folder: Path) -> None:
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.startswith(ASIDE):
                Path(entry.path).unlink(missing_ok=True)


def forget_versions(versions: VersionFiles, tables: Tables, keep: int) -> int:
    """Forget all but the last versions with the files that only they need; return the bytes of these."""
    numbers = versions.numbers()
    kept = versions.read(numbers[-max(1, keep) :])
    first = min(manifest.folded for manifest in kept)
    kept += versions.read(number for number in numbers if first < number < kept[0].version)
    used = {versions.folder / name for manifest in kept for name in manifest.files}
    for name, table in tables.by_name.items():
        for version in {manifest.tables[name] for manifest in kept}:
            used |= {table.path / file.name for file in table.files(version)}
    versions.forget(number for number in numbers if number < min(one.version for one in kept))
    freed = 0
    for folder in (versions.folder, *(table.path for table in tables.by_name.values())):
        for file in folder.glob("**/*.parquet"):
            if file not in used and "_delta_log" not in file.parts:
                freed += file.stat().st_size
                file.unlink()
        sync_folder(folder)
    return freed


# -- store -------------------------------------------------------------------------------------------------------------

_MARKER = "corollary.json"
"""The file that makes a directory a knowledge base: what it is, its format, and its identity."""
_KIND = "knowledge base"
_PATIENCE = 30.0  # seconds that a commit waits for that of another process
_INLINE_ROWS = 1_000  # more changes than that go to a file of their own
_FOLD_VERSIONS = 512
_FOLD_ROWS = 50_000
_NO_TABLES = dict.fromkeys(("facts", "changes", "terms", "program"), TableVersion())


@dataclass(frozen=True)
class Base:
    """All facts of a version, with other owners than it has on the disk: files that wait in a folder of the tables."""

    folder: str
    facts: list[DeltaFile]
    meaning: VersionMetadata


@dataclass(frozen=True)
class Whole:
    """All facts of the next version, where the changes would be more: `facts` and `terms` write them into a folder of the
    tables."""

    facts: Callable[[str], list[DeltaFile]]
    terms: Callable[[str], list[DeltaFile]]
    counts: Counts
    collisions: Callable[[], CollisionTable]
    """The constants that have another id than their hash, of which writing may find some."""


@dataclass
class Commit:
    """The changes that make up the next version."""

    cause: str
    parts: list[StoredChange]
    terms: pa.Table
    counts: Counts
    meaning: VersionMetadata
    files: list[str] = field(default_factory=list)
    """Files of more changes and terms, which are in the folder of versions already."""
    rows_in_files: int = 0
    base: Base | None = None
    """What the changes start from, where that is not how the version before has its facts."""
    whole: Whole | None = None
    """All facts, in place of changes."""


class Store:
    """One directory. `head` is the version that this object has read or written last."""

    def __init__(self, path: Path, head: Manifest, meaning: VersionMetadata, recent: list[Manifest]) -> None:
        self.path = path
        self.versions = VersionFiles(path / "versions")
        self.tables = Tables(path)
        self.head = head
        self.meaning = meaning
        self._recent = recent  # the versions that are not folded into the tables of the head
        self._recent_rows = sum(_rows_of(manifest) for manifest in recent)
        self._is_tidy = False

    @property
    def version(self) -> int:
        return self.head.version

    @cached_property
    def identity(self) -> str:
        """The identity of this store, which no other store has and which it keeps when it is moved."""
        return str(_read_marker(self.path).get("identity", ""))

    # -- beginnings --------------------------------------------------------------------------------------------------

    @classmethod
    def create(cls, path: Path) -> Store:
        """Make a new store without a version; `write_anew` makes the first."""
        if path.exists() and (not path.is_dir() or any(path.iterdir())):
            hint = "KnowledgeBase.open(…) opens it" if (path / _MARKER).exists() else "choose another directory"
            raise problem(catalogue.PLACE_TAKEN, f"{path} is not empty", hint)
        with naming_what_cannot_be_written(path):
            (path / "versions").mkdir(parents=True)
            _write_marker(path)
            (path / "lock").touch()
        return cls(path, Manifest(0, "", 0, dict(_NO_TABLES)), VersionMetadata(), [])

    @staticmethod
    def checked_place(path: Path) -> Path:
        """Return the path; raise `ProgramError` if it holds no knowledge base with a version."""
        if not (path / _MARKER).is_file():
            if not path.exists():
                raise problem(catalogue.NO_STORE, f"there is no {path}")
            raise problem(catalogue.NO_STORE, f"{path} holds no knowledge base", "`corollary init` creates one")
        _read_marker(path)
        try:
            has_versions = bool(VersionFiles(path / "versions").numbers())
        except OSError as error:
            raise problem(catalogue.DAMAGED_STORE, f"cannot read {path}: {error.strerror}") from None
        if not has_versions:
            raise problem(
                catalogue.NO_STORE, f"{path} was not created completely", "remove the directory and create it again"
            )
        return path

    @classmethod
    def open(cls, path: Path, version: int | None = None) -> Store:
        versions = VersionFiles(cls.checked_place(path) / "versions")
        numbers = versions.numbers()
        wanted = numbers[-1] if version is None else version
        if wanted not in numbers:
            message = f"{path} has no version {wanted}"
            raise problem(catalogue.UNKNOWN_VERSION, message, f"it has versions {numbers[0]} to {numbers[-1]}")
        (head,) = versions.read([wanted])
        recent = versions.read(range(head.folded + 1, head.version + 1))
        store = cls(path, head, VersionMetadata(), recent)
        store.meaning = store._read_meaning()
        return store

    @staticmethod
    def is_store(path: Path) -> bool:
        return (path / _MARKER).is_file()

    def _read_meaning(self) -> VersionMetadata:
        meaning = meaning_of(self.tables.stored_program(self.head.tables))
        for manifest in self._recent:
            follow(meaning, manifest)
        if meaning.settings.get("mixed_arities"):
            meaning.predicates = {sized(name): arity for name, arity in meaning.predicates.items()}
        return meaning

    # -- reading -----------------------------------------------------------------------------------------------------

    def recent_parts(self) -> Iterator[StoredChange]:
        """The changes that are not in the tables yet."""
        for manifest in self._recent:
            yield from self.parts_of(manifest)

    def parts_of(self, manifest: Manifest) -> Iterator[StoredChange]:
        """The changes of support that a version recorded."""
        yield from from_json(manifest.changes)
        for name in manifest.files:
            if name.startswith("changes"):
                yield from from_table(read_parquet(self.versions.folder / name))

    def all_parts(self, wanted: Callable[[str], bool]) -> list[StoredChange]:
        """Return all support of facts of some predicates."""
        tables = self.head.tables
        parts = [
            facts_of_file(facts.predicate, facts.owner, file)
            for facts in self.tables.stored_facts(tables)
            if wanted(facts.predicate)
            for file in facts.files
        ]
        changes = [part for part in self.tables.stored_changes(tables) if wanted(part.predicate)]
        return merged([*parts, *changes, *(part for part in self.recent_parts() if wanted(part.predicate))])

    def all_terms(self) -> pa.Table:
        return pa.concat_tables([self.tables.stored_terms(self.head.tables), *map(self.terms_of, self._recent)])

    def recent_terms(self) -> pa.Table:
        """The constants that are not in the tables yet."""
        return pa.concat_tables([TERM_FIELDS.empty_table(), *map(self.terms_of, self._recent)])

    def terms_of(self, manifest: Manifest) -> pa.Table:
        """The constants that came with a version."""
        columns = zip(*manifest.terms, strict=True) if manifest.terms else ([], [], [], [])
        tables = [pa.table([pa.array(column) for column in columns], schema=TERM_FIELDS)]
        files = [name for name in manifest.files if name.startswith("terms")]
        return pa.concat_tables(
            [*tables, *(read_parquet(self.versions.folder / name).cast(TERM_FIELDS) for name in files)]
        )

    # -- writing -----------------------------------------------------------------------------------------------------

    def commit(self, commit: Commit) -> None:
        """Write the next version, on the disk when this returns; a `ProgramError` leaves the store as it was."""
        with self._writing():
            self.check_newest()
            number, meaning = self.version + 1, commit.meaning
            rows = sum(part.rows for part in commit.parts)
            total = self._recent_rows + rows + commit.rows_in_files
            has_files = commit.base is not None or commit.whole is not None
            folds = not has_files and (len(self._recent) + 1 >= _FOLD_VERSIONS or total >= _FOLD_ROWS)
            if folds:
                self._tidy(commit.files)
            manifest = self._manifest(number, commit, rows)
            if folds:
                manifest = self._folded(manifest, commit)
            if commit.base is not None:
                manifest = self._based(manifest, commit.base)
                self._recent, total = [], rows + commit.rows_in_files
            if commit.whole is not None:
                manifest, meaning = self._with_whole(manifest, commit.whole, meaning)
            self._add(manifest)
            is_folded = manifest.folded == number
            self._recent = [] if is_folded else [*self._recent, manifest]
            self._recent_rows = 0 if is_folded else total
            self.head, self.meaning = manifest, meaning
            if is_folded:
                with suppress(OSError):  # the version is there: nothing may fail any more
                    self.versions.pack(number - 1)

    def _manifest(self, number: int, commit: Commit, rows: int) -> Manifest:
        folder, meaning = self.versions.folder, commit.meaning
        before = self.meaning if commit.base is None else commit.base.meaning
        files = list(commit.files)
        if rows > _INLINE_ROWS:
            files.append(write_parquet(folder, f"changes-{number:010}", to_table(commit.parts)).name)
        if commit.terms.num_rows > _INLINE_ROWS:
            files.append(write_parquet(folder, f"terms-{number:010}", commit.terms).name)
        few = commit.terms if commit.terms.num_rows <= _INLINE_ROWS else TERM_FIELDS.empty_table()
        return Manifest(
            number,
            commit.cause,
            self.head.folded,
            self.head.tables,
            commit.counts,
            changes=to_json(commit.parts) if rows <= _INLINE_ROWS else [],
            terms=[list(row.values()) for row in few.to_pylist()],
            files=files,
            program=meaning.program if meaning.program != before.program else None,
            settings=meaning.settings if meaning.settings != before.settings else None,
            predicates={name: arity for name, arity in meaning.predicates.items() if name not in before.predicates},
            salts=new_salts(meaning.collisions, before.collisions),
            marks=meaning.marks if meaning.marks != before.marks else None,
        )

    def new_folder(self) -> str:
        """The name of a folder of each table for files of the next version."""
        return _new_folder(self.version + 1)

    def _based(self, manifest: Manifest, base: Base) -> Manifest:
        """Write the facts from which the changes of this version start into the tables; return its manifest with their new
        versions."""
        if not all((self.tables.facts.path / file.name).is_file() for file in base.facts):
            message = f"{self.path} was compacted by another process while a change was being prepared"
            raise problem(catalogue.STORE_CONFLICT, message, "open it again and repeat the change")
        tables, _ = self._rewritten(base.folder, lambda _: base.facts, lambda _: [], lambda: base.meaning)
        return replace(manifest, folded=manifest.version - 1, tables=tables, folder=base.folder)

    def _with_whole(
        self, manifest: Manifest, whole: Whole, meaning: VersionMetadata
    ) -> tuple[Manifest, VersionMetadata]:
        """Write all facts of this version into the tables; return its manifest with their new versions, and its metadata."""
        self._tidy()
        folder = _new_folder(manifest.version)

        def known_now() -> VersionMetadata:
            return replace(meaning, collisions=whole.collisions())

        tables, meaning = self._rewritten(folder, whole.facts, whole.terms, known_now)
        return replace(manifest, folded=manifest.version, tables=tables, folder=folder, is_anew=True), meaning

    def _rewritten(
        self,
        folder: str,
        facts: Callable[[str], list[DeltaFile]],
        terms: Callable[[str], list[DeltaFile]],
        meaning: Callable[[], VersionMetadata],
    ) -> tuple[dict[str, TableVersion], VersionMetadata]:
        """Return the versions of the tables with these facts and no others, and with what else the version says.

        `facts` and `terms` write files into a folder of the tables; the rest is asked for when they are written.
        """
        tables = self.head.tables
        self.tables.take_back(tables)
        tables = self.tables.replace_facts(folder, tables, facts(folder))
        # Constants stay for ever: versions that were before may need them.
        tables = self.tables.add_terms(folder, tables, self.recent_terms(), terms(folder))
        found = meaning()
        return self.tables.replace_program(folder, tables, rows_of_meaning(found)), found

    def _folded(self, manifest: Manifest, commit: Commit) -> Manifest:
        """Fold everything up to this version into the tables; return its manifest with their new versions."""
        folder, tables = _new_folder(manifest.version), self.head.tables
        self.tables.take_back(tables)
        versions = [*self._recent, manifest]
        tables = self.tables.add_terms(folder, tables, pa.concat_tables(map(self.terms_of, versions)))
        parts = [part for version in versions for part in self.parts_of(version)]
        tables = self.tables.add_changes(folder, tables, parts)
        tables = self.tables.replace_program(folder, tables, rows_of_meaning(commit.meaning))
        return replace(manifest, folded=manifest.version, tables=tables, folder=folder)

    def write_anew(
        self,
        cause: str,
        facts: Callable[[str], list[DeltaFile]],
        terms: Callable[[str], list[DeltaFile]],
        meaning: Callable[[], VersionMetadata],
        counts: Callable[[], Counts],
        run: Run,
        *,
        is_anew: bool = True,
    ) -> None:
        """Write a version with all facts rewritten into its tables; `facts` and `terms` write files into a folder of these.

        The rest is asked for when they are written. Without `is_anew` the version says the same as the one before.
        """
        with self._writing():
            self.check_newest()
            self._tidy()
            number = self.version + 1
            folder = _new_folder(number)
            tables, found = self._rewritten(folder, facts, terms, meaning)
            manifest = Manifest(number, cause, number, tables, counts(), folder=folder, is_anew=is_anew)
            run.check()
            run.seal()
            self._add(manifest)
            self.head, self.meaning, self._recent, self._recent_rows = manifest, found, [], 0

    @contextmanager
    def _writing(self) -> Iterator[None]:
        with _locked(self.path), naming_what_cannot_be_written(self.path):
            try:
                yield
            except BaseException:
                self._is_tidy = False  # files may have been left behind
                raise

    def check_newest(self) -> None:
        """Raise `ProgramError` if somebody else has written a version since this object has read or written one."""
        latest = self.versions.latest()
        if latest != self.version:
            message = f"{self.path} is at version {latest}, but this knowledge base is at version {self.version}"
            hint = "another process has changed it; open it again and repeat the change"
            raise problem(catalogue.STORE_CONFLICT, message, hint)

    def _add(self, manifest: Manifest) -> None:
        try:
            self.versions.add(manifest)
        except FileExistsError:
            message = f"another process has written version {manifest.version} of {self.path}"
            raise problem(catalogue.STORE_CONFLICT, message, "open it again and repeat the change") from None

    # -- tidying up --------------------------------------------------------------------------------------------------

    def _tidy(self, keep: Collection[str] = ()) -> None:
        if not self._is_tidy:
            remove_leftovers(self.versions, self.tables, self.version, keep)
            self._is_tidy = True

    def vacuum(self, keep: int = 1) -> int:
        """Forget all but the last versions, and return the bytes that were freed."""
        with self._writing():
            self.check_newest()
            self._tidy()
            return forget_versions(self.versions, self.tables, keep)


def _new_folder(version: int) -> str:
    return f"v{version:010}-{uuid.uuid4().hex[:8]}"


def _rows_of(manifest: Manifest) -> int:
    return sum(len(part[3]) for part in manifest.changes) + (_FOLD_ROWS // 4 if manifest.files else 0)


def _write_marker(path: Path) -> None:
    marker = {"corollary": _KIND, "format": FORMAT, "identity": uuid.uuid4().hex}
    write_exclusively(path / _MARKER, json.dumps(marker).encode() + b"\n")


def _read_marker(path: Path) -> dict[str, Any]:
    """Return the content of the marker file of a directory. Raise where this version cannot read it."""
    file = path / _MARKER
    with naming_what_cannot_be_read(file):
        data = file.read_bytes()
    try:
        marker = json.loads(data)
    except ValueError:
        marker = None
    if not isinstance(marker, dict) or marker.get("corollary") != _KIND or not isinstance(marker.get("format"), int):
        raise damaged(file, "is damaged: it does not say that this is a knowledge base")
    check_format(marker["format"], file)
    return marker


@contextmanager
def _locked(root: Path) -> Iterator[None]:
    """Be the only writer of a store; another one waits, and gets an error where that takes too long.

    Readers never ask: a version that is there does not change any more.
    """
    file = root / "lock"
    with naming_what_cannot_be_written(file):
        handle = os.open(file, os.O_RDWR | os.O_CREAT, 0o666)
    try:
        _wait(handle, root)
        yield
    finally:
        os.close(handle)


def _wait(handle: int, root: Path) -> None:
    until = time.monotonic() + _PATIENCE
    while True:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            if time.monotonic() > until:
                message = f"{root} is being written by another process"
                raise problem(catalogue.STORE_CONFLICT, message, "nothing was changed; try again later") from None
            time.sleep(0.002)
