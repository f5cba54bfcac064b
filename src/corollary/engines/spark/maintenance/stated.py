"""The explicit facts of derived predicates, as predicates of their own: some rules ask for what was stated, whatever follows.

Such a predicate is its own owner, as auxiliary predicates are: explicit are the facts under the name that a program gave them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from corollary.analysis.lowering import chosen_from
from corollary.engines.embedded.maintenance.transaction import EXPLICIT
from corollary.engines.spark.maintenance.steps import SparkStep
from corollary.engines.spark.maintenance.transaction import Transaction


def change_stated(known: Sequence[SparkStep], wanted: Sequence[SparkStep], transaction: Transaction) -> None:
    """After explicit facts have changed, and where the steps read other predicates of stated facts than those before."""
    before, after = _read_by(known), _read_by(wanted)
    for name in before.keys() - after.keys():
        transaction.withdraw(name, before[name][1], name)
    for name, (predicate, arity) in after.items():
        changed = transaction.support_change if name in before else transaction.support_now_by
        transaction.change_support(name, name, changed(predicate, EXPLICIT, arity), counted=False)


def _read_by(steps: Iterable[SparkStep]) -> dict[str, tuple[str, int]]:
    """The predicates of stated facts, with those that they are chosen from and their numbers of arguments."""
    return {
        name: (predicate, arity)
        for step in steps
        for name, arity in step.job.reads.items()
        if (predicate := chosen_from(name)) is not None
    }
