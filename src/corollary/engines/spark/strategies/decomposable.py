"""Recursion that splits by one argument: every task runs the fixpoint of its own share, without a shuffle between
rounds.

The share of a task are the facts whose pivot argument hashes to its number. Relations without the pivot are copied to
all tasks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from corollary.engines.spark.relations import FrameStore
from corollary.engines.spark.strategies.jobs import NodeJob, NodeOutcome
from corollary.engines.spark.strategies.single_task import task_job
from corollary.engines.spark.tasks.task_files import outcomes_of, run_tasks
from corollary.engines.spark.tasks.task_inputs import Distribution, rows_of, task_input

if TYPE_CHECKING:
    from corollary.engines.spark.context import Context


class DecomposableStrategy:
    name = "decomposable"

    def why_not(self, job: NodeJob, store: FrameStore, context: Context) -> str | None:
        """Return why this strategy cannot run the hyper-node; None if it can."""
        if not job.recursive:
            return "it is not recursive"
        if job.decomposition is None:
            return "no argument is handed on unchanged by all its rules"
        copied = rows_of(job.decomposition.replicated, store)
        if copied > context.settings.single_task_facts:
            return f"every task would need a copy of {copied:,} facts"
        return None

    def run(self, job: NodeJob, store: FrameStore, context: Context) -> NodeOutcome:
        decomposition = job.decomposition
        assert decomposition is not None
        parts = Distribution(context.partitions, {**decomposition.partitioned, **decomposition.pivots})
        work = task_job([job], job.relations, store, context, pairs=context.settings.task_fact_cap)
        manifests = run_tasks(task_input([job], job.relations, store, context, parts), work)
        return outcomes_of(manifests, [job], context.spark)[0]
