"""Inputs that only these experiments have, as files below `benchmarks/.cache`, written once.

The name of a folder holds a digest of this module and of the graphs', so that changed definitions give new files.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from random import Random

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from benchmarks import data
from benchmarks.cache import CACHE, input_directory, prepare

_LINES = 250_000  # of triples that are made at once
_PROPERTIES = 5
_LANGUAGES = ("@en", "@de", "")
_INTEGER = "^^<http://www.w3.org/2001/XMLSchema#integer>"


def directory_of(name: str, write: Callable[[Path], None], cache: Path = CACHE) -> Path:
    """The folder of an input, which `write` fills if it is not there."""
    sources = [Path(__file__), Path(str(data.__file__))]
    digest = sha256(b"".join(source.read_bytes() for source in sources)).hexdigest()[:12]
    inputs = cache / "spark"
    directory = inputs / f"{name}-{digest}"
    if not directory.exists():
        prepare(cache)
        unfinished = inputs / f"unfinished-{name}"
        for old in (unfinished, *inputs.glob(f"{name}-" + "?" * 12)):
            shutil.rmtree(old, ignore_errors=True)
        unfinished.mkdir(parents=True)
        write(unfinished)
        unfinished.rename(directory)
    return directory


def rows_directory(name: str, relations: Callable[[], data.Relations], cache: Path = CACHE) -> Path:
    """Relations as files of tab-separated values."""

    def write(directory: Path) -> None:
        for predicate, rows in relations().items():
            lines = ("\t".join(map(str, row)) + "\n" for row in rows)
            (directory / f"{predicate}.tsv").write_text("".join(lines), encoding="utf-8")

    return directory_of(name, write, cache)


def universities_directory(count: int, cache: Path = CACHE) -> Path:
    """Some universities; 0: the first rows of one."""
    directory = input_directory(f"lubm-{count or 1}", cache)
    return directory / ("full" if count else "sample")


# -- graphs ------------------------------------------------------------------------------------------------------------


def tree(nodes: int, seed: int) -> list[data.Row]:
    """Parent and child; the parent is any earlier node. With 10,000 nodes and seed 4 it is the tree of sg-tree."""
    random = Random(seed)
    return [(random.randrange(child), child) for child in range(1, nodes)]


def copies(edges: list[data.Row], count: int, nodes: int) -> list[data.Row]:
    """A graph several times, without an edge between any two of them."""
    return [(int(start) + k * nodes, int(end) + k * nodes) for k in range(count) for start, end in edges]


def walkers_directory(walkers: int, steps: int, cache: Path = CACHE) -> Path:
    """Walkers with a label each at the beginning of a row of places; each of them will be at every place."""

    def write(directory: Path) -> None:
        numbers = np.arange(walkers, dtype=np.int64)
        labels = np.random.RandomState(5).randint(0, 1 << 40, walkers).astype(np.int64)
        places = np.zeros(walkers, np.int64)
        columns = {"walker": numbers, "label": labels, "place": places}
        pq.write_table(pa.table(columns), directory / "at.parquet")
        row = np.arange(steps, dtype=np.int64)
        pq.write_table(pa.table({"place": row, "after": row + 1}), directory / "next.parquet")

    return directory_of(f"walkers-{walkers}-{steps}", write, cache)


# -- triples -----------------------------------------------------------------------------------------------------------


def triples_file(count: int, cache: Path = CACHE) -> Path:
    """N-Triples, all of them different: five about each of some things, whose objects are things, texts and numbers."""

    def write(directory: Path) -> None:
        with (directory / "triples.nt").open("wb") as file:
            for start in range(0, count, _LINES):
                numbers = np.arange(start, min(start + _LINES, count), dtype=np.int64)
                file.write(("\n".join(_lines(numbers, count).to_pylist()) + "\n").encode())

    return directory_of(f"triples-{count}", write, cache) / "triples.nt"


def _lines(numbers: np.ndarray, count: int) -> pa.Array:
    things = max(1, count // _PROPERTIES)
    subject, kind = numbers // _PROPERTIES, numbers % _PROPERTIES
    other = (subject * 2_654_435_761 + kind * 40_503) % things  # the same numbers everywhere
    iri = _joined("<http://example.org/resource/thing", other, ">")
    text = _joined('"a text about the thing with the number ', subject, '"')
    tags = pa.array(_LANGUAGES).take(pa.array(subject % len(_LANGUAGES)))
    text = pc.binary_join_element_wise(text, tags, "")
    number = _joined('"', other % 100_000, f'"{_INTEGER}')
    objects = pc.choose(pa.array([0, 0, 0, 1, 2], pa.int64()).take(pa.array(kind)), iri, text, number)
    subjects = _joined("<http://example.org/resource/thing", subject, ">")
    properties = _joined("<http://example.org/vocabulary/property", kind, ">")
    return pc.binary_join_element_wise(subjects, properties, objects, ".", " ")


def _joined(before: str, numbers: np.ndarray, after: str) -> pa.Array:
    return pc.binary_join_element_wise(before, pa.array(numbers).cast(pa.string()), after, "")
