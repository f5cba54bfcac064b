"""Closures by several tasks, partitioned by the end that every fact of a closure keeps.

A task needs all edges, but only its own sources (for a right-linear rule, its own targets), so its memory is bounded by
the edges. Symmetric closures are connected components; if the edges do not fit into one task, rounds find the
components.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from corollary.analysis import Module, ModuleKind
from corollary.engines.embedded.values.universe import EQUAL_BY_VALUE
from corollary.engines.spark.relations import FrameStore
from corollary.engines.spark.strategies.growing import check_nothing_lost
from corollary.engines.spark.strategies.jobs import NodeJob, NodeOutcome
from corollary.engines.spark.strategies.single_task import task_limits
from corollary.engines.spark.tasks.closure_job import EQUAL_CONSTANTS, ClosureJob
from corollary.engines.spark.tasks.task_files import outcomes_of, run_tasks, task_directory
from corollary.engines.spark.tasks.task_inputs import dealt_input, rows_of
from corollary.engines.spark.terms.ids import HASHED_CLASSES, Tag
from corollary.engines.spark.watched import seen_by

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from corollary.engines.spark.context import Context

# -- components --------------------------------------------------------------------------------------------------------

# Connected components of a graph that fits into no task: large-star and small-star in turn (Kiveris and others, 2014).
#
# Both steps connect nodes to smaller ones without ever splitting a component, and after a few rounds each component is
# one star around its smallest node. Every round is checkpointed reliably, and what was written is compared with what is
# read: a lost edge would silently split a component (issues 389 and 872 of GraphFrames).


def components_of(edges: DataFrame, context: Context) -> tuple[DataFrame, int]:
    """Return rows `node, label` for every constant of the edges `c0, c1`, and the number of rounds."""
    nodes = edges.selectExpr("explode(array(c0, c1)) AS node").distinct()
    stars = edges.where("c0 <> c1").selectExpr("greatest(c0, c1) AS u", "least(c0, c1) AS v").distinct()
    stars, before = _checkpointed(stars, context)
    rounds = 0
    while True:
        context.check()
        rounds += 1
        context.run.round(rounds)
        stars, after = _checkpointed(_small_star(_large_star(stars)), context)
        if after == before:
            break
        before = after
    labels = nodes.join(stars.selectExpr("u AS node", "v AS label"), "node", "left")
    return labels.selectExpr("node", "coalesce(label, node) AS label"), rounds


def _large_star(edges: DataFrame) -> DataFrame:
    """Return the edges after every node connects its larger neighbours to the smallest of its neighbours and itself."""
    both = edges.union(edges.selectExpr("v AS u", "u AS v"))
    smallest = both.groupBy("u").min("v").selectExpr("u", "least(u, `min(v)`) AS m")
    return both.join(smallest, "u").where("v > u").selectExpr("v AS u", "m AS v").distinct()


def _small_star(edges: DataFrame) -> DataFrame:
    """Return the edges after every node connects itself and its smaller neighbours to the smallest of them."""
    smallest = edges.groupBy("u").min("v").selectExpr("u", "`min(v)` AS m")
    moved = edges.join(smallest, "u").where("v <> m").selectExpr("v AS u", "m AS v")
    return moved.union(smallest.selectExpr("u", "m AS v")).distinct()


def _checkpointed(edges: DataFrame, context: Context) -> tuple[DataFrame, tuple[int, int]]:
    """Return the edges in a checkpoint, and their summary, computed by reading all of them back."""
    from pyspark.sql import Observation
    from pyspark.sql.functions import expr

    observation = Observation()
    written = context.workspace.checkpoint(edges.observe(observation, expr("count(1) AS n")))
    summary = _summary(written)
    check_nothing_lost(seen_by(observation).get("n", summary[0]), summary[0])
    return written, summary


def _summary(edges: DataFrame) -> tuple[int, int]:
    """Return a summary of a set of edges; different sets have equal ones with a probability of 2^-64."""
    row = edges.selectExpr("count(1)", "coalesce(bit_xor(xxhash64(u, v)), 0L)").collect()[0]
    return int(row[0]), int(row[1])


# -- closures ----------------------------------------------------------------------------------------------------------

_EQUAL_BY_VALUE = ", ".join(str(HASHED_CLASSES[kind] << 2 | Tag.HASHED) for kind in EQUAL_BY_VALUE)


def _may_equal_others(column: str) -> str:
    return f"({column} & 31 IN ({_EQUAL_BY_VALUE}) OR {column} & 3 = {int(Tag.DOUBLE)})"


class ClosureStrategy:
    name = "closure"

    def why_not(self, job: NodeJob, store: FrameStore, context: Context) -> str | None:
        """Return why this strategy cannot run the hyper-node; None if it can."""
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
    """Return the relation that every task needs completely."""
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
