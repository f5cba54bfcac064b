"""Facts that lose their support, and recursive steps that came earlier: they may derive them, too, and never said so.

A recursive step owns the facts that it found first. Whether it would derive a fact that others gave is asked when theirs goes.
"""

from __future__ import annotations

from collections.abc import Sequence

from corollary.engines.spark.maintenance.change_rows import ChangeRows
from corollary.engines.spark.maintenance.delta_rules import DeltaRules, Wanted
from corollary.engines.spark.maintenance.steps import SparkStep
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
    for (owner, _), derived in found.items():
        transaction.change_support(predicate, owner, derived.once(), counted=False)
    return bool(found)
