"""Endless streams of updates: where they come from, what happens to bad ones, and a result for each."""

from corollary.streams.results import RejectedUpdate, StreamResult, StreamStatistics, UpdateStatistics
from corollary.streams.stream import Stream

__all__ = ["RejectedUpdate", "Stream", "StreamResult", "StreamStatistics", "UpdateStatistics"]
