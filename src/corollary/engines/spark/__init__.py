"""The Spark engine.

Nothing here imports PySpark before a session is there, so that Corollary starts quickly and works without it.
"""
