"""Reliable checkpoints of one knowledge base.

Spark has one directory for the checkpoints of everybody in a process. Where the caller has chosen one, it is used and stays; else
one of ours is lent to Spark while a checkpoint is written, and taken back. Only checkpoints that were written here are removed.
"""

from __future__ import annotations

import threading
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark import SparkContext
    from pyspark.sql import DataFrame, SparkSession

_LENT: dict[str, int] = {}  # directories of ours that Spark has now, and how many checkpoints are being written there
_USERS: dict[str, set[int]] = {}  # who has written to a directory of ours
_LOCK = threading.Lock()


class Checkpoints:
    """`directory` is where checkpoints go when the caller has no directory for them; it is made when it is needed."""

    def __init__(self, spark: SparkSession, directory: str) -> None:
        self._spark = spark
        self._directory = directory
        self._written: set[str] = set()

    def write(self, df: DataFrame) -> DataFrame:
        """Return the rows as they are in reliable storage, without their history."""
        try:
            context = self._spark.sparkContext
        except Exception:  # Spark Connect has none, and uses the directory of its server
            return df.checkpoint(eager=True)
        with _lent(context, self._directory) as folder:
            if folder is not None:
                _USERS.setdefault(folder, set()).add(id(self))
                written = df.checkpoint(eager=True)
            else:
                with _nothing_left(context):
                    written = df.checkpoint(eager=True)
        file = _file_of(written)
        if file is not None:
            self._written.add(file)
            if folder is None:
                _on_exit(context, file, removed=True)
        return written

    def forget(self, df: DataFrame) -> None:
        """Remove the files of a checkpoint that nothing reads any more; what cannot be removed now goes at `close`."""
        with suppress(Exception):  # Spark Connect has no such handles, and a file that stays does no harm
            file = _file_of(df)
            if file in self._written:
                context = self._spark.sparkContext
                _remove(context, file)
                self._written.discard(file)
                _on_exit(context, file, removed=False)

    def close(self) -> None:
        """Remove every checkpoint that was written here, and directories of ours that nobody else uses."""
        files, self._written = self._written, set()
        with suppress(Exception):  # without Java nothing can be done, and it removes the rest when it ends
            context = self._spark.sparkContext
            for file in files:
                with suppress(Exception):
                    _remove(context, file)
            for folder in _left_by(id(self)):
                _remove(context, folder)


@contextmanager
def _lent(context: SparkContext, directory: str) -> Iterator[str | None]:
    """For this time Spark has a directory for checkpoints; gives it where it is one of ours."""
    java: Any = context._jsc.sc()
    with _LOCK:
        current = _current(java)
        if current is None:
            _make(context, directory)
            _set(context, java, directory)
            current = directory
            _LENT[current] = 0
        is_ours = current in _LENT
        if is_ours:
            _LENT[current] += 1
    try:
        yield current if is_ours else None
    finally:
        if is_ours:
            with _LOCK:
                _LENT[current] -= 1
                if not _LENT[current]:
                    del _LENT[current]
                    if _current(java) == current:  # somebody may have chosen one meanwhile
                        _set(context, java, None)


@contextmanager
def _nothing_left(context: SparkContext) -> Iterator[None]:
    """Where a checkpoint in the caller's directory fails midway, its files go: those of the relations of its own jobs."""
    java: Any = context._jsc.sc()
    tag = f"corollary-checkpoint-{uuid.uuid4().hex}"
    first = java.newRddId()
    context.addJobTag(tag)
    try:
        yield
    except BaseException:
        with suppress(Exception):  # nothing can be done without Java
            folder = _current(java)
            java.listenerBus().waitUntilEmpty()
            for number in _made_by_jobs(java, tag):
                if number > first and folder is not None:
                    _remove(context, f"{folder}/rdd-{number}")
        raise
    finally:
        context.removeJobTag(tag)


def _made_by_jobs(java: Any, tag: str) -> set[int]:
    """The numbers of the relations that jobs with a tag have worked on."""
    found: set[int] = set()
    for job in java.statusTracker().getJobIdsForTag(tag):
        info = java.statusTracker().getJobInfo(job)
        for stage in info.get().stageIds() if info.isDefined() else ():
            relations = java.statusStore().lastStageAttempt(stage).rddIds()
            found |= {int(relations.apply(place)) for place in range(relations.size())}
    return found


def _left_by(user: int) -> list[str]:
    """The directories of ours that nobody uses when this one goes."""
    with _LOCK:
        left = [folder for folder, users in _USERS.items() if user in users]
        for folder in left:
            _USERS[folder].discard(user)
        empty = [folder for folder in left if not _USERS[folder] and folder not in _LENT]
        for folder in empty:
            del _USERS[folder]
        return empty


def _current(java: Any) -> str | None:
    found = java.getCheckpointDir()
    return str(found.get()) if found.isDefined() else None


def _set(context: SparkContext, java: Any, directory: str | None) -> None:
    """Not by `setCheckpointDir`, which makes one more directory each time."""
    jvm: Any = context._jvm
    getattr(java, "checkpointDir_$eq")(jvm.scala.Option.apply(directory))


def _file_of(df: DataFrame) -> str | None:
    java: Any = df
    file = java._jdf.queryExecution().analyzed().rdd().getCheckpointFile()
    return str(file.get()) if file.isDefined() else None


# -- files, where Hadoop finds them ------------------------------------------------------------------------------------


def _place(context: SparkContext, path: str) -> tuple[Any, Any]:
    jvm: Any = context._jvm
    place = jvm.org.apache.hadoop.fs.Path(path)
    return place.getFileSystem(context._jsc.hadoopConfiguration()), place


def _make(context: SparkContext, path: str) -> None:
    files, place = _place(context, path)
    files.mkdirs(place)
    files.deleteOnExit(place)


def _remove(context: SparkContext, path: str) -> None:
    files, place = _place(context, path)
    files.delete(place, True)


def _on_exit(context: SparkContext, path: str, *, removed: bool) -> None:
    """Where Python is killed, Hadoop removes what is to be removed when Java ends."""
    with suppress(Exception):
        files, place = _place(context, path)
        if removed:
            files.deleteOnExit(place)
        else:
            files.cancelDeleteOnExit(place)
