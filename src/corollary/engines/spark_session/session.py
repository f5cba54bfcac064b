"""Starting Spark: inside this process, tuned for many short rounds on one machine, or as the driver of a cluster."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from corollary.engines.spark_session.cluster import (
    EXECUTOR_TIMEOUT,
    await_executor,
    check_reachable,
    is_local,
    is_on_this_machine,
)
from corollary.engines.spark_session.failures import SparkUnavailableError
from corollary.engines.spark_session.java import find_java, shim_home
from corollary.machine import memory_megabytes, usable_cores

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_LOGGING = Path(__file__).with_name("log4j2.properties")


class Setting(NamedTuple):
    key: str
    value: str
    why: str


def settings(cores: int, heap_megabytes: int) -> tuple[Setting, ...]:
    """Return every setting that differs from Spark's defaults, with its reason."""
    return (
        Setting("spark.master", f"local[{cores}]", "one task per core, inside this process"),
        Setting("spark.driver.memory", f"{heap_megabytes}m", "driver and tasks share it; the default is 1 GB"),
        Setting("spark.driver.host", "127.0.0.1", "works offline, behind a VPN and with an unresolvable host name"),
        Setting("spark.driver.bindAddress", "127.0.0.1", "nobody else on the network can connect"),
        Setting("spark.ui.enabled", "false", "saves a web server, its port and its memory"),
        Setting("spark.ui.showConsoleProgress", "false", "Corollary shows its own progress"),
        Setting("spark.driver.extraJavaOptions", f'"-Dlog4j2.configurationFile={_LOGGING.as_uri()}"', "errors only"),
        Setting("spark.sql.execution.arrow.pyspark.enabled", "true", "columns, not pickled rows, to and from Python"),
        Setting("spark.sql.shuffle.partitions", str(cores), "rounds are short: more tasks cost more than they give"),
        Setting("spark.sql.adaptive.enabled", "false", "re-planning each stage costs more than a round's work"),
        Setting("spark.sql.session.timeZone", "UTC", "the same answers on every machine"),
    )


_ON_ONE_MACHINE = {
    "spark.driver.host": "executors on other machines must reach the driver",
    "spark.driver.bindAddress": "the same",
    "spark.ui.enabled": "its page is how people watch a cluster",
    "spark.sql.shuffle.partitions": "how many tasks run at once is not known before the executors come; rounds set their own",
    "spark.sql.adaptive.enabled": "it brings the many partitions that are the default down to what the data need",
}
"""Settings that are left to Spark on a cluster, with reasons."""


def cluster_settings(master: str, heap_megabytes: int) -> tuple[Setting, ...]:
    """Return every setting that differs from Spark's defaults where the tasks run on a cluster, with its reason."""
    kept = ("spark.driver.host", "spark.driver.bindAddress") if is_on_this_machine(master) else ()
    own = [one for one in settings(1, heap_megabytes) if one.key not in _ON_ONE_MACHINE or one.key in kept]
    return (
        Setting("spark.master", master, "the cluster"),
        *(one for one in own if one.key != "spark.master"),
        Setting(EXECUTOR_TIMEOUT, "120", "seconds: Spark would wait for a first executor for ever"),
    )


def start_session(
    app_name: str = "corollary",
    *,
    cores: int | None = None,
    heap_megabytes: int | None = None,
    overrides: Mapping[str, str] | None = None,
) -> SparkSession:
    """Return a Spark session in this process, on all cores and a quarter of the memory unless said otherwise.

    `overrides` are Spark settings that win over Corollary's; `spark.master` among them names a cluster. What `spark-submit` was
    given wins as well, and comes before Corollary's own settings. A session that is already active is returned as it is: a
    process can have only one, whose settings are those of its creator. The environment variables that the start needs
    are set for the start only.
    Raises SparkUnavailableError when PySpark or Java is missing, and when a cluster does not answer or has no executor.
    """
    try:
        import pyspark
        from pyspark.sql import SparkSession
    except ModuleNotFoundError as missing:
        raise SparkUnavailableError(
            f"PySpark is not installed (no module {missing.name}).", "pip install 'corollary[spark]'"
        ) from missing
    if active := SparkSession.getActiveSession():
        return active
    submitted = _submitted()
    given = {**submitted, **(overrides or {})}
    master = given.get("spark.master", "local")
    heap = heap_megabytes or max(1024, memory_megabytes() // 4)
    own = settings(cores or usable_cores(), heap) if is_local(master) else cluster_settings(master, heap)
    builder = SparkSession.builder
    for key, value in {"spark.app.name": app_name, **{one.key: one.value for one in own}, **given}.items():
        builder = builder.config(key, value)
    check_reachable(master)
    with _environment({} if submitted else _launch_environment(Path(pyspark.__file__).parent, master)):
        session = builder.getOrCreate()
    if not is_local(master):
        await_executor(session, master)
    return session


def _submitted() -> dict[str, str]:
    """Return the settings from `spark-submit`, if it started this process."""
    if "PYSPARK_GATEWAY_PORT" not in os.environ:
        return {}
    from pyspark import SparkConf, SparkContext

    SparkContext._ensure_initialized()
    return dict(SparkConf().getAll())


def _launch_environment(pyspark_folder: Path, master: str) -> dict[str, str]:
    variables = {
        "JAVA_HOME": str(shim_home(find_java().program)),
        # Workers must run this interpreter with these packages, not whichever python3 comes first.
        "PYSPARK_PYTHON": sys.executable,
        "PYSPARK_DRIVER_PYTHON": sys.executable,
    }
    if is_on_this_machine(master):
        # Otherwise Spark resolves the host name before it reads its settings, and warns.
        variables["SPARK_LOCAL_IP"] = "127.0.0.1"
    if not is_local(master) and (python := os.environ.get("PYSPARK_PYTHON")):
        # On other machines the interpreter may be elsewhere.
        variables["PYSPARK_PYTHON"] = python
    if (pyspark_folder / "jars").is_dir():
        # The Spark that came with PySpark, even if the shell points to another one, whose version may differ.
        variables["SPARK_HOME"] = str(pyspark_folder)
    return variables


@contextmanager
def _environment(variables: Mapping[str, str]) -> Iterator[None]:
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
