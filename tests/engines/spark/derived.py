"""Runs programs on Spark by one strategy for every hyper-node, from facts of the program's text to facts that the oracle has."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from pyspark.sql import SparkSession

from corollary.analysis import checked
from corollary.engines.spark.context import Context, SparkSettings
from corollary.engines.spark.relations import Frame, FrameStore
from corollary.engines.spark.strategies.jobs import NodeJob, NodeOutcome
from corollary.engines.spark.strategies.rounds import RoundsStrategy
from corollary.engines.spark.terms.task_universe import TaskUniverse
from corollary.engines.spark.terms.universe import settled
from corollary.language import parse_program
from corollary.program import Constant, Program
from tests.engines.spark.frames import frame_of_ids
from tests.oracle import Fact, evaluate

SETTINGS = SparkSettings(partitions=2)


class Derivation:
    """A program, loaded; `run` derives everything. A context manager, so that its files go."""

    def __init__(self, spark: SparkSession, program: Program | str, settings: SparkSettings = SETTINGS) -> None:
        self.program = parse_program(program) if isinstance(program, str) else program
        self.graph = checked(self.program).graph
        self.context = Context.open(spark, settings)
        self.store = FrameStore(self.context.spark)
        settled(self._load)

    def __enter__(self) -> Derivation:
        return self

    def __exit__(self, *_: object) -> None:
        self.context.workspace.close()

    def _load(self) -> None:
        """Facts and constants of rules, by the ids that the universe's collisions say."""
        task = TaskUniverse(self.context.universe.collisions)
        rows: dict[tuple[str, int], list[Any]] = {}
        for block in self.program.facts:
            for row in block.rows:
                rows.setdefault((block.predicate, len(row)), []).append(row)
        frames = {}
        for (predicate, arity), found in rows.items():
            codes = task.universe.encode_values([value for row in found for value in row])
            frames[predicate] = np.unique(task.ids(codes).reshape(len(found), arity), axis=0)
        task.ids(task.universe.encode_values([one.value for one in constants_of(self.program)]))
        self.context.universe.append(task.new_terms())
        for predicate, ids in frames.items():
            self.store.explicit[predicate] = frame_of_ids(self.context.spark, ids)

    def jobs(self) -> list[NodeJob]:
        return [NodeJob.of(self.graph, node) for node in self.graph.hyper_nodes]

    def run(self, states: Mapping[str, Frame] | None = None) -> list[NodeOutcome]:
        outcomes = []
        for job in self.jobs():
            outcomes.append(RoundsStrategy().run(job, self.store, self.context, states))
            for predicate, frame in outcomes[-1].facts.items():
                assert frame.rows == frame.df.count()
                self.store.add_derived(predicate, frame)
        return outcomes

    def facts(self) -> dict[str, set[Fact]]:
        task = TaskUniverse(self.context.universe.collisions)
        task.learn(self.context.universe.df.toArrow())
        found: dict[str, set[Fact]] = {}
        for predicate in {*self.store.explicit, *self.store.derived}:
            frame = self.store.visible(predicate)
            table = frame.df.toArrow()
            assert all(column.null_count == 0 for column in table.columns)
            if frame.arity == 0:
                rows: list[Fact] = [()] * table.num_rows
            else:
                columns = [self._values(task, column.to_numpy()) for column in table.columns]
                rows = list(zip(*columns, strict=True))
            assert len(rows) == len(set(rows)), f"{predicate} has duplicates"
            if rows:
                found[predicate] = set(rows)
        return found

    @staticmethod
    def _values(task: TaskUniverse, ids: np.ndarray[Any, Any]) -> list[Constant]:
        return [Constant(value) for value in task.universe.values(task.codes(ids).tolist())]


def constants_of(program: Program) -> list[Constant]:
    from corollary.program import all_terms_of, subterms

    terms = [term for rule in program.rules for term in rule.head.arguments]
    terms += [term for rule in program.rules for element in rule.body for term in all_terms_of(element)]
    return [part for term in terms for part in subterms(term) if isinstance(part, Constant)]


def derived(spark: SparkSession, program: Program | str, **changes: Any) -> dict[str, set[Fact]]:
    with Derivation(spark, program, replace(SETTINGS, **changes)) as derivation:
        derivation.run()
        return derivation.facts()


def expected(program: Program | str) -> dict[str, set[Fact]]:
    found = evaluate(parse_program(program) if isinstance(program, str) else program)
    return {predicate: facts for predicate, facts in found.items() if facts}
