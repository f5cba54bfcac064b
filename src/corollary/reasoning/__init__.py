"""Reasoning that is the same for all engines: rule changes, demand, limits."""

from corollary.reasoning.rule_book import RuleEdit, edit_rules

__all__ = ["RuleEdit", "edit_rules"]
