"""The directory of one knowledge base on Spark: its tables, its universe and its checkpoints.

Tasks on every machine read it, so on a cluster all machines must share the directory. It is removed at `close` and when
the process ends; if Python is killed, Hadoop removes it when Java ends.
"""

from __future__ import annotations

import atexit
import os
import re
import shutil
import socket
import tempfile
import threading
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlparse

import pyarrow as pa
import pyarrow.parquet as pq

from corollary.diagnostics import Diagnostic, ProgramError, catalogue
from corollary.engines.spark.relations import Frame
from corollary.engines.spark.watched import seen_by
from corollary.engines.spark_session.arrow_frames import rows_of_table
from corollary.engines.spark_session.cluster import is_local

if TYPE_CHECKING:
    from pyspark import SparkContext
    from pyspark.sql import DataFrame, SparkSession

# -- checkpoints -------------------------------------------------------------------------------------------------------

# Reliable checkpoints of one knowledge base.
#
# Spark has one checkpoint directory per process. If the caller has set one, it is used and left as it is; otherwise one
# of ours is set while a checkpoint is written, and then reset. Only checkpoints that were written here are removed.

_LENT: dict[str, int] = {}  # directories of ours that Spark has now, with the number of checkpoints in progress
_USERS: dict[str, set[int]] = {}  # who has written to a directory of ours
_LOCK = threading.Lock()


class Checkpoints:
    """The checkpoints; they go to `directory`, made when needed, if the caller has set no directory."""

    def __init__(self, spark: SparkSession, directory: str) -> None:
        self._spark = spark
        self._directory = directory
        self._written: set[str] = set()

    def write(self, df: DataFrame) -> DataFrame:
        """Return the rows from reliable storage, without their lineage."""
        try:
            context = self._spark.sparkContext
        except Exception:  # Spark Connect has no checkpoint files here, and uses the directory of its server
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
        """Remove the files of a checkpoint that is not read any more; those that cannot be removed now are removed at
        `close`."""
        with suppress(Exception):  # Spark Connect has no such handles, and a file that stays does no harm
            file = _file_of(df)
            if file in self._written:
                context = self._spark.sparkContext
                _delete(context, file)
                self._written.discard(file)
                _on_exit(context, file, removed=False)

    def close(self) -> None:
        """Remove every checkpoint that was written here, and directories of ours without other users."""
        files, self._written = self._written, set()
        with suppress(Exception):  # without Java nothing can be removed; Java removes the rest when it ends
            context = self._spark.sparkContext
            for file in files:
                with suppress(Exception):
                    _delete(context, file)
            for folder in _left_by(id(self)):
                _delete(context, folder)


@contextmanager
def _lent(context: SparkContext, directory: str) -> Iterator[str | None]:
    """Set Spark's checkpoint directory inside the block, if it has none; yield the directory if it is ours."""
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
                    if _current(java) == current:  # another one may have been set meanwhile
                        _set(context, java, None)


@contextmanager
def _nothing_left(context: SparkContext) -> Iterator[None]:
    """If a checkpoint in the caller's directory fails midway, remove its files: those of the relations of its own jobs."""
    java: Any = context._jsc.sc()
    tag = f"corollary-checkpoint-{uuid.uuid4().hex}"
    first = java.newRddId()
    context.addJobTag(tag)
    try:
        yield
    except BaseException:
        with suppress(Exception):  # without Java nothing can be removed
            folder = _current(java)
            java.listenerBus().waitUntilEmpty()
            for number in _made_by_jobs(java, tag):
                if number > first and folder is not None:
                    _delete(context, f"{folder}/rdd-{number}")
        raise
    finally:
        context.removeJobTag(tag)


def _made_by_jobs(java: Any, tag: str) -> set[int]:
    """Return the numbers of the RDDs that jobs with a tag have worked on."""
    found: set[int] = set()
    for job in java.statusTracker().getJobIdsForTag(tag):
        info = java.statusTracker().getJobInfo(job)
        for stage in info.get().stageIds() if info.isDefined() else ():
            relations = java.statusStore().lastStageAttempt(stage).rddIds()
            found |= {int(relations.apply(place)) for place in range(relations.size())}
    return found


def _left_by(user: int) -> list[str]:
    """Return the directories of ours that have no other user."""
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
    """Set Spark's checkpoint directory; unlike `setCheckpointDir`, without making a new subdirectory each time."""
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


def _delete(context: SparkContext, path: str) -> None:
    files, place = _place(context, path)
    files.delete(place, True)


def _on_exit(context: SparkContext, path: str, *, removed: bool) -> None:
    """Let Hadoop remove a path when Java ends, in case Python is killed."""
    with suppress(Exception):
        files, place = _place(context, path)
        if removed:
            files.deleteOnExit(place)
        else:
            files.cancelDeleteOnExit(place)


