"""Kills a worker in the middle of a derivation, with the executor that is at work just then."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path
from urllib.parse import unquote, urlparse

from pyspark.sql import SparkSession

from corollary import KnowledgeBase
from tests.services.spark_cluster import SparkCluster


class Killer:
    """Called now and then while rules run; kills once, when `is_time` says so and some executor has a task."""

    def __init__(self, cluster: SparkCluster, spark: SparkSession, is_time: Callable[[], bool]) -> None:
        self._cluster = cluster
        self._spark = spark
        self._is_time = is_time
        self._lock = threading.Lock()
        self.has_killed = False

    def __call__(self, facts: int) -> None:
        with self._lock:
            if self.has_killed or not self._is_time():
                return
            executor = busy_executor(self._spark)
            if executor is not None:
                self.has_killed = True
                self._cluster.worker_of(executor).kill()


class Checkpoints:
    """Says whether a knowledge base has written so many checkpoints by now; those that it has removed since count as well."""

    def __init__(self, kb: KnowledgeBase, wanted: int) -> None:
        self._folder = folder_of(kb) / "checkpoints"
        self._wanted = wanted
        self._seen: set[Path] = set()

    def __call__(self) -> bool:
        self._seen.update(self._folder.glob("*/rdd-*"))
        return len(self._seen) >= self._wanted


class WritingClosure:
    """Says whether a task has begun to write the pairs of a closure into the workspace."""

    def __init__(self, kb: KnowledgeBase) -> None:
        self._folder = folder_of(kb) / "tasks"

    def __call__(self) -> bool:
        return any(self._folder.glob("closure-*.parquet"))


class BusyFor:
    """Says whether some executor has been at work all the time for some seconds, which is one long task."""

    def __init__(self, spark: SparkSession, seconds: float) -> None:
        self._spark = spark
        self._seconds = seconds
        self._since: tuple[list[int], float] = ([], 0.0)

    def __call__(self) -> bool:
        stages = list(self._spark.sparkContext.statusTracker().getActiveStageIds())
        if stages != self._since[0]:
            self._since = (stages, time.monotonic())
        return bool(stages) and time.monotonic() - self._since[1] >= self._seconds


def busy_executor(spark: SparkSession) -> str | None:
    """The number of an executor that has a task."""
    found = spark.sparkContext._jsc.sc().statusStore().executorList(True)
    for place in range(found.size()):
        one = found.apply(place)
        if one.id() != "driver" and one.activeTasks():
            return str(one.id())
    return None


def folder_of(kb: KnowledgeBase) -> Path:
    """The workspace of a knowledge base, which is started with that."""
    return Path(unquote(urlparse(kb._backend.context.workspace.path).path))  # type: ignore[attr-defined]
