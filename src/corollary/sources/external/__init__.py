"""Predicates whose facts are somewhere else, and are asked for when a query needs them."""

from corollary.sources.external.opening import opened_source
from corollary.sources.external.source import ExternalSource, SourceFailed, unaskable

__all__ = ["ExternalSource", "SourceFailed", "opened_source", "unaskable"]
