"""Strategies for running a hyper-node on Spark, one per file, and the choice among them."""
