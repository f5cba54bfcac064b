"""Clusters that are not there: a message soon, instead of Spark's minute and a stack."""

from __future__ import annotations

import socket
import time

import pytest
from pyspark.sql import SparkSession

from corollary import KnowledgeBase
from corollary.diagnostics import ProgramError
from corollary.engines.spark_session.cluster import check_reachable, is_local, is_on_this_machine
from corollary.engines.spark_session.session import cluster_settings


@pytest.fixture(autouse=True)
def no_active_session(monkeypatch: pytest.MonkeyPatch) -> None:
    """Other tests of this process may have left one, which would be used instead of another cluster."""
    monkeypatch.setattr(SparkSession, "getActiveSession", lambda: None)


def test_nobody_at_the_address() -> None:
    started = time.monotonic()
    with pytest.raises(ProgramError, match=r"E411.*no Spark master answers at spark://127\.0\.0\.1:1 "):
        KnowledgeBase("edge(1, 2).", engine="spark", master="spark://127.0.0.1:1", workspace="/shared")
    assert time.monotonic() - started < 30


@pytest.mark.parametrize("master", ["spark://no-such-host.invalid:7077", "spark://host", "spark://host:port"])
def test_an_address_that_is_none(master: str) -> None:
    with pytest.raises(ProgramError, match=f"E411.*no Spark master answers at {master} "):
        KnowledgeBase("edge(1, 2).", engine="spark", master=master, workspace="/shared")


def test_one_of_several_masters_is_enough() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        check_reachable(f"spark://127.0.0.1:1,127.0.0.1:{server.getsockname()[1]}")


def test_masters_that_are_here() -> None:
    assert [is_local(one) for one in ("local", "local[2]", "local-cluster[2,1,1024]", "yarn")] == [
        True,
        True,
        False,
        False,
    ]
    assert is_on_this_machine("spark://127.0.0.1:7077")
    assert not is_on_this_machine("spark://head:7077")


def test_executors_on_other_machines_can_reach_the_driver() -> None:
    keys = {setting.key for setting in cluster_settings("spark://head:7077", 1024)}
    assert "spark.driver.memory" in keys
    assert not keys & {"spark.driver.host", "spark.driver.bindAddress", "spark.sql.adaptive.enabled"}
