"""Corollary: a Datalog reasoner whose conclusions stay true while facts and rules change."""

__version__ = "0.1.0"
