"""Connected components of a graph that no task holds: large-star and small-star in turn (Kiveris and others, 2014).

Both steps hang nodes onto smaller ones without ever tearing a component apart, and after few rounds each component is one star
around its smallest node. Every round is checkpointed reliably, and what was written is compared with what is read: an edge that
got lost would split a component, and nothing would tell (issues 389 and 872 of GraphFrames).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from corollary.engines.spark.strategies.growing import check_nothing_lost
from corollary.engines.spark.watched import seen_by

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from corollary.engines.spark.context import Context


def components_of(edges: DataFrame, context: Context) -> tuple[DataFrame, int]:
    """Rows `node, label` for every constant of the edges `c0, c1`, and the number of rounds."""
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
    """Every node hangs its larger neighbours onto the smallest of its neighbours and itself."""
    both = edges.union(edges.selectExpr("v AS u", "u AS v"))
    smallest = both.groupBy("u").min("v").selectExpr("u", "least(u, `min(v)`) AS m")
    return both.join(smallest, "u").where("v > u").selectExpr("v AS u", "m AS v").distinct()


def _small_star(edges: DataFrame) -> DataFrame:
    """Every node hangs itself and its smaller neighbours onto the smallest of them."""
    smallest = edges.groupBy("u").min("v").selectExpr("u", "`min(v)` AS m")
    moved = edges.join(smallest, "u").where("v <> m").selectExpr("v AS u", "m AS v")
    return moved.union(smallest.selectExpr("u", "m AS v")).distinct()


def _checkpointed(edges: DataFrame, context: Context) -> tuple[DataFrame, tuple[int, int]]:
    """The edges in a checkpoint, and their summary, for which all of them are read back."""
    from pyspark.sql import Observation
    from pyspark.sql.functions import expr

    observation = Observation()
    written = context.workspace.checkpoint(edges.observe(observation, expr("count(1) AS n")))
    summary = _summary(written)
    check_nothing_lost(seen_by(observation).get("n", summary[0]), summary[0])
    return written, summary


def _summary(edges: DataFrame) -> tuple[int, int]:
    """Two different sets of edges have, but for a chance of 2^-64, different summaries."""
    row = edges.selectExpr("count(1)", "coalesce(bit_xor(xxhash64(u, v)), 0L)").collect()[0]
    return int(row[0]), int(row[1])
