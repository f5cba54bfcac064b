"""Closures by several tasks, dealt out by the end that every fact of a closure keeps.

A task needs all edges, but only the sources (or, for a right-linear rule, the targets) that are its own, so its memory is
bounded by the edges. Symmetric closures are connected components; where the edges are too many for one task, rounds find them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from corollary.analysis import Module, ModuleKind
from corollary.engines.embedded.values.universe import EQUAL_BY_VALUE
from corollary.engines.spark.relations import FrameStore
from corollary.engines.spark.strategies.components import components_of
from corollary.engines.spark.strategies.jobs import NodeJob, NodeOutcome
from corollary.engines.spark.strategies.single_task import task_limits
from corollary.engines.spark.tasks.closure_job import EQUAL_CONSTANTS, ClosureJob
from corollary.engines.spark.tasks.task_inputs import dealt_input, rows_of
from corollary.engines.spark.tasks.task_outputs import outcomes_of, run_tasks, task_directory
from corollary.engines.spark.terms.ids import HASHED_CLASSES, Tag

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from corollary.engines.spark.context import Context

_EQUAL_BY_VALUE = ", ".join(str(HASHED_CLASSES[kind] << 2 | Tag.HASHED) for kind in EQUAL_BY_VALUE)


def _may_equal_others(column: str) -> str:
    return f"({column} & 31 IN ({_EQUAL_BY_VALUE}) OR {column} & 3 = {int(Tag.DOUBLE)})"


class ClosureStrategy:
    name = "closure"

    def why_not(self, job: NodeJob, store: FrameStore, context: Context) -> str | None:
        """Why this strategy cannot run the hyper-node; None where it can."""
        if len(job.modules) != 1 or job.modules[0].predicate is None:
            return "its rules are no closure"
        module = job.modules[0]
        if module.guarded and module.step is not None:
            return "a chain of guarded steps may not pass through its own target"
        if module.kind is ModuleKind.SYMMETRIC_TRANSITIVE:
            return None
        copied = rows_of([_edges(module)], store)
        if copied > context.settings.single_task_facts:
            return f"every task would need a copy of {copied:,} facts"
        return None

    def run(self, job: NodeJob, store: FrameStore, context: Context) -> NodeOutcome:
        (module,) = job.modules
        assert module.predicate is not None
        edges = store.visible(_edges(module), 2).df
        own = store.visible(module.predicate, 2).df
        if module.kind is ModuleKind.SYMMETRIC_TRANSITIVE:
            if rows_of([module.predicate], store) > context.settings.single_task_facts:
                return _by_components(module, edges, context)
            dealt = [(edges, None), (edges, 0), (edges, 1)]
        else:
            dealt = [(edges, None), (own, 1 if module.kind is ModuleKind.RIGHT_LINEAR else 0)]
        limits = task_limits([module.predicate], store, context)
        work = ClosureJob(module.kind, module.predicate, module.guarded, task_directory(context), limits)
        manifests = run_tasks(dealt_input(dealt, context.partitions), work)
        outcome = outcomes_of(manifests, [job], context.spark)[0]
        if outcome.unfinished:
            outcome.facts.clear()
        return outcome


def _edges(module: Module) -> str:
    """The relation that every task needs whole."""
    predicate = module.step or module.predicate
    assert predicate is not None
    return predicate


def _by_components(module: Module, edges: DataFrame, context: Context) -> NodeOutcome:
    if module.guarded and edges.where(f"{_may_equal_others('c0')} OR {_may_equal_others('c1')}").limit(1).count():
        return NodeOutcome({}, 0, unfinished=EQUAL_CONSTANTS)
    labels, rounds = components_of(edges, context)
    labels, _ = context.workspace.write(labels, "components")
    pairs = labels.selectExpr("label", "node AS c0").join(labels.selectExpr("label", "node AS c1"), "label")
    if module.guarded:
        pairs = pairs.where("c0 <> c1")
    new = pairs.select("c0", "c1").join(edges, ["c0", "c1"], "left_anti")
    assert module.predicate is not None
    frame = context.workspace.table(new, module.predicate, 2)
    return NodeOutcome({module.predicate: frame}, rounds, detail="components")
