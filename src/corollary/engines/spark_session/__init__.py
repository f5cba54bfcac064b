"""Sessions of Spark: a Java to run on, settings, the start, and tables of Arrow as frames of a session.

Readers of files and results need a session as well as the Spark engine does, so it stands below them all.
Nothing here imports PySpark before a session is asked for.
"""

from corollary.engines.spark_session.failures import SparkUnavailableError
from corollary.engines.spark_session.java import JavaRuntime, find_java
from corollary.engines.spark_session.session import start_session

__all__ = ["JavaRuntime", "SparkUnavailableError", "find_java", "start_session"]
