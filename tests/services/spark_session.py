"""The Spark session of a test process: whoever asks first starts it, with what any test may need."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from pyspark.sql import SparkSession
from pyspark.sql.session import _monkey_patch_RDD

from corollary.engines.spark_session import start_session
from corollary.engines.spark_session.session import settings
from tests.budgets import is_quick
from tests.services.postgres import jdbc_driver

PLAIN = "COROLLARY_TEST_PLAIN_SPARK"
"""With this variable, all tests run in a session as Spark starts it."""

COMPILED_PLANS = {"spark.sql.codegen.wholeStage": "true", "spark.sql.codegen.factoryMode": "FALLBACK"}
"""Spark's own settings: it compiles each plan to Java, which takes longer than to run the plan on a few rows."""

INTERPRETED_PLANS = {"spark.sql.codegen.wholeStage": "false", "spark.sql.codegen.factoryMode": "NO_CODEGEN"}
"""A third less processor time for all tests of Spark; those marked `compiled_plans` do without."""

DEFAULTS = {
    **COMPILED_PLANS,
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


HEAP = 2048
"""Megabytes: enough for every test. With half of them, a fifth of the processor time goes into collections."""

JAVA = "-XX:+UseSerialGC -Xmn700m -XX:MetaspaceSize=256m"
"""For a small heap on few cores: objects of a test die young, and classes that come need no collection of everything."""


def java_settings() -> dict[str, str]:
    """Return what Spark is started with, whichever session of a process comes first: Java can be given nothing later.

    Joins and aggregates take memory by the page, which would be 32 MB: full collections are a third as many with pages of 1 MB.
    """
    key = "spark.driver.extraJavaOptions"
    ours = {setting.key: setting.value for setting in settings(2, HEAP)}[key]
    found = {
        key: f"{ours} {JAVA}",
        "spark.buffer.pageSize": "1m",
        **(INTERPRETED_PLANS if is_quick else COMPILED_PLANS),
    }
    if driver := jdbc_driver():
        found["spark.driver.extraClassPath"] = str(driver)
    return found


@contextmanager
def compiled_plans() -> Iterator[None]:
    """The shared session, and those of the engine that are made of it meanwhile, compile plans as Spark does by itself."""
    session = shared_session()
    before = {key: session.conf.get(key) for key in COMPILED_PLANS}
    for key, value in COMPILED_PLANS.items():
        session.conf.set(key, value)
    try:
        yield
    finally:
        for key, value in before.items():
            if value is not None:
                session.conf.set(key, value)


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
