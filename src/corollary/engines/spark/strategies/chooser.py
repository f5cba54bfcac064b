"""The choice of a strategy for a hyper-node: the cheapest that is correct for it, with the reason as text."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from corollary.engines.spark.relations import FrameStore
from corollary.engines.spark.strategies.alternating import ALTERNATING
from corollary.engines.spark.strategies.closures import ClosureStrategy
from corollary.engines.spark.strategies.decomposable import DecomposableStrategy
from corollary.engines.spark.strategies.jobs import NodeJob
from corollary.engines.spark.strategies.single_task import SingleTaskStrategy
from corollary.engines.spark.tasks.task_inputs import rows_of

if TYPE_CHECKING:
    from corollary.engines.spark.context import Context

SINGLE_TASK, DECOMPOSABLE, CLOSURE, ROUNDS = (
    SingleTaskStrategy.name,
    DecomposableStrategy.name,
    ClosureStrategy.name,
    "rounds",
)
STRATEGIES = (SINGLE_TASK, DECOMPOSABLE, CLOSURE, ROUNDS)

CLOSURE_FROM = 50_000
"""A closure with this many edges is partitioned at once; one with fewer edges is tried in a single task first."""


@dataclass(frozen=True)
class Choice:
    strategy: str
    reason: str


def choose(job: NodeJob, store: FrameStore, context: Context, tried: Collection[str] = ()) -> Choice:
    """Return the strategy for a hyper-node whose inputs are complete; those in `tried` have given up on it."""
    forced = context.settings.strategy
    if job.alternates and forced not in (None, SINGLE_TASK):
        return Choice(ALTERNATING, "its rules run by turns")
    if forced is not None and forced not in tried:
        refused = _why_not(forced, job, store, context)
        if refused is None:
            return Choice(forced, "it was asked for")
        chosen = _cheapest(job, store, context, {*tried, forced})
        return Choice(chosen.strategy, f"{forced} was asked for, but {refused}; {chosen.reason}")
    return _cheapest(job, store, context, tried)


def _cheapest(job: NodeJob, store: FrameStore, context: Context, tried: Collection[str]) -> Choice:
    rows, most = rows_of(job.relations, store), context.settings.single_task_facts
    if job.alternates and (SINGLE_TASK in tried or rows > most):
        return Choice(ALTERNATING, "its rules run by turns")
    closes = CLOSURE not in tried and ClosureStrategy().why_not(job, store, context) is None
    if SINGLE_TASK not in tried and rows <= most and not (closes and is_large_closure(job, store, context)):
        return Choice(SINGLE_TASK, f"{rows:,} input facts fit into one task")
    if closes:
        return Choice(CLOSURE, f"it is a {job.modules[0].name} closure over {rows:,} facts")
    if DECOMPOSABLE not in tried:
        refused = DecomposableStrategy().why_not(job, store, context)
        if refused is None and job.decomposition is not None:
            pivots = ", ".join(f"argument {place + 1} of {name}" for name, place in job.decomposition.pivots.items())
            return Choice(DECOMPOSABLE, f"its rules hand on {pivots}")
    return Choice(ROUNDS, f"{rows:,} input facts" if rows > most else "no other strategy is left")


def shares_a_task(job: NodeJob, relations: Iterable[str], store: FrameStore, context: Context) -> bool:
    """Return whether a hyper-node may run in one task together with others, which need these relations altogether."""
    forced = context.settings.strategy
    if forced == SINGLE_TASK:
        return True
    if forced is not None and job.alternates:
        return False
    if forced is not None and _why_not(forced, job, store, context) is None:
        return False
    small = rows_of(relations, store) <= context.settings.single_task_facts
    return small and not is_large_closure(job, store, context)


def is_large_closure(job: NodeJob, store: FrameStore, context: Context) -> bool:
    """Return whether a hyper-node is a closure over so many facts that several tasks are faster than one."""
    if context.partitions < 2 or len(job.modules) != 1 or job.modules[0].predicate is None:
        return False
    return rows_of(job.relations, store) >= CLOSURE_FROM


def _why_not(strategy: str, job: NodeJob, store: FrameStore, context: Context) -> str | None:
    if strategy == CLOSURE:
        return ClosureStrategy().why_not(job, store, context)
    if strategy == DECOMPOSABLE:
        return DecomposableStrategy().why_not(job, store, context)
    return None
