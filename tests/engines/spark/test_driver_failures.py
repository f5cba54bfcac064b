"""A Java process that ends while Python waits for it: an error that says so, and a program that ends."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.spark

START = """
import threading
from corollary import KnowledgeBase
from corollary.diagnostics import ProgramError
from corollary.engines.spark_session import start_session
from corollary.engines.spark.context import SparkSettings
from corollary.engines.spark.failures import driver_failures

spark = start_session("test", cores=2, heap_megabytes=460)
"""
KILLED = """
settings = SparkSettings(strategy="rounds", partitions=2)
kb = KnowledgeBase("n(X + 1) :- n(X), X < 100000. n(0).", engine=spark, spark_settings=settings)
threading.Timer(8, spark.sparkContext._gateway.proc.kill).start()
try:
    kb.materialise()
except ProgramError as error:
    print(error)
"""
OUT_OF_MEMORY = """
rows = spark.range(0, 60_000_000, 1, 6).selectExpr("id", "xxhash64(id) AS a", "xxhash64(id + 1) AS b")
try:
    with driver_failures(spark):
        rows.collect()
except ProgramError as error:
    print(error)
"""


def printed(script: str, directory: Path) -> str:
    run = subprocess.run(
        [sys.executable, "-c", START + script], capture_output=True, text=True, cwd=directory, timeout=400, check=False
    )
    assert run.returncode == 0, run.stderr[-2000:]
    return run.stdout


def test_a_driver_that_is_killed_ends_the_run(tmp_path: Path) -> None:
    assert printed(KILLED, tmp_path).startswith("error[E412]: Spark's driver has ended (exit code -9)\n")


@pytest.mark.slow
def test_a_driver_out_of_memory_ends_the_run(tmp_path: Path) -> None:
    assert printed(OUT_OF_MEMORY, tmp_path).startswith("error[E412]: Spark's driver ran out of memory and has ended\n")
