"""The Spark engine.

Nothing here imports PySpark before a session exists, so that Corollary starts quickly and works without it.
"""
