"""Results on Spark: evaluated when they are read, and fetched into the driver as a whole only on request."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np

from corollary.engines.embedded.relations.relation import Codes
from corollary.engines.embedded.values.universe import Universe
from corollary.engines.spark.failures import driver_failures
from corollary.engines.spark.publish.chunks import Chunk, chunks_of, first_rows
from corollary.engines.spark.publish.decoded import Decoded
from corollary.engines.spark.publish.publisher import write_decoded
from corollary.engines.spark.relations import Frame
from corollary.language import Printer
from corollary.program import Value
from corollary.program.python_values import to_python
from corollary.results import SHOWN, Result

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from corollary.engines.spark.context import Context


class SparkResult(Result):
    """Rows of ids in a frame of Spark, in the order of `variables`.

    Iterating fetches a few thousand rows at a time. `to_spark()` fetches none; `to_arrow()`, `to_pandas()`, `sorted()` and
    `codes` fetch and keep all of them.
    """

    def __init__(
        self, context: Context, frame: Frame, variables: Sequence[str], prefixes: Mapping[str, str] | None = None
    ) -> None:
        self._context = context
        self._frame = frame
        self._prefixes = dict(prefixes or {})
        self.variables = tuple(variables)

    def __len__(self) -> int:
        return self._count

    @cached_property
    def _count(self) -> int:
        if self._frame.rows is not None:
            return self._frame.rows
        with driver_failures(self._context.spark):
            return self._decoded.summary.rows

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        for row in self.constants():
            yield tuple(map(to_python, row))

    def constants(self) -> Iterator[tuple[Value, ...]]:
        if "_collected" in self.__dict__:
            yield from super().constants()
            return
        for chunk in self._chunks():
            yield from chunk.constants()

    def _chunks(self) -> Iterator[Chunk]:
        with driver_failures(self._context.spark):
            yield from chunks_of(self._decoded)

    @cached_property
    def _collected(self) -> tuple[Universe, Codes]:
        """Every row, as codes of an embedded universe."""
        from corollary.engines.spark.terms.task_universe import TaskUniverse

        known = TaskUniverse()
        parts = [np.empty((0, self._frame.arity), np.uint32)]
        for chunk in self._chunks():
            parts.append(chunk.codes(known))
        return known.universe, np.concatenate(parts)

    # The attributes that `Result` uses; reading them collects everything to the driver.

    @property
    def _universe(self) -> Universe:  # type: ignore[override]
        return self._collected[0]

    @property
    def _rows(self) -> Codes:
        return self._collected[1]

    @cached_property
    def _decoded(self) -> Decoded:
        return Decoded(self._context, self._frame, self.variables)

    def to_spark(self, session: SparkSession | None = None) -> DataFrame:
        """Return a data frame of values with a column per variable; no row is fetched into the driver.

        `session` may only be the session of the rows.
        """
        if session is not None and session is not (self._context.caller or self._context.spark):
            raise ValueError("these rows stand on another Spark session")
        return self._context.for_caller(self._decoded.df)

    @property
    def decoded(self) -> Decoded:
        """The rows with what is known of their constants, for writers."""
        return self._decoded

    def write(self, path: str | PathLike[str], **options: Any) -> int:
        """Write the rows and return their number; the options are those of `write_decoded`."""
        with driver_failures(self._context.spark):
            return write_decoded(self._decoded, path, **options)

    def __repr__(self) -> str:
        rows = "rows" if self._frame.rows is None and "_count" not in self.__dict__ else f"{len(self):,} rows"
        return f"<SparkResult: {rows} of ({', '.join(self.variables)})>"

    @cached_property
    def _shown(self) -> list[list[str]]:
        printer = Printer(self._prefixes)
        chunk = first_rows(self._decoded, SHOWN)
        return [[printer.value(value) for value in row] for row in chunk.constants()]
