"""The Spark session of a test process: whoever asks first starts it, with what any test may need."""

from __future__ import annotations

import os
import sys

from pyspark.sql import SparkSession
from pyspark.sql.session import _monkey_patch_RDD

from corollary.engines.spark_session import start_session
from corollary.engines.spark_session.session import settings
from tests.services.postgres import jdbc_driver

PLAIN = "COROLLARY_TEST_PLAIN_SPARK"
"""With this variable, all tests run in a session as Spark starts it."""

DEFAULTS = {
    "spark.sql.adaptive.enabled": "true",
    "spark.sql.ansi.enabled": "true",
    "spark.sql.shuffle.partitions": "200",
    "spark.sql.execution.arrow.pyspark.enabled": "false",
    "spark.sql.session.timeZone": "America/New_York",
}
"""Spark's own defaults for what a session of the engine has otherwise; the zone is that of some machine."""

HOSTILE = {
    **DEFAULTS,
    "spark.sql.ansi.enabled": "false",
    "spark.sql.shuffle.partitions": "7",
    "spark.sql.caseSensitive": "true",
    "spark.sql.timestampType": "TIMESTAMP_NTZ",
    "spark.sql.parser.escapedStringLiterals": "true",
    "spark.sql.ansi.doubleQuotedIdentifiers": "true",
    "spark.sql.retainGroupColumns": "false",
    "spark.sql.crossJoin.enabled": "false",
    "spark.sql.files.ignoreMissingFiles": "true",
    "spark.sql.autoBroadcastJoinThreshold": "-1",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "3",
    "spark.sql.execution.arrow.useLargeVarTypes": "true",
    "spark.sql.sources.default": "json",
}
"""What people may have set in their sessions for reasons of their own."""


HEAP = 1024
"""Megabytes: enough for every test, and two processes may have a session each."""


def java_settings() -> dict[str, str]:
    """Return what Java is started with, whichever session of a process comes first: it can be given nothing later.

    Tests run much code a few times, and little code often: a Java that only compiles quickly needs two thirds of the time.
    """
    key = "spark.driver.extraJavaOptions"
    ours = {setting.key: setting.value for setting in settings(2, HEAP)}[key]
    found = {key: f"{ours} -XX:TieredStopAtLevel=1 -XX:+UseSerialGC"}
    if driver := jdbc_driver():
        found["spark.driver.extraClassPath"] = str(driver)
    return found


def shared_session() -> SparkSession:
    """The session that runs, or a new one."""
    if os.environ.get(PLAIN):
        driver = jdbc_driver()
        return _plain({"spark.driver.extraClassPath": str(driver)} if driver else {})
    return start_session("test", cores=2, heap_megabytes=HEAP, overrides=java_settings())


def session_with(settings: dict[str, str]) -> SparkSession:
    """A session beside the shared one with settings of its own: those of SQL are what a session has for itself."""
    shared = shared_session()
    session = shared.newSession()
    _monkey_patch_RDD(shared)  # the last session that was made is the one of `RDD.toDF`
    for key, value in settings.items():
        session.conf.set(key, value)
    return session


def _plain(overrides: dict[str, str]) -> SparkSession:
    if active := SparkSession.getActiveSession():
        return active
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.master("local[2]").config("spark.driver.memory", "2g")
    for key, value in {"spark.ui.enabled": "false", **overrides}.items():
        builder = builder.config(key, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    return session
