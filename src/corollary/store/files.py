"""Atomic files: written under a temporary name, flushed to disk, and only then renamed.

A data file carries the digest of its contents in its name, so that a flipped byte shows wherever it is read.
"""

from __future__ import annotations

import os
import re
import uuid
from hashlib import blake2b
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as parquet

from corollary.store.problems import damaged, naming_what_cannot_be_read

ASIDE = ".aside-"
"""What the name of a file starts with that nobody has committed to yet."""
_DIGEST = re.compile(r"-([0-9a-f]{32})\.[a-z]+$")
_ROW_GROUP = 1 << 20
_DICTIONARY = 1 << 26  # bytes; ids repeat, and a dictionary of them is much smaller than they are
_BLOCK = 1 << 22


def digest_of(data: Any) -> str:
    return blake2b(data, digest_size=16).hexdigest()


def sync_folder(folder: Path) -> None:
    """Flush the names in a folder to disk."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def sync_file(file: Path) -> None:
    """Flush a file that something else wrote to disk."""
    sync_folder(file)


def write_exclusively(path: Path, data: bytes) -> None:
    """Write a new file, on the disk when this returns; raise `FileExistsError` where there is one of that name."""
    aside = path.with_name(f"{ASIDE}{uuid.uuid4().hex}")
    try:
        _write_through(aside, data)
        os.link(aside, path)
    finally:
        aside.unlink(missing_ok=True)
    try:
        sync_folder(path.parent)
    except OSError:
        path.unlink()  # it may not last: as if it never was
        raise


def write_named(folder: Path, stem: str, ending: str, data: Any) -> Path:
    """Write a file `stem-digest.ending`; after writing all files of a folder, `sync_folder` makes their names last."""
    path = folder / f"{stem}-{digest_of(data)}.{ending}"
    aside = folder / f"{ASIDE}{uuid.uuid4().hex}"
    try:
        _write_through(aside, data)
        aside.replace(path)
    finally:
        aside.unlink(missing_ok=True)
    return path


def _write_through(path: Path, data: Any) -> None:
    with path.open("xb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def read_named(path: Path) -> pa.Buffer:
    """The contents of a file that `write_named` wrote; raises a diagnostic where they are not what its name says.

    They are in memory of Arrow, not of Python. Threads of Arrow may let go of them last, and one that has to free an object of
    Python while the interpreter ends takes the whole process with it ("terminate called without an active exception").
    """
    with naming_what_cannot_be_read(path), pa.OSFile(str(path)) as file:
        data: pa.Buffer = file.read_buffer()
    known = _DIGEST.search(path.name)
    if known is None or digest_of(data) != known[1]:
        raise damaged(path, "is damaged: its contents are not what was written")
    return data


def write_parquet(folder: Path, stem: str, table: pa.Table) -> Path:
    sink = pa.BufferOutputStream()
    parquet.write_table(
        table,
        sink,
        compression="zstd",
        compression_level=1,
        row_group_size=_ROW_GROUP,
        dictionary_pagesize_limit=_DICTIONARY,
        store_schema=False,
    )
    # Equal contents in one folder are two files all the same: they may be facts of different predicates.
    return write_named(folder, f"{stem}-{uuid.uuid4().hex[:8]}", "parquet", sink.getvalue())


def read_parquet(path: Path, columns: list[str] | None = None) -> pa.Table:
    data = read_named(path)
    try:
        return parquet.read_table(pa.BufferReader(data), columns=columns)
    except pa.ArrowInvalid as error:  # written by something else that knew the digest
        raise damaged(path, f"is not a readable Parquet file: {error}") from None


def width_of(path: Path) -> int:
    """The number of columns of a file that was just written."""
    return len(parquet.read_schema(path))
