"""Outputs in file systems that only Spark reaches: HDFS, object stores.

There an output is always a directory of parts. It is written aside and renamed, by Hadoop's own client; on object stores, where a
rename is a copy, that takes its time and is not one step.
"""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING, Any

from corollary.diagnostics import ProgramError
from corollary.io.atomic import unwritable

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class RemoteOutput:
    """A directory that appears whole: write to `aside`, then `put`."""

    def __init__(self, spark: SparkSession, address: str) -> None:
        jvm: Any = getattr(spark, "_jvm", None)
        if jvm is None:
            raise unwritable(f"publish: cannot write {address}: this needs a session that is not of Spark Connect")
        self._path = jvm.org.apache.hadoop.fs.Path
        self._target = self._path(address)
        configuration = spark._jsparkSession.sessionState().newHadoopConf()
        self._system = self._target.getFileSystem(configuration)
        self._aside = self._beside("part")
        self._address = address

    @property
    def aside(self) -> str:
        return str(self._aside.toString())

    def _beside(self, ending: str) -> Any:
        return self._path(self._target.getParent(), f".{self._target.getName()}.{uuid.uuid4().hex[:8]}.{ending}")

    def sizes(self) -> dict[str, int]:
        """The parts that were written, and their bytes."""
        found = self._system.listStatus(self._aside)
        return {one.getPath().getName(): one.getLen() for one in found if one.getPath().getName().startswith("part-")}

    def check_replaceable(self) -> None:
        if not self._system.exists(self._target) or not self._system.getFileStatus(self._target).isDirectory():
            return
        names = [one.getPath().getName() for one in self._system.listStatus(self._target)]
        others = [name for name in names if not name.startswith(("part-", "_SUCCESS", "."))]
        if others:
            raise unwritable(f"cannot write {self._address}: it is a directory that holds other files: {others[0]}")

    def put(self) -> None:
        """The new output takes the place of the old one, which comes back where that fails."""
        old = self._beside("old")
        had = self._system.exists(self._target)
        if had and not self._system.rename(self._target, old):
            raise self._failed()
        if not self._system.rename(self._aside, self._target):
            if had:
                self._system.rename(old, self._target)
            raise self._failed()
        if had:
            self._system.delete(old, True)

    def remove(self) -> None:
        self._system.delete(self._aside, True)

    def _failed(self) -> ProgramError:
        return unwritable(f"publish: cannot write {self._address}: the new output could not be renamed")
