"""Rule bodies that begin with a few changed facts, as data frames: what is small goes to what is large, never the other way.

A join sends the rows so far to every task. Where they come out of a join themselves and may be many, they are put down first, so
that their number is known: too many of them meet the next relation by a shuffle, as in any other query. Whether a row has a
partner in a large relation is asked the other way round: which of the few keys does it have?
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from corollary.engines.spark.algebra.frames_of_algebra import BagTranslator
from corollary.engines.spark.maintenance.change_rows import frame_of, hinted, settle
from corollary.planning.algebra import Algebra, AntiJoin, Join, Scan, inputs_of, walk

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from corollary.engines.spark.context import Context

_SENT_UNSEEN = 200_000
"""Rows that go to every task without having been counted, if there are so many."""


class DeltaTranslator(BagTranslator):
    """`sizes` tells about how many rows a relation has; with `careful`, whatever comes out of a join is put down."""

    _computes_texts = False

    def __init__(
        self, *args: Any, context: Context, sizes: Callable[[Scan], int], careful: bool, **options: Any
    ) -> None:
        super().__init__(*args, **options)
        self._context = context
        self._sizes = sizes
        self._most = 0 if careful else _SENT_UNSEEN

    def _join(self, node: Join) -> DataFrame:
        if not node.on:
            return super()._join(node)
        if (guess := self._guess(node.left)) <= self._most:
            left, rows = self.rows(node.left), guess
        else:
            left, rows = self._left(node.left)
        # A semi-join asks for one fact, all of which is known: it has one partner at most.
        return hinted(left, rows).join(self.rows(node.right), [self.column(name) for name in node.on])

    def _anti_join(self, node: AntiJoin) -> DataFrame:
        if not node.on:
            return super()._anti_join(node)
        left, rows = self._left(node.left)
        right, on = self.rows(node.right), [self.column(name) for name in node.on]
        return left.join(self._partners(left, rows, node.right, right, on), on, "left_anti")

    def _partners(self, left: DataFrame, rows: int, node: Algebra, right: DataFrame, on: list[str]) -> DataFrame:
        """The keys of the right side, as far as the left side has them where it is the smaller one."""
        keys = right.select(*on)
        if self._size(node) <= rows:
            return hinted(keys, self._size(node))
        return hinted(keys.join(hinted(left.select(*on).distinct(), rows), on, "left_semi").distinct(), rows)

    def _ready_for_forms(self, df: DataFrame, node: Algebra) -> DataFrame:
        return self._put_down(df, node)[0]

    def _forms(self, df: DataFrame, column: str) -> DataFrame:
        """Few rows need few forms, and the universe is large."""
        rows = self._context.settings.change_rows
        ids = hinted(df.selectExpr(f"{column} AS id").distinct(), rows)
        return hinted(super()._forms(df, column).join(ids, "id", "left_semi"), rows)

    def _left(self, node: Algebra) -> tuple[DataFrame, int]:
        """The rows so far, and about how many they are."""
        return self._put_down(self.rows(node), node)

    def _put_down(self, df: DataFrame, node: Algebra) -> tuple[DataFrame, int]:
        if not any(isinstance(one, (Join, AntiJoin)) for one in walk(node)):
            return df, self._size(node)
        ids, stored, rows = settle(self._context, df, "join")
        if ids is not None:
            return frame_of(self._context, df.columns, ids), rows
        assert stored is not None
        return stored, rows

    def _guess(self, node: Algebra) -> int:
        """How many rows may come out of a node, where values are as frequent as they mostly are."""
        if isinstance(node, Join) and not node.semi:
            return int(self._guess(node.left) * max(1.0, self._size(node.right) ** 0.25))
        below = inputs_of(node)
        return self._guess(below[0]) if below and not isinstance(node, Scan) else self._size(node)

    def _size(self, node: Algebra) -> int:
        scans = [one for one in walk(node) if isinstance(one, Scan)]
        return max((self._sizes(scan) for scan in scans), default=1)


def is_too_large(error: BaseException) -> bool:
    """Whether Spark refused to send so many rows to every task."""
    text = str(error)
    return "maxResultSize" in text or "Cannot broadcast" in text or "_LEGACY_ERROR_TEMP_2249" in text
