"""Whether a Spark cluster is reachable and has room. Spark itself tries an address for a minute, and waits for
executors for ever."""

from __future__ import annotations

import re
import socket
import time
from typing import TYPE_CHECKING

from corollary.engines.spark_session.failures import SparkUnavailableError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

EXECUTOR_TIMEOUT = "spark.corollary.executorTimeout"
"""The setting with the seconds that a start waits for a first executor; 0 does not wait."""
_CONNECT_SECONDS = 5
_LOOPBACK = re.compile(r"spark://(127\.\d+\.\d+\.\d+|localhost|\[::1\])(:\d+)?$")


def is_local(master: str) -> bool:
    """Return whether the tasks run in the process of the driver."""
    return re.match(r"local(\[|$)", master) is not None


def is_on_this_machine(master: str) -> bool:
    return is_local(master) or _LOOPBACK.match(master) is not None


def check_reachable(master: str) -> None:
    """Raise SparkUnavailableError if nothing listens at the address of a standalone master."""
    if not master.startswith("spark://"):
        return
    refusals = []
    for address in master.removeprefix("spark://").split(","):
        host, _, port = address.rpartition(":")
        try:
            with socket.create_connection((host.strip("[]"), int(port)), timeout=_CONNECT_SECONDS):
                return
        except (OSError, OverflowError, ValueError) as error:
            refusals.append(f"{address}: {getattr(error, 'strerror', None) or error}")
    raise SparkUnavailableError(
        f"no Spark master answers at {master} ({'; '.join(refusals)})",
        "is it running? Its log and its web page name the address, such as spark://host:7077",
    )


def await_executor(spark: SparkSession, master: str) -> None:
    """Return when the first executor has started; if none does, stop the session and raise SparkUnavailableError."""
    seconds = float(spark.conf.get(EXECUTOR_TIMEOUT, "0") or 0)
    if spark.conf.get("spark.dynamicAllocation.enabled", "false") == "true":
        return  # executors start with the first job
    end = time.monotonic() + seconds
    while seconds and not _executors(spark):
        if time.monotonic() > end:
            spark.stop()
            raise SparkUnavailableError(
                f"the Spark cluster at {master} gave no executor within {seconds:g} s",
                "it has no workers, or others use them, or an executor asks for more than a worker has (spark.executor.memory, "
                f"spark.executor.cores); {EXECUTOR_TIMEOUT} says how long to wait",
            )
        time.sleep(0.1)


def _executors(spark: SparkSession) -> int:
    # The list includes the driver.
    return int(spark.sparkContext._jsc.sc().getExecutorMemoryStatus().size()) - 1
