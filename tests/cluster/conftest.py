"""One cluster for all tests of this folder, and one session on it; each test begins with two workers and two executors."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from corollary.engines.spark_session import start_session
from tests.cluster.events import EventLog
from tests.services.spark_cluster import SparkCluster, running_cluster, wait_for

WORKERS = 2


@pytest.fixture(scope="session")
def cluster() -> Iterator[SparkCluster]:
    with running_cluster(WORKERS) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def session(cluster: SparkCluster) -> Iterator[SparkSession]:
    if active := SparkSession.getActiveSession():
        active.stop()  # of other tests, where all of them run in one process
    _complete(cluster)
    overrides = {
        "spark.master": cluster.master,
        "spark.executor.memory": "768m",
        "spark.checkpoint.dir": cluster.shared.as_uri(),
        "spark.ui.enabled": "false",
        "spark.eventLog.enabled": "true",
        "spark.eventLog.dir": cluster.directory.as_uri(),
        "spark.eventLog.compress": "false",
        "spark.eventLog.rolling.enabled": "false",
        # What is asked about executors is true now, and not a moment ago.
        "spark.ui.liveUpdate.period": "0",
        # Quiet machines would not need it.
        "spark.network.timeout": "600s",
    }
    session = start_session("test", heap_megabytes=1024, overrides=overrides)
    yield session
    session.stop()


@pytest.fixture
def spark(cluster: SparkCluster, session: SparkSession) -> SparkSession:
    """The session, with as many executors as there were before a test killed some."""
    _complete(cluster)
    executors = session.sparkContext._jsc.sc()
    wait_for(lambda: executors.getExecutorMemoryStatus().size() == WORKERS + 1, 180, lambda: "the executors")
    return session


@pytest.fixture
def events(cluster: SparkCluster, spark: SparkSession) -> EventLog:
    """What Spark tells from now on about tasks and executors."""
    return EventLog(cluster.directory / spark.sparkContext.applicationId)


def _complete(cluster: SparkCluster) -> None:
    for _ in range(WORKERS - len(cluster.alive)):
        cluster.start_worker()
