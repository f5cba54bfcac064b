"""Keeping what was derived exact while facts and rules change."""
