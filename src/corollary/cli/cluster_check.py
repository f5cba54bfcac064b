"""The checks of `corollary doctor --spark` on executors: do they run the same programs as the driver, and see the workspace?"""

from __future__ import annotations

import platform
from collections.abc import Iterator
from importlib import metadata
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession

_PACKAGES = ("corollary", "numba", "numpy", "pyarrow")
"""A task needs them; results could differ with their versions."""


def versions() -> str:
    """The versions of what a task runs with, here and now."""
    found = [f"Python {platform.python_version()}"]
    for name in _PACKAGES:
        try:
            found.append(f"{name} {metadata.version(name)}")
        except metadata.PackageNotFoundError:
            found.append(f"no {name}")
    return ", ".join(found)


def versions_of_tasks(spark: SparkSession) -> dict[str, set[str]]:
    """The versions on every machine that a task came to."""
    tasks = 4 * spark.sparkContext.defaultParallelism
    rows = spark.range(0, tasks, 1, tasks).mapInArrow(_tell, "machine string, versions string").collect()
    found: dict[str, set[str]] = {}
    for row in rows:
        found.setdefault(row["machine"], set()).add(row["versions"])
    return found


def _tell(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    import pyarrow as pa

    for _ in batches:
        pass
    yield pa.RecordBatch.from_pydict({"machine": [platform.node()], "versions": [versions()]})
