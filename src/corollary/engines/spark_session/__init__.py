"""Spark sessions: finding Java, settings, starting, and Arrow tables as data frames.

Readers of files and results need a session as much as the Spark engine does, so this package is below them all. Nothing
here imports PySpark before a session is requested.
"""

from corollary.engines.spark_session.failures import SparkUnavailableError
from corollary.engines.spark_session.java import JavaRuntime, find_java
from corollary.engines.spark_session.session import start_session

__all__ = ["JavaRuntime", "SparkUnavailableError", "find_java", "start_session"]