# -- workspace ---------------------------------------------------------------------------------------------------------

_CONFIGURED = "spark.checkpoint.dir"
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_-]+")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
_ROWS_OF_A_FILE = 500_000
_HINT = "give workspace= a directory that every machine of the cluster can read and write, such as hdfs://… or a shared disk"


def choose_directory(asked: str | None, configured: str | None, master: str) -> str:
    """Return the directory for workspaces: the requested one, Spark's local directory, or one of this machine."""
    if asked or configured:
        chosen = asked or configured or ""
        return chosen if _SCHEME.match(chosen) else Path(chosen).absolute().as_uri()
    if is_local(master):
        return Path(tempfile.gettempdir()).absolute().as_uri()
    message = f"the Spark cluster at {master} has no directory for tables and checkpoints that its machines share"
    raise ProgramError([Diagnostic(catalogue.UNUSABLE_WORKSPACE, message, hint=f"{_HINT}, or set {_CONFIGURED}")])


def _schema_of(table: pa.Table) -> str:
    """Return the schema of a table of ids, numbers and texts for Spark's reader."""
    names = {pa.int64(): "long", pa.string(): "string"}
    return ", ".join(f"{field.name} {names[field.type]}" for field in table.schema)


class Workspace:
    """The directory of one knowledge base; `path` is a new directory below the chosen one."""

    def __init__(self, spark: SparkSession, directory: str | None = None) -> None:
        self._spark = spark
        configured = spark.conf.get(_CONFIGURED, None)
        parent = choose_directory(directory, configured, _master(spark))
        self.path = f"{parent.rstrip('/')}/corollary-{uuid.uuid4().hex[:12]}"
        self._written = 0
        self._is_open = True
        # Beside it and not inside, because another knowledge base may use it and close later.
        self._checkpoints = Checkpoints(spark, f"{self.path}-checkpoints")
        try:
            _make_directory(spark, self.path)
        except Exception as error:  # an exception of Java or Python; in any case there is no directory
            reason = _reason(error)
            diagnostic = Diagnostic(catalogue.UNUSABLE_WORKSPACE, f"cannot make {self.path}: {reason}", hint=_HINT)
            raise ProgramError([diagnostic]) from error
        atexit.register(self.close)
        self._checked = None if is_local(_master(spark)) or not _has_java() else _local(self.path)
        if self._checked is not None:
            self._check_shared(self._checked)

    def _check_shared(self, directory: Path) -> None:
        """Raise if a cluster's machines do not share the directory: each may have one of its own under this path."""
        try:
            without = machines_without(self._spark, directory)
        except BaseException:
            self.close()
            raise
        if without:
            self.close()
            raise _not_shared(f"{self.path} is not there on {', '.join(without[:3])}")

    def table(self, df: DataFrame, name: str, arity: int | None = None) -> Frame:
        """Write rows of ids as Parquet, counting them; return a frame that reads the file."""
        path = self.place(name)
        written, rows = self._write_to(path, df)
        return Frame(written, len(df.columns) if arity is None else arity, rows, lies_in=(path,))

    def write(self, df: DataFrame, name: str) -> tuple[DataFrame, int]:
        """Write a table of any columns; return a frame that reads it, and its number of rows."""
        return self._write_to(self.place(name), df)

    def keep(self, table: pa.Table, name: str) -> tuple[DataFrame, str]:
        """Write rows of the driver; return them as a frame, and their path. On one machine the driver writes them
        itself, which is much faster than handing each row to Java; on a cluster the executors write, which shows
        whether all share the directory."""
        path = self.place(name)
        directory = _local(path)
        if directory is None or self._checked is not None:
            return self._write_to(path, rows_of_table(self._spark, table))[0], path
        try:
            directory.mkdir()
            for number, start in enumerate(range(0, table.num_rows, _ROWS_OF_A_FILE)):
                pq.write_table(table.slice(start, _ROWS_OF_A_FILE), directory / f"part-{number:05}.parquet")
        except BaseException:
            self.remove(path)
            raise
        return self._spark.read.schema(_schema_of(table)).parquet(path), path

    def _write_to(self, path: str, df: DataFrame) -> tuple[DataFrame, int]:
        from pyspark.sql import Observation
        from pyspark.sql import functions as F  # noqa: N812

        counted = Observation()
        try:
            df.observe(counted, F.count(F.lit(1)).alias("rows")).write.parquet(path)
        except BaseException:
            self.remove(path)
            raise
        rows = int(seen_by(counted).get("rows", 0))
        written = _local(path) if self._checked is not None else None
        if written is not None and (arrived := rows_that_arrived(written)) != rows:
            self.remove(path)
            raise _not_shared(f"{path}: {rows:,} rows were written, and {arrived:,} arrived")
        return self._spark.read.schema(df.schema).parquet(path), rows

    def place(self, name: str) -> str:
        """Return an unused path for a table."""
        self._written += 1
        return f"{self.path}/{self._written}-{_NOT_IN_NAMES.sub('_', name)[:60]}"

    def checkpoint(self, df: DataFrame) -> DataFrame:
        """Return the rows in reliable storage, without their lineage: no lost executor can lose them."""
        return self._checkpoints.write(df)

    def forget(self, df: DataFrame) -> None:
        """Remove the files of a checkpoint that is not read any more."""
        self._checkpoints.forget(df)

    def remove(self, path: str) -> None:
        """Remove a table of this workspace that is not read any more; if that fails now, it is removed with the workspace."""
        with suppress(Exception):
            _remove(self._spark, path)

    def close(self) -> None:
        """Remove the directory; a second call does nothing."""
        if self._is_open:
            self._is_open = False
            atexit.unregister(self.close)
            self._checkpoints.close()
            self.remove(self.path)

    def __enter__(self) -> Workspace:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _not_shared(what: str) -> ProgramError:
    message = f"the machines of the cluster do not share the workspace: {what}"
    return ProgramError([Diagnostic(catalogue.UNUSABLE_WORKSPACE, message, hint=_HINT)])


