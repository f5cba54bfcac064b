"""Each element of a body once."""

from __future__ import annotations

from dataclasses import replace

from corollary.program import Rule


def without_duplicates(rule: Rule, *, exact: bool = False) -> Rule:
    body = tuple(dict.fromkeys(rule.body))
    return rule if len(body) == len(rule.body) else replace(rule, body=body)
