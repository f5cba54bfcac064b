"""Streams of updates: sources, rejected updates, and a result for each update."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from corollary.streams.results import RejectedUpdate, StreamResult, StreamStatistics, UpdateStatistics
    from corollary.streams.stream import Stream

__all__ = ["RejectedUpdate", "Stream", "StreamResult", "StreamStatistics", "UpdateStatistics"]

# Imported on first use, because most knowledge bases have no streams.
_HOMES = {
    "RejectedUpdate": "corollary.streams.results",
    "Stream": "corollary.streams.stream",
    "StreamResult": "corollary.streams.results",
    "StreamStatistics": "corollary.streams.results",
    "UpdateStatistics": "corollary.streams.results",
}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'corollary.streams' has no attribute '{name}'")