def _master(spark: SparkSession) -> str:
    return spark.conf.get("spark.master", None) or "the address of the session"


# -- files, where Hadoop finds them ------------------------------------------------------------------------------------


def _file_system(spark: SparkSession, path: str) -> tuple[Any, Any]:
    """Return Hadoop's file system and path. A stopped session has no configuration any more, but Java is still running."""
    from pyspark import SparkContext

    java: Any = SparkContext._jvm
    place = java.org.apache.hadoop.fs.Path(path)
    try:
        configuration = spark.sparkContext._jsc.hadoopConfiguration()
    except Exception:
        configuration = java.org.apache.hadoop.conf.Configuration()
    return place.getFileSystem(configuration), place


def _make_directory(spark: SparkSession, path: str) -> None:
    local = _local(path)
    if local is not None:
        local.mkdir(parents=True)
        if not os.access(local, os.W_OK):
            raise PermissionError(13, "Permission denied")
    if not _has_java():
        return
    files, place = _file_system(spark, path)
    if not files.mkdirs(place):
        raise OSError("it cannot be made")
    files.deleteOnExit(place)


def _remove(spark: SparkSession, path: str) -> None:
    local = _local(path)
    if local is not None:
        shutil.rmtree(local, ignore_errors=True)
        return
    if _has_java():
        files, place = _file_system(spark, path)
        files.delete(place, True)


def _local(path: str) -> Path | None:
    parts = urlparse(path)
    return Path(unquote(parts.path)) if parts.scheme == "file" else None


def _has_java() -> bool:
    from pyspark import SparkContext

    return SparkContext._jvm is not None


def _reason(error: Exception) -> str:
    if isinstance(error, OSError):
        return error.strerror or str(error)
    java = getattr(error, "java_exception", None)
    return str(java.getMessage() if java is not None else error).strip().splitlines()[0]


# Whether a directory is the same one on all machines of a cluster.
#
# Spark assumes that it is. If every machine has a disk of its own under that path, a table that tasks wrote lacks the
# parts of the other machines, without any error. So the tasks look for a file of the driver at the start, and the
# driver counts the rows that arrived.


_MARKER = "driver"
_TASKS_PER_SLOT = 4
"""More tasks than can run at once, so that every executor most likely gets one."""


@dataclass(frozen=True)
class _Looks:
    marker: str

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for _ in batches:
            pass
        if not Path(self.marker).exists():
            yield pa.RecordBatch.from_pydict({"machine": [socket.gethostname()]})


def machines_without(spark: SparkSession, directory: Path) -> list[str]:
    """Return the machines whose tasks do not see a directory of the driver."""
    marker = directory / _MARKER
    marker.write_text("of the driver\n", encoding="utf-8")
    try:
        tasks = _TASKS_PER_SLOT * spark.sparkContext.defaultParallelism
        rows = spark.range(0, tasks, 1, tasks).mapInArrow(_Looks(str(marker)), "machine string")
        return sorted({row["machine"] for row in rows.collect()})
    finally:
        marker.unlink(missing_ok=True)


def rows_that_arrived(directory: Path) -> int:
    """Return the number of rows in the Parquet files of a directory, according to their metadata."""
    import pyarrow.parquet as parquet

    return sum(parquet.read_metadata(part).num_rows for part in directory.glob("part-*"))
