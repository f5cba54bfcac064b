"""The session in which the engine works: a copy of the caller's, with settings of its own.

Two sessions of one Spark share its machines, tables and data frames, and nothing else. So the engine has the same settings
whoever started Spark, and the caller's are never touched.
"""

from __future__ import annotations

from threading import RLock
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from corollary.engines.spark_session.session import Setting

_ACTIVE = RLock()
ENGINE_SETTINGS = (
    Setting("spark.sql.adaptive.enabled", "false", "short jobs lose by it, and with it nested loops over unions fail"),
    Setting("spark.sql.ansi.enabled", "true", "an overflow is an error and never another number"),
    Setting("spark.sql.session.timeZone", "UTC", "one answer on every machine"),
    Setting("spark.sql.timestampType", "TIMESTAMP_LTZ", "what TIMESTAMP means in the engine's SQL"),
    Setting("spark.sql.parser.escapedStringLiterals", "false", "how the engine writes texts in SQL"),
    Setting("spark.sql.ansi.doubleQuotedIdentifiers", "false", "how the engine writes texts in SQL"),
    Setting("spark.sql.ansi.enforceReservedKeywords", "false", "how the engine names columns in SQL"),
    Setting("spark.sql.variable.substitute", "false", "a text constant may contain ${…}"),
    Setting("spark.sql.retainGroupColumns", "true", "sums are read together with what they are sums of"),
    Setting("spark.sql.crossJoin.enabled", "true", "rules may combine atoms that share no variable"),
    Setting("spark.sql.files.ignoreMissingFiles", "false", "a lost file is an error and never fewer facts"),
    Setting("spark.sql.files.ignoreCorruptFiles", "false", "a damaged file is an error and never fewer facts"),
    Setting("spark.sql.execution.arrow.pyspark.enabled", "true", "columns, not pickled rows, to and from Python"),
    Setting("spark.sql.execution.arrow.maxRecordsPerBatch", "10000", "tasks take columns in pieces of this size"),
    Setting("spark.sql.execution.arrow.useLargeVarTypes", "false", "tasks expect texts with 32-bit offsets"),
)  # fmt: skip
"""Every setting that the engine's answers or its speed depend on, with its reason; partitions depend on the cluster."""


class EngineSession(SparkSession):
    """A session that never becomes the active one: that stays the caller's."""

    def createDataFrame(self, *args: Any, **options: Any) -> DataFrame:  # noqa: N802
        java: Any = self._jvm
        sessions = java.org.apache.spark.sql.classic.SparkSession
        with _ACTIVE:  # of Python there is one active session for all threads
            active, active_java = SparkSession._activeSession, sessions.getActiveSession()
            try:
                return super().createDataFrame(*args, **options)
            finally:
                SparkSession._activeSession = active
                if active_java.isDefined():
                    sessions.setActiveSession(active_java.get())
                else:
                    sessions.clearActiveSession()


def engine_session(spark: SparkSession, partitions: int) -> SparkSession:
    """Return a session for the engine beside the caller's; that of Spark Connect, which has no copies, is returned as it is."""
    if type(spark).__module__ != SparkSession.__module__ and not isinstance(spark, EngineSession):
        return spark
    # Not by the constructor, which would make `RDD.toDF` use the new session; nor with what the caller's has cached.
    session = EngineSession.__new__(EngineSession)
    java: Any = spark._jsparkSession
    session._sc, session._jsc, session._jvm = spark._sc, spark._jsc, spark._jvm
    session._profiler_collector = spark._profiler_collector
    session._jsparkSession = java.cloneSession()
    for key, value, _ in ENGINE_SETTINGS:
        session.conf.set(key, value)
    set_partitions(session, partitions)
    return session


def set_partitions(session: SparkSession, partitions: int) -> None:
    """Shuffles of the session make so many partitions; the caller's session is left alone."""
    if isinstance(session, EngineSession):
        session.conf.set("spark.sql.shuffle.partitions", str(partitions))


def in_session(df: DataFrame, session: SparkSession) -> DataFrame:
    """Return a data frame with the rows of `df` whose jobs run with the settings of `session`."""
    if df.sparkSession is session or not isinstance(session, SparkSession) or not hasattr(df, "_jdf"):
        return df
    java: Any = session._jvm
    plan = df._jdf.logicalPlan()
    return DataFrame(java.org.apache.spark.sql.classic.Dataset.ofRows(session._jsparkSession, plan), session)
