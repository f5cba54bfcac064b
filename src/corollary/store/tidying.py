"""Finds leftovers in the directory of a store: files of no version, left by a process that died, or no longer needed."""

from __future__ import annotations

import os
import shutil
from collections.abc import Collection
from pathlib import Path

from corollary.store.files import ASIDE, sync_folder
from corollary.store.manifest import VersionFiles
from corollary.store.tables import Tables


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
