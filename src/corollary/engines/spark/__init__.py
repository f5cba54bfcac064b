"""The Spark engine.

Nothing here imports PySpark before a session is asked for, so that Corollary starts quickly and works without it.
"""

from corollary.engines.spark.errors import SparkUnavailableError
from corollary.engines.spark.java import JavaRuntime, find_java
from corollary.engines.spark.session import start_session

__all__ = ["JavaRuntime", "SparkUnavailableError", "find_java", "start_session"]
