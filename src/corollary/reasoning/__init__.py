"""What holds for all engines: how rules change."""

from corollary.reasoning.rule_book import RuleEdit, edit_rules

__all__ = ["RuleEdit", "edit_rules"]
