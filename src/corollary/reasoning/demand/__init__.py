"""Rewriting rules so that they derive only what a query needs (paper 001, section 2.3.1: rule filtering and magic sets)."""

from corollary.reasoning.demand.demanded import Demanded, Outside, demanded

__all__ = ["Demanded", "Outside", "demanded"]
