"""The stages ingest and encode on Spark: from files, tables, databases and Python to rows of ids and the universe."""

from corollary.engines.spark.ingest.loading import Ingest, LoadReport

__all__ = ["Ingest", "LoadReport"]
