"""Connected components of a graph that no task holds: large-star and small-star in turn (Kiveris and others, 2014).

Both steps hang nodes onto smaller ones without ever tearing a component apart, and after few rounds each component is one star
around its smallest node. Every round is checkpointed reliably: an edge that got lost would split a component, and nothing
would tell.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from corollary.engines.spark.context import Context


def components_of(edges: DataFrame, context: Context) -> tuple[DataFrame, int]:
    """Rows `node, label` for every constant of the edges `c0, c1`, and the number of rounds."""
    nodes = edges.selectExpr("explode(array(c0, c1)) AS node").distinct()
    stars = edges.where("c0 <> c1").selectExpr("greatest(c0, c1) AS u", "least(c0, c1) AS v").distinct()
    stars = context.workspace.checkpoint(stars)
    before = _summary(stars)
    rounds = 0
    while True:
        context.check()
        rounds += 1
        stars = context.workspace.checkpoint(_small_star(_large_star(stars)))
        after = _summary(stars)
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


def _summary(edges: DataFrame) -> tuple[int, int]:
    """Two different sets of edges have, but for a chance of 2^-64, different summaries."""
    row = edges.selectExpr("count(1)", "coalesce(bit_xor(xxhash64(u, v)), 0L)").collect()[0]
    return int(row[0]), int(row[1])
