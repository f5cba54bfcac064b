"""Streaming frames of Spark: changes to facts, and their sources."""
