"""Hyper-nodes with small inputs: one Spark task runs them in the embedded kernels, a whole small program at once.

A Spark stage takes at least a fifth of a second, so consecutive hyper-nodes share one. Each of them gets its own files.
Inside the task, later hyper-nodes see the facts of earlier ones.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from corollary.engines.spark.relations import FrameStore
from corollary.engines.spark.strategies.jobs import NodeJob, NodeOutcome
from corollary.engines.spark.tasks.task_files import outcomes_of, run_tasks, task_directory
from corollary.engines.spark.tasks.task_inputs import relations_of, task_input
from corollary.engines.spark.tasks.task_job import Caps, TaskJob, TaskLimits, TaskNode, without_spans
from corollary.planning.steps import is_auxiliary

if TYPE_CHECKING:
    from corollary.engines.spark.context import Context

PAIRS_ALONE = 4_000_000
"""A closure with more pairs is written by several tasks, which is faster although it is computed twice."""


class SingleTaskStrategy:
    name = "single-task"

    def run(self, job: NodeJob, store: FrameStore, context: Context) -> NodeOutcome:
        return self.run_together([job], store, context)[0]

    def run_together(self, jobs: Sequence[NodeJob], store: FrameStore, context: Context) -> list[NodeOutcome]:
        """Run hyper-nodes in one task, in topological order, and return their outcomes.

        The task stops at the first that it cannot finish: that one and those after it have no complete outcome.
        """
        relations = relations_of(jobs)
        settings = context.settings
        pairs = PAIRS_ALONE if context.partitions > 1 and settings.strategy is None else settings.task_fact_cap
        work = task_job(jobs, relations, store, context, pairs=pairs)
        manifests = run_tasks(task_input(jobs, relations, store, context), work)
        return outcomes_of(manifests, jobs, context.spark)


def task_job(
    jobs: Sequence[NodeJob], relations: dict[str, int], store: FrameStore, context: Context, *, pairs: int
) -> TaskJob:
    """Return the job of a task with these relations of a store as its input."""
    settings = context.settings
    return TaskJob(
        tuple(relations.items()),
        tuple(
            TaskNode(str(job.node), without_spans(job.rules), job.modules, job.recursive, job.counts) for job in jobs
        ),
        task_directory(context),
        Caps(settings.task_fact_cap, settings.task_memory, min(pairs, settings.task_fact_cap)),
        context.universe.collisions,
        discards_errors=all(job.discards_errors for job in jobs),
        limits=task_limits(relations, store, context),
    )


def task_limits(relations: Iterable[str], store: FrameStore, context: Context) -> TaskLimits:
    """Return the limits of the current run, for a task with these relations of a store as its input."""
    limits = replace(context.run.limits, seconds=None)
    if limits.facts is None:
        return TaskLimits(limits)
    given = sum(store.rows(name) or 0 for name in relations if not is_auxiliary(name))
    return TaskLimits(limits, store.facts + store.facts_beside - given)
