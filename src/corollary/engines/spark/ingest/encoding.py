"""Rows of constants as rows of ids, inside a task or on the driver: a universe grows with what is read, up to a limit."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from corollary.engines.embedded.relations.relation import Codes
from corollary.engines.embedded.values.columns import encode_table
from corollary.engines.embedded.values.universe import Universe
from corollary.engines.spark.ingest.rows import RowMaker
from corollary.engines.spark.terms.ids import CollisionTable
from corollary.engines.spark.terms.task_universe import TaskUniverse

LARGEST_UNIVERSE = 512 << 20
"""Bytes after which the constants that were seen are written and forgotten."""


class TaskEncoder:
    """Makes facts of tables, and at the end rows of the universe of the constants in them, each of which is written once."""

    def __init__(self, maker: RowMaker, collisions: CollisionTable) -> None:
        self._maker = maker
        self.collisions = collisions
        self._universe = TaskUniverse(collisions)

    def table(self, table: pa.Table) -> Iterator[pa.RecordBatch]:
        yield from self.codes(encode_table(self._universe.universe, table))

    def use(self, maker: RowMaker) -> None:
        """Make rows of another width from now on."""
        self._maker = maker

    @property
    def universe(self) -> Universe:
        return self._universe.universe

    def codes(self, codes: Codes) -> Iterator[pa.RecordBatch]:
        """Facts from codes of the universe that this one has now."""
        yield self._maker.facts(self._universe.ids(codes))
        if self._universe.universe.nbytes > LARGEST_UNIVERSE:
            yield from self.finish()
            self._universe = TaskUniverse(self.collisions)

    def finish(self) -> Iterator[pa.RecordBatch]:
        """The constants that are not written yet."""
        yield from self._maker.terms(self._universe.new_terms())
