"""Backends of a knowledge base: one object that loads facts, derives and answers, on one engine or another."""

from corollary.backends.backend import Backend

__all__ = ["Backend"]
