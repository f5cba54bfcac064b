"""Loads data on Spark and with the embedded loader, and shows both in the same way."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from pyspark.sql import SparkSession

from corollary import KnowledgeBase
from corollary.engines.spark.context import Context
from corollary.engines.spark.ingest import Ingest
from corollary.engines.spark.relations import Frame, FrameStore
from corollary.engines.spark.terms.ids import HASH_BITS
from corollary.engines.spark.terms.task_universe import TaskUniverse
from corollary.engines.spark.terms.universe import SparkUniverse
from corollary.engines.spark.workspace import Workspace
from corollary.io.options import ReadOptions
from corollary.language import print_value

NEVER = -1
"""No file is small enough for the driver: all of them are read by tasks."""


class Loaded:
    """A store that facts were loaded into."""

    def __init__(self, spark: SparkSession, workspace: Workspace, hash_bits: int, **options: Any) -> None:
        self.universe = SparkUniverse(spark, workspace, hash_bits)
        self.store = FrameStore(spark)
        context = Context(spark, workspace, self.universe)
        options = {"base": Path("."), "strict": False, "small_file": NEVER, **options}
        self.ingest = Ingest(context, self.store, **options)

    def load(self, path: Any, predicate: str = "p", **options: Any) -> int:
        return self.ingest.load_file(predicate, path, ReadOptions.of(options))

    def rows(self, predicate: str = "p") -> list[tuple[str, ...]]:
        return sorted(shown(self.store.explicit[predicate], self.universe)) if predicate in self.store.explicit else []

    @property
    def rejects(self) -> list[tuple[str, int, str, str]]:
        return [(one.file, one.line, one.reason, one.text) for one in self.ingest.rejects]


def shown(frame: Frame, universe: SparkUniverse) -> Iterator[tuple[str, ...]]:
    """The facts of a frame, each constant as programs write it."""
    task = TaskUniverse(universe.collisions)
    task.learn(universe.df.toArrow())
    table = frame.df.toArrow()
    assert table.num_rows == frame.rows
    ids = np.column_stack([column.to_numpy() for column in table.columns]) if table.num_rows else np.zeros((0, 1), int)
    codes = task.codes(ids)
    for row in codes.tolist():
        yield tuple(print_value(task.universe.value(code)) for code in row[: frame.arity])


@contextmanager
def loading(spark: SparkSession, *, hash_bits: int = HASH_BITS, **options: Any) -> Iterator[Loaded]:
    with Workspace(spark) as workspace:
        yield Loaded(spark, workspace, hash_bits, **options)


@contextmanager
def setting(spark: SparkSession, name: str, value: str) -> Iterator[None]:
    before = spark.conf.get(name)
    spark.conf.set(name, value)
    try:
        yield
    finally:
        spark.conf.set(name, before)


def embedded(path: Path, predicate: str = "p", program: str = "", **options: Any) -> KnowledgeBase:
    kb = KnowledgeBase(program)
    kb.load(predicate, path, **options)
    return kb


def embedded_rows(kb: KnowledgeBase, predicate: str = "p") -> list[tuple[str, ...]]:
    return sorted(tuple(map(print_value, row)) for row in kb.facts(predicate).constants())


def embedded_rejects(kb: KnowledgeBase) -> list[tuple[str, int, str, str]]:
    return [(one.file, one.line, one.reason, one.text) for one in kb.rejects]
