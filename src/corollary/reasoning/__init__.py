"""Reasoning shared by all engines: rule changes, maintenance, demand and limits."""

from corollary.reasoning.rule_book import RuleEdit, edit_rules, named_rules

__all__ = ["RuleEdit", "edit_rules", "named_rules"]
