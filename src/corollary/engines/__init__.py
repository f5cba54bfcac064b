"""Engines derive facts: embedded in this process, or on Spark."""
