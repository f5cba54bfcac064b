"""Persistent knowledge bases: a directory with versions, readable by every engine."""
