"""Inputs as files, written once into `benchmarks/.cache`.

Each input is a folder of its own with all rows in `full` and the first rows of each relation in `sample`. The folder's name
holds a digest of the definitions, so that changed definitions give new files.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from hashlib import sha256
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks import data, lubm

CACHE = Path(__file__).with_name(".cache")
_SAMPLE_ROWS = 300  # at most, and never more than a quarter


def input_directory(name: str, cache: Path = CACHE) -> Path:
    """The folder of an input, which is written if it is not there."""
    inputs = cache / "inputs"
    directory = inputs / f"{name}-{_digest(name)}"
    if not directory.exists():
        prepare(cache)
        unfinished = inputs / f"unfinished-{name}"
        for old in (unfinished, *inputs.glob(f"{name}-" + "?" * 12)):
            shutil.rmtree(old, ignore_errors=True)
        (unfinished / "full").mkdir(parents=True)
        (unfinished / "sample").mkdir()
        if name.startswith("lubm-"):
            _write_tables(unfinished, lubm.universities(int(name.removeprefix("lubm-"))))
        else:
            _write_rows(unfinished, data.INPUTS[name]())
        unfinished.rename(directory)
    return directory


def prepare(cache: Path = CACHE) -> Path:
    """Makes the folder, which version control does not see."""
    cache.mkdir(parents=True, exist_ok=True)
    (cache / ".gitignore").write_text("*\n", encoding="utf-8")
    return cache


def _digest(name: str) -> str:
    module = lubm if name.startswith("lubm-") else data
    return sha256(Path(str(module.__file__)).read_bytes()).hexdigest()[:12]


def _write_rows(directory: Path, relations: data.Relations) -> None:
    for predicate, rows in relations.items():
        lines = ["\t".join(map(str, row)) + "\n" for row in rows]
        (directory / "full" / f"{predicate}.tsv").write_text("".join(lines), encoding="utf-8")
        sample = lines[: min(_SAMPLE_ROWS, len(lines) // 4)]
        (directory / "sample" / f"{predicate}.tsv").write_text("".join(sample), encoding="utf-8")


def _write_tables(directory: Path, parts: Iterable[dict[str, pa.Table]]) -> None:
    writers: dict[str, pq.ParquetWriter] = {}
    try:
        for tables in parts:
            for predicate, table in tables.items():
                if predicate not in writers:
                    writers[predicate] = pq.ParquetWriter(directory / "full" / f"{predicate}.parquet", table.schema)
                    sample = table.slice(0, min(_SAMPLE_ROWS, max(1, len(table) // 4)))
                    pq.write_table(sample, directory / "sample" / f"{predicate}.parquet")
                writers[predicate].write_table(table)
    finally:
        for writer in writers.values():
            writer.close()
