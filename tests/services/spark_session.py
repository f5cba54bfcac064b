"""The Spark session of a test process: whoever asks first starts it, with what any test may need."""

from __future__ import annotations

from pyspark.sql import SparkSession

from corollary.engines.spark import start_session
from tests.services.postgres import jdbc_driver


def shared_session() -> SparkSession:
    """The session that runs, or a new one; Java can be given no driver of a database later."""
    driver = jdbc_driver()
    overrides = {"spark.driver.extraClassPath": str(driver)} if driver else {}
    return start_session("test", cores=2, heap_megabytes=2048, overrides=overrides)
