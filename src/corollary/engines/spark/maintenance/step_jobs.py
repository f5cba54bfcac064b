"""Runs the rules of whole steps over the facts after the transaction, and passes on the changes of support."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import TYPE_CHECKING

from corollary.engines.spark.maintenance.change_rows import ChangeRows, settle, tagged, taken_apart
from corollary.engines.spark.maintenance.steps import SparkStep
from corollary.engines.spark.maintenance.transaction import SparkTransaction
from corollary.engines.spark.maintenance.versions import SparkVersions
from corollary.engines.spark.relations import COUNT, Frame, FrameStore, column_names
from corollary.engines.spark.strategies.jobs import NodeJob, NodeOutcome
from corollary.planning.deltas import AFTER
from corollary.planning.steps import is_auxiliary

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

RunJobs = Callable[[Sequence[NodeJob], FrameStore], list[NodeOutcome]]


def derive_in_place(
    steps: Sequence[SparkStep], transaction: SparkTransaction, versions: SparkVersions, run: RunJobs
) -> dict[str, int]:
    """Replace the support of steps by what their rules derive now; return their rounds by owner."""
    store = FrameStore(transaction.context.spark)
    owners: dict[str, set[str]] = {}
    for step in steps:
        for name in step.heads:
            owners.setdefault(name, set()).add(step.owner)
    read = {name for step in steps for name in step.job.reads}
    for step in steps:
        for name, arity in {**step.job.reads, **step.heads}.items():
            # Support by others for heads that no rule reads does not matter: derivations are counted in full.
            if name not in store.arities and (step.recursive or name in read):
                store.arities[name] = arity
                now = versions.relation(AFTER + name, arity)
                frame = _of_others(name, arity, owners[name], transaction) if name in owners else now.visible()
                store.derived[name] = [frame] if frame.rows != 0 else []
    if transaction.context.run.counts_facts:
        given = {name: arity for name, arity in store.arities.items() if not is_auxiliary(name)}
        known = sum(versions.relation(AFTER + name, arity).size for name, arity in given.items())
        # A lower bound, because the support of others was not counted exactly.
        store.facts_beside = transaction.context.facts() - known - sum(store.rows(name) or 0 for name in owners)
    outcomes = run([step.job for step in steps], store)
    _replace(steps, outcomes, transaction)
    return {step.owner: outcome.rounds for step, outcome in zip(steps, outcomes, strict=True)}


def _of_others(predicate: str, arity: int, owners: set[str], transaction: SparkTransaction) -> Frame:
    """Return the facts that other owners currently support; its number of rows is an upper bound."""
    columns = column_names(arity)
    relations = transaction.support_relations(predicate, arity)
    others = [relation for name, relation in relations.items() if name not in owners and relation.size]
    if not others:
        return ChangeRows.nothing(transaction.context, arity).frame
    parts = [part for relation in others for part in relation.numbers()]
    df = reduce(lambda left, right: left.union(right), parts)
    df = df.groupBy(*columns).agg({COUNT: "sum"}).where(f"`sum({COUNT})` > 0").select(*columns)
    return Frame(df, arity, sum(relation.size for relation in others))


def _replace(steps: Sequence[SparkStep], outcomes: Sequence[NodeOutcome], transaction: SparkTransaction) -> None:
    """Set the support of all steps to what was derived; one job computes the changes."""
    heads = [(step, outcome, name) for step, outcome in zip(steps, outcomes, strict=True) for name in step.heads]
    frames: dict[int, tuple[DataFrame, int]] = {}
    for number, (step, outcome, name) in enumerate(heads):
        parts = _difference(step, outcome, name, transaction)
        if parts:
            frames[number] = (reduce(lambda left, right: left.union(right), parts), step.heads[name])
    if not frames:
        return
    df = tagged(frames, (COUNT,))
    columns = [name for name in df.columns if name != COUNT]
    df = df.groupBy(*columns).agg({COUNT: "sum"}).withColumnRenamed(f"sum({COUNT})", COUNT).where(f"{COUNT} <> 0")
    arities = {number: arity for number, (_, arity) in frames.items()}
    changes = taken_apart(transaction.context, settle(transaction.context, df, "recomputed"), arities)
    for number, change in changes.items():
        step, _, name = heads[number]
        transaction.change_support(name, step.owner, change, counted=step.job.counts)


def _difference(step: SparkStep, outcome: NodeOutcome, name: str, transaction: SparkTransaction) -> list[DataFrame]:
    """Return the derived rows minus those from before, with the columns `c0 …, n`."""
    arity = step.heads[name]
    columns = column_names(arity)
    parts = [
        part.selectExpr(*columns, f"-{COUNT} AS {COUNT}")
        for part in transaction.support_now(name, arity, lambda other: other == step.owner)
    ]
    now = (outcome.counted if step.job.counts else outcome.facts).get(name)
    if now is not None and now.rows != 0:
        parts.append(now.df.selectExpr(*columns, COUNT if step.job.counts else f"1L AS {COUNT}"))
    return parts
