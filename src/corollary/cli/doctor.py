"""`corollary doctor`: what is installed here, and does Spark start?"""

from __future__ import annotations

import platform
import re
import time
from collections import defaultdict
from collections.abc import Iterator
from importlib import metadata
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Column, Table

from corollary import __version__
from corollary.cli.options import Conf, EngineName, Master, WorkspaceDirectory, engine_options
from corollary.engines.spark_session import SparkUnavailableError, find_java, start_session
from corollary.machine import memory_megabytes, usable_cores

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession

# -- cluster check -----------------------------------------------------------------------------------------------------

# The checks of `corollary doctor --spark` on executors: do they run the same programs as the driver, and see the workspace?

_PACKAGES = ("corollary", "numba", "numpy", "pyarrow")
"""A task needs them; results could differ with their versions."""


def versions() -> str:
    """Return the versions of Python, Corollary and its dependencies in this process."""
    found = [f"Python {platform.python_version()}"]
    for name in _PACKAGES:
        try:
            found.append(f"{name} {metadata.version(name)}")
        except metadata.PackageNotFoundError:
            found.append(f"no {name}")
    return ", ".join(found)


def versions_of_tasks(spark: SparkSession) -> dict[str, set[str]]:
    """Return the versions on every machine on which a task ran."""
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


# -- doctor ------------------------------------------------------------------------------------------------------------


def doctor(
    spark: Annotated[bool, typer.Option("--spark", help="Also start Spark and run a small job.")] = False,
    master: Master = None,
    conf: Conf = None,
    workspace: WorkspaceDirectory = None,
) -> None:
    """Check the installation: versions, extras, Java, and with --spark also Spark."""
    console = Console()
    table = Table("", Column(overflow="fold"), show_edge=False, show_header=False)
    for name, found in _findings():
        table.add_row(name, found)
    console.print(table)
    given = engine_options(EngineName.SPARK if spark else EngineName.EMBEDDED, master, conf or [], workspace)
    if spark and not _spark_works(console, **given):
        raise typer.Exit(1)


def _findings() -> list[tuple[str, str]]:
    return [
        ("Corollary", __version__),
        ("Python", f"{platform.python_version()} on {platform.system()} {platform.machine()}"),
        ("Cores", str(usable_cores())),
        ("Memory", f"{memory_megabytes() / 1024:.1f} GB"),
        *((f"Extra: {extra}", _installed(extra, names)) for extra, names in _extras().items()),
        ("Java for Spark", _java()),
    ]


def _extras() -> dict[str, list[str]]:
    """Return the packages of each extra, from the installed metadata."""
    extras: dict[str, list[str]] = defaultdict(list)
    try:
        requirements = metadata.requires("corollary") or []
    except metadata.PackageNotFoundError:  # run from its sources, without an install
        requirements = []
    for requirement in requirements:
        match = re.match(r"([\w.-]+)[^;\[]*;.*extra == ['\"]([\w-]+)['\"]", requirement)
        if match and match[2] != "all":  # it repeats the others
            extras[match[2]].append(match[1])
    return extras


def _installed(extra: str, names: list[str]) -> str:
    found, missing = [], []
    for name in names:
        try:
            found.append(f"{name} {metadata.version(name)}")
        except metadata.PackageNotFoundError:
            missing.append(name)
    if missing:
        return escape(f"not installed: {', '.join(missing)} (pip install 'corollary[{extra}]')")
    return ", ".join(found)


def _java() -> str:
    try:
        java = find_java()
    except SparkUnavailableError as error:
        return escape(str(error))
    return escape(f"Java {java.major} from {java.source}: {java.program}")


def _spark_works(console: Console, master: str | None, conf: dict[str, str], workspace: str | None) -> bool:
    from corollary.engines.spark.workspace import Workspace

    start = time.perf_counter()
    overrides = {**conf, **({"spark.master": master} if master else {})}
    try:
        with start_session("corollary doctor", overrides=overrides) as session:
            started = time.perf_counter()
            # Through mapInArrow, so that Python workers and Arrow are tried and not the JVM alone.
            found = versions_of_tasks(session)
            done = time.perf_counter()
            Workspace(session, workspace).close()
    except Exception as error:
        # Whatever it is, the user asked whether Spark works: the answer is no, and this is the reason.
        console.print(f"Spark does not work: {escape(str(error))}")
        return False
    others = {machine: reported - {versions()} for machine, reported in found.items() if reported - {versions()}}
    for machine, reported in others.items():
        console.print(
            f"Tasks on {escape(machine)} run with {escape('; '.join(sorted(reported)))}, and here is {versions()}."
        )
    console.print(f"Spark works: it started in {started - start:.1f} s, and a first job took {done - started:.1f} s.")
    return not others
