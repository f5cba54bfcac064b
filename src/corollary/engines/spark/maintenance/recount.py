"""Counting the derivations of a recursive step: its rules run once over what it was before, as if they were not recursive."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from corollary.engines.spark.maintenance.recompute import RunJobs
from corollary.engines.spark.maintenance.signed_relation import SignedRelation
from corollary.engines.spark.maintenance.steps import SparkStep
from corollary.engines.spark.maintenance.transaction import Transaction
from corollary.engines.spark.maintenance.versions import Versions
from corollary.engines.spark.relations import FrameStore
from corollary.planning.deltas import BEFORE


def recount(
    step: SparkStep, new_rules: Collection[str], transaction: Transaction, versions: Versions, run: RunJobs
) -> dict[str, SignedRelation]:
    """How often the rules that a step had before the transaction derived each fact then; no fact comes or goes by that."""
    context = transaction.context
    rules = tuple(rule for rule in step.job.rules if rule.name not in new_rules)
    job = replace(step.job, rules=rules, modules=(), recursive=False, decomposition=None, counts=True)
    store = FrameStore(context.spark)
    for name, arity in job.relations.items():
        frame = versions.relation(BEFORE + name, arity).visible()
        store.arities[name] = arity
        store.derived[name] = [frame] if frame.rows != 0 else []
    (outcome,) = run([job], store)
    found = {}
    for name, arity in step.heads.items():
        counted = outcome.counted.get(name)
        found[name] = SignedRelation(context, arity, (counted,) if counted is not None else (), counted=True)
    return found
