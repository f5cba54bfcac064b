"""Algebra over bags: a head comes as often as its rule has instances, which is what counting needs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from corollary.engines.spark.algebra.frames_of_algebra import EMPTY, Translator
from corollary.planning.algebra import Join

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


class BagTranslator(Translator):
    """Its rules name every value of their atoms (`without_wildcards`), so that only products need care."""

    def _join(self, node: Join) -> DataFrame:
        if node.on or node.semi:
            return super()._join(node)
        left, right = self.rows(node.left), self.rows(node.right)
        if not node.right.columns:
            right = right.withColumnRenamed(EMPTY, f"{EMPTY}_right")
        columns = [self.column(name) for name in (*node.left.columns, *node.right.columns)]
        return left.crossJoin(right).select(*(columns or [EMPTY]))
