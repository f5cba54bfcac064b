"""Runs programs on the Spark engine, from facts in their texts to facts as the oracle has them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
from pyspark.sql import SparkSession

from corollary.analysis import analyse
from corollary.engines.embedded.values.encoder import encode_constants
from corollary.engines.spark.context import Context, SparkSettings
from corollary.engines.spark.engine import SparkEngine
from corollary.engines.spark.relations import COUNT, Frame, FrameStore
from corollary.engines.spark.terms.task_universe import TaskUniverse
from corollary.engines.spark.terms.universe import settled
from corollary.language import parse_program
from corollary.program import Constant, Program, Query
from tests.engines.spark.frames import frame_of_ids
from tests.oracle import Fact

Name = TypeVar("Name")


class EngineRun:
    """A program, loaded and derived when somebody asks. A context manager, so that its files go."""

    def __init__(self, spark: SparkSession, program: Program | str, **settings: Any) -> None:
        self.program = parse_program(program) if isinstance(program, str) else program
        chosen = SparkSettings(**{"partitions": 2, **settings})
        self.context = Context.open(spark, chosen)
        self.store = FrameStore(self.context.spark)
        settled(self._load)
        self.engine = SparkEngine(analyse(self.program).evaluated, self.context, self.store)

    def __enter__(self) -> EngineRun:
        return self

    def __exit__(self, *_: object) -> None:
        self.context.workspace.close()

    def _load(self) -> None:
        task = TaskUniverse(self.context.universe.collisions)
        rows: dict[tuple[str, int], list[Any]] = {}
        for block in self.program.facts:
            rows.setdefault((block.predicate, block.arity), []).extend(block.rows)
        frames = {}
        for (predicate, arity), found in rows.items():
            codes = np.empty((len(found), arity), np.uint32)
            for place, column in enumerate(zip(*found, strict=True)):
                codes[:, place] = encode_constants(task.universe, column)
            frames[predicate] = np.unique(task.ids(codes), axis=0) if arity else np.empty((1, 0), np.int64)
        self.context.universe.append(task.new_terms())
        for predicate, ids in frames.items():
            self.store.explicit.pop(predicate, None)
            self.store.add_explicit(predicate, frame_of_ids(self.context.spark, ids))

    def facts(self) -> dict[str, set[Fact]]:
        """The visible facts of every predicate that has some; all of them in one job."""
        self.engine.materialise()
        names = [name for name in self.engine.predicates() if self.store.frames(name)]
        return decoded(self.context, {name: self.store.visible(name) for name in names})

    def answers(self, query: Query) -> set[Fact]:
        return decoded(self.context, {"answer": self.engine.answers(query)}).get("answer", set())

    @property
    def strategies(self) -> dict[str, str]:
        """How each hyper-node ran."""
        return {str(report.node): report.strategy for report in self.engine.report.nodes}


def decoded(context: Context, frames: dict[str, Frame]) -> dict[str, set[Fact]]:
    """The facts of frames as the oracle has them, all of them in one job."""
    return {name: set(numbers) for name, numbers in decoded_numbers(context, frames).items()}


def decoded_numbers(context: Context, frames: Mapping[Name, Frame]) -> dict[Name, dict[Fact, int]]:
    """The same with the numbers that counted frames have beside their facts, and 1 for others."""
    if not frames:
        return {}
    width = max(max(1, frame.arity) for frame in frames.values())
    tables = [
        frame.df.selectExpr(
            f"{number} AS frame",
            COUNT if COUNT in frame.df.columns else f"1L AS {COUNT}",
            *(f"c{k}" if k < max(1, frame.arity) else f"CAST(NULL AS LONG) AS c{k}" for k in range(width)),
        )
        for number, frame in enumerate(frames.values())
    ]
    union = tables[0]
    for table in tables[1:]:
        union = union.union(table)
    table: pa.Table = union.toArrow()
    task = TaskUniverse(context.universe.collisions)
    task.learn(context.universe.df.toArrow())
    found: dict[Name, dict[Fact, int]] = {}
    numbers = table.column("frame").to_numpy()
    for number, (name, frame) in enumerate(frames.items()):
        chosen = table.filter(pa.array(numbers == number))
        assert frame.rows in (None, chosen.num_rows), f"{name}: {frame.rows} rows were promised"
        rows = list(_rows(task, chosen, frame.arity))
        assert len(rows) == len(set(rows)), f"{name} has duplicates"
        if rows:
            found[name] = dict(zip(rows, chosen.column(COUNT).to_pylist(), strict=True))
    return found


def _rows(task: TaskUniverse, table: pa.Table, arity: int) -> Iterable[Fact]:
    if not arity:
        return [()] * table.num_rows
    columns = [task.universe.values(task.codes(table.column(f"c{k}").to_numpy()).tolist()) for k in range(arity)]
    return zip(*([Constant(value) for value in column] for column in columns), strict=True)
