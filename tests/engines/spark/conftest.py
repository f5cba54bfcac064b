"""One Spark session for all tests of this process."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from tests.services.spark_session import shared_session


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The tests of sessions start and stop their own, so they come before those that share one."""
    items.sort(key=lambda item: item.path.name != "test_session.py")


@pytest.fixture(scope="session", autouse=True)
def _stopped_at_the_end() -> Iterator[None]:
    yield
    if active := SparkSession.getActiveSession():
        active.stop()


@pytest.fixture(scope="module")
def spark() -> SparkSession:
    """The session that runs, or a new one: a test of sessions may have stopped the one before."""
    return shared_session()
