"""Facts that lose their support, and recursive steps that came earlier: they may derive them, too, and never said so.

A recursive step owns the facts that it found first. Whether it would derive a fact that others gave is asked when theirs goes:
its counters tell, or else its rules run.
"""

from __future__ import annotations

from collections.abc import Sequence

from corollary.engines.spark.maintenance.change_rows import ChangeRows
from corollary.engines.spark.maintenance.delta_rules import DeltaRules, Wanted
from corollary.engines.spark.maintenance.steps import SparkStep
from corollary.engines.spark.maintenance.support_lookup import present_among
from corollary.engines.spark.maintenance.transaction import Transaction
from corollary.engines.spark.maintenance.versions import Versions


def adopt(
    steps: Sequence[SparkStep],
    predicate: str,
    facts: ChangeRows,
    transaction: Transaction,
    versions: Versions,
    rules: DeltaRules,
) -> bool:
    """Lets earlier steps, which are up to date, support those of the facts that they derive; False where they derive none.

    None of them owns one of the facts. Their rules do not use such a fact, or it would have come later: one look is enough.
    """
    if not facts.rows or not steps:
        return False
    counted = [step.owner for step in steps if transaction.counters.has(step.owner)]
    others = [step for step in steps if step.owner not in counted]
    found = {owner: _by_counters(owner, predicate, facts, transaction) for owner in counted}
    if others:
        found |= _by_rules(others, predicate, facts, versions, rules)
    for owner, derived in found.items():
        transaction.change_support(predicate, owner, derived.once(), counted=False)
    return any(derived.rows for derived in found.values())


def _by_counters(owner: str, predicate: str, facts: ChangeRows, transaction: Transaction) -> ChangeRows:
    relation = transaction.counters.now(owner, predicate)
    return present_among({predicate: facts}, {predicate: relation}).get(predicate) or ChangeRows.nothing(
        transaction.context, facts.arity
    )


def _by_rules(
    steps: Sequence[SparkStep], predicate: str, facts: ChangeRows, versions: Versions, rules: DeltaRules
) -> dict[str, ChangeRows]:
    before = versions.changing.get(predicate)
    versions.changing[predicate] = facts
    versions.forget()
    wanted = [
        Wanted((step.owner, predicate), delta.rule)
        for step in steps
        for delta in step.rules.checking
        if delta.rule.head.predicate == predicate
    ]
    found = rules.derive(wanted)
    if before is None:
        del versions.changing[predicate]
    else:
        versions.changing[predicate] = before
    versions.forget()
    return {owner: derived for (owner, _), derived in found.items()}
