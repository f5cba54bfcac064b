"""Steps when rules change: which stay, which are new, and who goes on with what another one supported.

A recursive step that has all rules that are left of another is its heir: it takes over its facts, runs the rules that it has got
against what is there, and goes on to a fixpoint. What nobody goes on with is withdrawn, without reasoning.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from corollary.engines.spark.maintenance.steps import SparkStep
from corollary.engines.spark.maintenance.transaction import Transaction
from corollary.planning import NormalRule


@dataclass
class RuleChange:
    """By the owner of a step that is new: the names of the rules that are new in it, and the rules that it has lost.

    `exists` are the rules of auxiliary predicates that lost rules look at.
    """

    new: dict[str, frozenset[str]] = field(default_factory=dict)
    removed: dict[str, list[NormalRule]] = field(default_factory=dict)
    heirs: set[str] = field(default_factory=set)
    exists: dict[str, NormalRule] = field(default_factory=dict)

    def told(self, owner: str) -> str:
        """What a step has got and lost, as people read it."""
        parts = [
            f"{sign}{', '.join(sorted(names))}"
            for sign, names in (("+", self.new[owner]), ("-", {rule.name for rule in self.removed.get(owner, ())}))
            if names
        ]
        return f"went on from what it had ({' '.join(parts)})" if parts else "went on from what it had"


def change_steps(known: Sequence[SparkStep], wanted: Sequence[SparkStep], transaction: Transaction) -> RuleChange:
    """Hands the support of steps that are no more over to their heirs, or withdraws it; forgets their counters."""
    change = RuleChange()
    if known is wanted:
        return change
    stays, stayed = {step.identity for step in wanted}, {step.identity for step in known}
    heir_of_rule = {rule.name: step for step in wanted if step.source is None for rule in step.job.rules}
    kept: set[str] = set()
    handed_over: dict[tuple[str, str, int], list[str]] = {}  # an heir and a predicate with its arity: who had it
    for step in known:
        if step.identity in stays:
            continue
        heir = _heir(step, heir_of_rule)
        transaction.counters.forget(step.owner)
        for name, arity in step.heads.items():
            if heir is not None and name in heir.heads:
                handed_over.setdefault((heir.owner, name, arity), []).append(step.owner)
            else:
                transaction.withdraw(name, arity, step.owner)
        if heir is not None:
            change.heirs.add(heir.owner)
            kept |= {rule.name for rule in step.job.rules if rule.name in heir_of_rule}
            gone = [rule for rule in step.rules.step.rules if rule.name not in heir_of_rule]
            change.removed.setdefault(heir.owner, []).extend(gone)
            change.exists |= step.exists
    for (owner, name, arity), owners in handed_over.items():
        transaction.hand_over(name, arity, owners, owner)
    for step in wanted:
        if step.identity not in stayed:
            change.new[step.owner] = frozenset(rule.name for rule in step.job.rules) - kept
    return change


def _heir(step: SparkStep, heir_of_rule: Mapping[str, SparkStep]) -> SparkStep | None:
    """The recursive step that goes on with all rules that are left of a step; None where there is no such step."""
    if step.source is not None or step.job.alternates:
        return None
    heirs = {
        heir_of_rule[rule.name].owner: heir_of_rule[rule.name] for rule in step.job.rules if rule.name in heir_of_rule
    }
    if len(heirs) != 1:
        return None
    (heir,) = heirs.values()
    by_name = {rule.name: rule for rule in heir.job.rules}
    is_same = all(by_name.get(rule.name, rule) == rule for rule in step.job.rules)
    return heir if heir.recursive and not heir.job.alternates and is_same else None
