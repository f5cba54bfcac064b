"""Keeping what was derived on Spark exact while facts and rules change."""
