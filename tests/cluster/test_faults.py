"""A worker dies in the middle of a fixpoint, with its executor and its disk: the answers are those of the embedded engine."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession

from corollary import KnowledgeBase
from corollary.diagnostics import ProgramError
from corollary.engines.spark.context import SparkSettings
from corollary.engines.spark.workspace import Workspace
from tests.cluster.events import EventLog
from tests.cluster.killing import BusyFor, Checkpoints, Killer, WritingClosure
from tests.services.spark_cluster import SparkCluster

pytestmark = [pytest.mark.slow, pytest.mark.spark, pytest.mark.cluster, pytest.mark.xdist_group("cluster")]

LENGTH = 14
WAYS = """
    odd(X, Y) :- edge(X, Y).
    odd(X, Y) :- even(X, Z), edge(Z, Y).
    even(X, Y) :- odd(X, Z), edge(Z, Y), not closed(Z, Y).
    far(X, count(Y)) :- even(X, Y).
"""
LINKED = "linked(Y, X) :- linked(X, Y). linked(X, Z) :- linked(X, Y), linked(Y, Z)."
PATHS = "path(X, Y) :- edge(X, Y). path(X, Z) :- edge(X, Y), path(Y, Z)."
STEPS = 8_000
"""Rounds of a fixpoint inside one task: it takes some seconds, whatever the machine."""
COUNTING = f"n(X, 0) :- start(X). n(X, N + 1) :- n(X, N), N < {STEPS}."


def pairs(left: np.ndarray, right: np.ndarray) -> pa.Table:
    return pa.table({"a": left, "b": right})


def chains(count: int, length: int) -> pa.Table:
    """Edges of paths whose constants are in no order, so that components need several rounds."""
    names = np.random.default_rng(7).permutation(count * length).reshape(count, length)
    return pairs(names[:, :-1].reshape(-1), names[:, 1:].reshape(-1))


def random_graph(nodes: int, edges: int) -> pa.Table:
    random = np.random.default_rng(11)
    keys = np.unique(random.integers(0, nodes, edges) * nodes + random.integers(0, nodes, edges))
    return pairs(keys // nodes, keys % nodes)


def facts_of(kb: KnowledgeBase, predicate: str) -> np.ndarray:
    """All facts, sorted; these programs have pairs of small integers only."""
    table = kb.facts(predicate).to_arrow()
    left, right = (column.to_numpy() for column in table.columns)
    return np.sort(left.astype(np.int64) << 32 | right.astype(np.int64))


class Case:
    """A program with its facts, on the cluster and embedded."""

    def __init__(self, spark: SparkSession, program: str, facts: dict[str, object], **settings: object) -> None:
        chosen = SparkSettings(**{"partitions": 2, **settings})  # type: ignore[arg-type]
        self.spark = KnowledgeBase(program, engine=spark, spark_settings=chosen)
        self.embedded = KnowledgeBase(program, updates=False)
        for predicate, rows in facts.items():
            self.spark.insert(predicate, rows)
            self.embedded.insert(predicate, rows)

    def strategies(self) -> dict[str, int]:
        """The strategies that hyper-nodes with recursion used, with their rounds."""
        nodes = self.spark.materialise().nodes
        return {one.strategy: one.rounds for one in nodes if self.spark.analysis.graph.is_recursive(one.node)}

    def check(self, *predicates: str) -> None:
        for predicate in predicates:
            found, expected = facts_of(self.spark, predicate), facts_of(self.embedded, predicate)
            assert len(expected) > 0
            assert np.array_equal(found, expected), predicate


def test_rounds_go_on_from_their_checkpoints(cluster: SparkCluster, spark: SparkSession, events: EventLog) -> None:
    closed = [(LENGTH // 2, LENGTH // 2 + 1)]
    facts = {"edge": [(n, n + 1) for n in range(LENGTH)], "closed": closed}
    case = Case(spark, WAYS, facts, strategy="rounds", fold_every=4)
    killer = Killer(cluster, spark, Checkpoints(case.spark, 9))
    with case.spark as kb:
        kb.materialise(watch=killer)
        assert killer.has_killed
        assert case.strategies()["rounds"] > 9
        assert events.lost_executors == 1
        assert events.jobs_after_the_loss > 3
        case.check("odd", "even", "far")


@pytest.fixture
def spread(spark: SparkSession) -> Iterator[None]:
    """Every executor holds a part of every table, so that whichever dies takes something along."""
    wanted = {"spark.sql.adaptive.enabled": "false", "spark.sql.shuffle.partitions": "4"}
    before = {key: spark.conf.get(key) for key in wanted}
    for key, value in wanted.items():
        spark.conf.set(key, value)
    yield
    for key, value in before.items():
        spark.conf.set(key, str(value))


@pytest.mark.usefixtures("spread")
def test_components_do_not_fall_apart(cluster: SparkCluster, spark: SparkSession, events: EventLog) -> None:
    """Where GraphFrames gave other components without a word. With `localCheckpoint` in the workspace this fails."""
    case = Case(spark, LINKED, {"linked": chains(60, 40)}, strategy="closure", single_task_facts=100)
    killer = Killer(cluster, spark, Checkpoints(case.spark, 3))
    with case.spark as kb:
        kb.materialise(watch=killer)
        assert killer.has_killed
        assert case.strategies()["closure"] > 3
        assert events.lost_executors == 1
        assert events.jobs_after_the_loss > 1
        case.check("linked")


@pytest.mark.parametrize("strategy", ["decomposable", "single-task"])
def test_a_task_that_dies_is_run_again(
    cluster: SparkCluster, spark: SparkSession, events: EventLog, strategy: str
) -> None:
    case = Case(spark, COUNTING, {"start": [(n,) for n in range(8)]}, strategy=strategy)
    killer = Killer(cluster, spark, BusyFor(spark, 1.0))
    with case.spark as kb:
        kb.materialise(watch=killer)
        assert killer.has_killed
        assert strategy in case.strategies()
        assert events.ends_of_tasks["ExecutorLostFailure"] > 0
        case.check("n")


def test_a_closure_whose_writer_dies_has_no_fact_twice(
    cluster: SparkCluster, spark: SparkSession, events: EventLog
) -> None:
    case = Case(spark, PATHS, {"edge": random_graph(2_500, 7_500)}, strategy="closure")
    killer = Killer(cluster, spark, WritingClosure(case.spark))
    with case.spark as kb:
        kb.materialise(watch=killer)
        assert killer.has_killed
        assert "closure" in case.strategies()
        assert events.ends_of_tasks["ExecutorLostFailure"] > 0
        case.check("path")


def test_what_was_derived_outlives_every_executor(cluster: SparkCluster, spark: SparkSession) -> None:
    with KnowledgeBase("edge(1, 2). edge(2, 3). " + PATHS, engine=spark) as kb:
        kb.materialise()
        for worker in cluster.alive:
            cluster.start_worker()
            worker.kill()
        assert sorted(kb.facts("path")) == [(1, 2), (1, 3), (2, 3)]


@pytest.mark.parametrize(
    ("program", "facts", "settings"),
    [
        (WAYS, {"edge": chains(200, 12), "closed": [(-1, -1)]}, {"strategy": "rounds"}),
        (LINKED, {"linked": chains(200, 12)}, {"strategy": "closure", "single_task_facts": 100}),
    ],
    ids=["rounds", "components"],
)
def test_a_checkpoint_that_lost_its_end_is_an_error_and_not_an_answer(
    spark: SparkSession,
    monkeypatch: pytest.MonkeyPatch,
    program: str,
    facts: dict[str, object],
    settings: dict[str, object],
) -> None:
    """A file system may say that all is written when it is not (issue 872 of GraphFrames)."""
    monkeypatch.setattr(Workspace, "checkpoint", losing_the_end(5))
    with Case(spark, program, facts, **settings).spark as kb, pytest.raises(ProgramError, match=r"E412.*derive: "):
        kb.materialise()


def losing_the_end(of_which: int) -> Callable[[Workspace, DataFrame], DataFrame]:
    """A way to write checkpoints; one of them is cut off before anybody reads it."""
    original, count = Workspace.checkpoint, 0

    def checkpoint(workspace: Workspace, df: DataFrame) -> DataFrame:
        nonlocal count
        written = original(workspace, df)
        count += 1
        if count == of_which:
            rdd = written._jdf.queryExecution().analyzed().rdd()
            folder = Path(rdd.getCheckpointFile().get().removeprefix("file:"))
            part = max(folder.glob("part-*"), key=lambda path: path.stat().st_size)
            with part.open("r+b") as file:
                file.truncate(part.stat().st_size // 2)
            (folder / f".{part.name}.crc").unlink(missing_ok=True)
        return written

    return checkpoint
