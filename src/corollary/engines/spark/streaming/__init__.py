"""Streaming frames of Spark: changes to facts, and where they come from."""
