"""Counting, for steps whose rules do not depend on themselves.

Each fact knows how many instances derive it. The deltas of a rule, with their signs, tell exactly how many instances come and
go, through joins and through negation; a fact whose last support goes is deleted, and nothing has to be derived again.
"""

from __future__ import annotations

from collections.abc import Container

import numpy as np

from corollary.engines.embedded.maintenance.maintained_relation import Numbers
from corollary.engines.embedded.maintenance.step_rules import StepRules
from corollary.engines.embedded.maintenance.transaction import Transaction, facts_of
from corollary.engines.embedded.relation import Relation

GAINED, LOST = "gained", "lost"


def maintain_by_counting(rules: StepRules, transaction: Transaction) -> dict[str, Numbers]:
    """Follows the changes of the inputs; gives the rows of each head that nobody supports any more."""
    changes = count_changes(rules, transaction)
    return {name: apply_counts(rules.step.owner, name, change, transaction) for name, change in changes.items()}


def count_changes(rules: StepRules, transaction: Transaction, without: Container[str] = ()) -> dict[str, Relation]:
    """How many instances of each head come and go, but for those of the rules that are left out."""
    changes = {name: Relation(arity, counted=True) for name, arity in rules.step.heads.items()}
    views = transaction.views
    for delta, sign in rules.counted:
        if delta.rule.name not in without and views.has_facts(delta):
            views.run(delta.rule, changes[delta.rule.head.predicate], GAINED if sign > 0 else LOST)
    return changes


def derive_with_counts(rules: StepRules, transaction: Transaction) -> dict[str, Numbers]:
    """Derives everything that the rules of a new step derive."""
    changes = {name: Relation(arity, counted=True) for name, arity in rules.step.heads.items()}
    for rule in rules.whole.values():
        transaction.views.run(rule, changes[rule.head.predicate], GAINED)
    return {name: apply_counts(rules.step.owner, name, change, transaction) for name, change in changes.items()}


def apply_counts(owner: str, predicate: str, change: Relation, transaction: Transaction) -> Numbers:
    """Changes the support of a head by what was counted; gives the rows that nobody supports any more."""
    if not change.size:
        return np.empty(0, np.int64)
    used = max(1, change.size)
    net = change.support_of(GAINED)[:used].astype(np.int64) - change.support_of(LOST)[:used].astype(np.int64)
    counts = net != 0
    if not counts.any():
        return np.empty(0, np.int64)
    maintained = transaction.supported(predicate, change.arity)
    numbers = maintained.place(facts_of(change)[counts])
    return maintained.change_support(owner, numbers, net[counts])
