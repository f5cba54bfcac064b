"""Starts Spark inside this process, tuned for many short rounds on one machine."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from corollary.engines.spark.errors import SparkUnavailableError
from corollary.engines.spark.java import find_java
from corollary.engines.spark.shim import shim_home
from corollary.machine import memory_megabytes, usable_cores

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_LOGGING = Path(__file__).with_name("log4j2.properties")


class Setting(NamedTuple):
    key: str
    value: str
    why: str


def settings(cores: int, heap_megabytes: int) -> tuple[Setting, ...]:
    """Every setting that differs from Spark's defaults, with its reason."""
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


def start_session(
    app_name: str = "corollary",
    *,
    cores: int | None = None,
    heap_megabytes: int | None = None,
    overrides: Mapping[str, str] | None = None,
) -> SparkSession:
    """A Spark session in this process, on all cores and a quarter of the memory unless said otherwise.

    `overrides` are Spark settings that win over Corollary's. A session that is already active is returned as it is: a
    process can have only one, and whoever made it chose its settings. The environment variables that the start needs
    are set for the start only.
    Raises SparkUnavailableError when PySpark or Java is missing.
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
    builder = SparkSession.builder.appName(app_name)
    for setting in settings(cores or usable_cores(), heap_megabytes or max(1024, memory_megabytes() // 4)):
        builder = builder.config(setting.key, setting.value)
    for key, value in (overrides or {}).items():
        builder = builder.config(key, value)
    with _environment(_launch_environment(Path(pyspark.__file__).parent)):
        return builder.getOrCreate()


def _launch_environment(pyspark_folder: Path) -> dict[str, str]:
    variables = {
        "JAVA_HOME": str(shim_home(find_java().program)),
        # Workers must run this interpreter, with these packages, and not whichever python3 comes first.
        "PYSPARK_PYTHON": sys.executable,
        "PYSPARK_DRIVER_PYTHON": sys.executable,
        # Without it Spark looks the host name up before it reads its settings, and warns.
        "SPARK_LOCAL_IP": "127.0.0.1",
    }
    if (pyspark_folder / "jars").is_dir():
        # The Spark that came with PySpark, even if the shell points to another, whose version may differ.
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
