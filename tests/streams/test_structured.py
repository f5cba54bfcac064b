"""Structured Streaming into a knowledge base on Spark: every batch is a transaction, exactly once, and so is the feed."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path

import polars
import pytest
from pyspark.sql import DataFrame, SparkSession

from corollary import KnowledgeBase, ProgramError
from corollary.engines.spark.context import SparkSettings
from corollary.program import Iri
from corollary.streams.structured import SparkStream
from tests.services.spark_session import shared_session
from tests.streams.structured_steps import PROGRAM, SCHEMA, expected, write_batch

pytestmark = pytest.mark.spark
NOW = {"availableNow": True}


@pytest.fixture(scope="module")
def spark() -> SparkSession:
    return shared_session()


def state(kb: KnowledgeBase) -> dict[str, set]:
    return {name: set(kb.facts(name)) for name in kb.predicates() if kb.count(name)}


def changes(spark: SparkSession, folder: Path, schema: str = SCHEMA) -> DataFrame:
    return spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).json(str(folder))


def run(kb: KnowledgeBase, frame: DataFrame, **options: object) -> SparkStream:
    stream = kb.write_stream(frame, trigger=NOW, **options)
    stream.await_end()
    return stream


def write(folder: Path, name: str, *rows: dict) -> None:
    folder.mkdir(exist_ok=True)
    (folder / name).write_text("".join(json.dumps(row) + "\n" for row in rows))


def test_batches_are_versions_and_the_feed_has_each_once(spark: SparkSession, tmp_path: Path) -> None:
    folder, place, checkpoint = tmp_path / "in", tmp_path / "kb", tmp_path / "checkpoint"
    kb = KnowledgeBase.create(place, PROGRAM, engine=spark)
    kb.feed(tmp_path / "feed", ["path", "lonely"], snapshot=True)
    kb.publish(tmp_path / "tables", ["path"])
    write_batch(folder, 1)
    first = run(kb, changes(spark, folder), checkpoint=checkpoint, order="at")
    assert [(one.batch, one.applied, one.rejected) for one in first.results] == [(0, True, 0)]
    assert state(kb) == state(expected(1))
    assert kb.marks["streams"] == {first.query.id: {"batch": 0}}
    write_batch(folder, 2)
    again = KnowledgeBase.open(place, engine=spark)
    again.feed(tmp_path / "feed", ["path", "lonely"])
    again.publish(tmp_path / "tables", ["path"])
    second = run(again, changes(spark, folder), checkpoint=checkpoint, order="at")
    assert [(one.batch, one.applied) for one in second.results] == [(1, True)]
    assert second.query.id == first.query.id
    assert state(KnowledgeBase.open(place)) == state(expected(2))
    assert not KnowledgeBase.verify(place)
    check_feed(tmp_path / "feed", {name: state(expected(2)).get(name, set()) for name in ("path", "lonely")})
    published = polars.read_delta(str(tmp_path / "tables" / "path.delta"))
    assert set(published.rows()) == set(expected(2).facts("path"))


def check_feed(feed: Path, facts: dict[str, set]) -> None:
    """Its changes lead from nothing to the facts, and no version has one of them twice."""
    rows = polars.read_delta(str(feed)).rows()
    assert len(set(rows)) == len(rows)
    found: Counter[tuple] = Counter()
    for _, predicate, op, values in rows:
        found[predicate, tuple(json.loads(values))] += 1 if op == "insert" else -1
    assert {fact: count for fact, count in found.items() if count} == {
        (name, row): 1 for name, some in facts.items() for row in some
    }


def test_a_batch_that_comes_again_changes_nothing(spark: SparkSession, tmp_path: Path) -> None:
    """As after a crash between the version and the commit of Spark's own log."""
    folder, checkpoint = tmp_path / "in", tmp_path / "checkpoint"
    kb = KnowledgeBase.create(tmp_path / "kb", PROGRAM, engine=spark)
    write_batch(folder, 1)
    run(kb, changes(spark, folder), checkpoint=checkpoint, order="at")
    version = kb.version
    for file in (checkpoint / "commits").iterdir():
        if file.name.lstrip(".").startswith("0"):
            file.unlink()
    stream = run(kb, changes(spark, folder), checkpoint=checkpoint, order="at")
    assert [(one.batch, one.applied) for one in stream.results] == [(0, False)]
    assert (kb.version, state(kb)) == (version, state(expected(1)))


BAD = [
    ({"op": "upsert", "predicate": "edge", "a1": 1, "a2": 2}, "E458", "op is 'upsert'"),
    ({"predicate": "edge", "a1": 1, "a2": 2}, "E458", "op is null"),
    ({"op": "insert", "predicate": "egde", "a1": 1, "a2": 2}, "E451", "'egde'"),
    ({"op": "insert", "a1": 1, "a2": 2}, "E451", "'null'"),
    ({"op": "insert", "predicate": "edge", "a1": 1}, "E458", "column 'a2' is null"),
    ({"op": "delete", "predicate": "node", "a1": 1, "a2": 2}, "E458", "column 'a2' is another one"),
]


@pytest.mark.parametrize("most", [50_000, pytest.param(3, marks=pytest.mark.slow)])
def test_bad_changes_are_rejected_and_the_others_applied(spark: SparkSession, tmp_path: Path, most: int) -> None:
    folder = tmp_path / "in"
    good = {"op": "insert", "predicate": "edge", "a1": 7, "a2": 8}
    write(folder, "1.json", good, *(row for row, _, _ in BAD))
    kb = KnowledgeBase(PROGRAM, engine=spark, spark_settings=SparkSettings(change_rows=most))
    before = state(kb)
    with pytest.raises(ProgramError, match="batch 0"):
        run(kb, changes(spark, folder), policy="fail")
    assert state(kb) == before
    stream = run(kb, changes(spark, folder), rejects=tmp_path / "rejects")
    assert kb.count("edge") == 2
    found = {(one.code, one.reason) for one in stream.rejects}
    assert len(found) == len(BAD)
    for _, code, reason in BAD:
        assert any(code == one and reason in text for one, text in found), (code, reason)
    (log,) = (tmp_path / "rejects").glob("batch-*.jsonl")
    files = [log] if log.is_file() else list(log.glob("*.json"))
    lines = [json.loads(line) for file in files for line in file.read_text().splitlines()]
    assert {line["code"] for line in lines} == {"E451", "E458"}
    assert Counter(json.loads(line["change"]).get("op", "none") for line in lines) == Counter(
        row.get("op", "none") for row, _, _ in BAD
    )


@pytest.mark.slow
def test_a_batch_that_is_too_large_is_rejected_as_a_whole(spark: SparkSession, tmp_path: Path) -> None:
    folder = tmp_path / "in"
    write(folder, "1.json", *({"op": "insert", "predicate": "node", "a1": number} for number in range(5)))
    kb = KnowledgeBase(PROGRAM, engine=spark)
    with pytest.raises(ProgramError, match="E453"):
        run(kb, changes(spark, folder), policy="fail", largest=4)
    stream = run(kb, changes(spark, folder), largest=4)
    assert [(one.changes, one.rejected) for one in stream.results] == [(5, 5)]
    assert kb.count("node") == 1


@pytest.mark.parametrize("most", [50_000, pytest.param(3, marks=pytest.mark.slow)])
def test_the_last_change_of_a_fact_counts(spark: SparkSession, tmp_path: Path, most: int) -> None:
    """What has arrived is looked at before anything is applied: a fact that comes and goes in a batch never comes."""
    folder = tmp_path / "in"
    steps = [("insert", 5), ("delete", 5), ("delete", 0), ("insert", 0), ("insert", 6), ("delete", 7), ("insert", 7)]
    rows = [{"op": op, "predicate": "node", "a1": node, "at": at} for at, (op, node) in enumerate(steps)]
    write(folder, "1.json", *reversed(rows))
    kb = KnowledgeBase(PROGRAM, engine=spark, spark_settings=SparkSettings(change_rows=most))
    stream = run(kb, changes(spark, folder), order="at")
    assert set(kb.facts("node")) == {(0,), (6,), (7,)}
    assert [(one.changes, one.explicit_inserted, one.explicit_deleted) for one in stream.results] == [(7, 2, 0)]
    plain = KnowledgeBase(PROGRAM, engine=spark, spark_settings=SparkSettings(change_rows=most))
    run(plain, changes(spark, folder), columns=["a1", "a2"])
    assert set(plain.facts("node")) == {(0,), (5,), (6,), (7,)}  # without an order, insertions count


@pytest.mark.slow
def test_each_predicate_may_have_columns_of_its_own(spark: SparkSession, tmp_path: Path) -> None:
    program = "@prefix ex: <http://example.org/> . hot(S) :- ex:reading(S, T), T > 30. good. ex:reading(s0, 1.5)."
    folder = tmp_path / "in"
    write(
        folder,
        "1.json",
        {"op": "insert", "predicate": "ex:reading", "sensor": "s1", "value": 31.5},
        {"op": "insert", "predicate": "http://example.org/reading", "sensor": "s2", "value": 20.0},
        {"op": "delete", "predicate": "good"},
    )
    kb = KnowledgeBase(program, engine=spark)
    frame = changes(spark, folder, "op string, predicate string, sensor string, value double")
    run(kb, frame, columns={"ex:reading": ["sensor", "value"], "good": []}, policy="fail")
    assert set(kb.facts("hot")) == {("s1",)}
    said = frame.schema["sensor"].metadata
    iris = frame.withMetadata("sensor", {**said, "corollary": "iris"})
    run(kb, iris, columns={"ex:reading": ["sensor", "value"], "good": []}, policy="fail")
    assert set(kb.facts("hot")) == {("s1",), (Iri("s1"),)}
    kb.delete("ex:reading", [(Iri("s1"), 31.5), (Iri("s2"), 20.0)])
    assert (kb.count("ex:reading"), kb.count("good")) == (3, 0)


@pytest.mark.slow
def test_changes_of_one_predicate_need_no_column_for_it(spark: SparkSession, tmp_path: Path) -> None:
    folder = tmp_path / "in"
    spark.createDataFrame([("insert", 8, 9), ("delete", 0, 1)], "op string, source long, target long").coalesce(
        1
    ).write.parquet(str(folder))
    kb = KnowledgeBase(PROGRAM, engine=spark)
    frame = spark.readStream.schema("op string, source long, target long").parquet(str(folder))
    run(kb, frame, predicate="edge", policy="fail")
    assert set(kb.facts("path")) == {(8, 9)}


def test_what_cannot_be_followed_is_told_before_anything_starts(spark: SparkSession, tmp_path: Path) -> None:
    kb = KnowledgeBase(PROGRAM, engine=spark)
    folder = tmp_path / "in"
    folder.mkdir()
    frame = changes(spark, folder)
    for wrong, code in (
        (lambda: kb.write_stream(frame.drop("op")), "E459"),
        (lambda: kb.write_stream(frame, order="time"), "E459"),
        (lambda: kb.write_stream(frame, columns={"edge": ["a1"]}), "E459"),
        (lambda: kb.write_stream(frame, columns={"edge": ["a1", "a9"]}), "E459"),
        (lambda: kb.write_stream(frame, predicate="egde"), "E451"),
        (lambda: kb.write_stream(spark.range(3)), "E455"),
        (lambda: KnowledgeBase(PROGRAM).write_stream(frame), "E455"),
        (lambda: KnowledgeBase.create(tmp_path / "kb", PROGRAM, engine=spark).write_stream(frame), "E455"),
    ):
        with pytest.raises(ProgramError, match=code):
            wrong()


@pytest.mark.slow
def test_a_rate_source_and_a_socket(spark: SparkSession) -> None:
    import socket

    kb = KnowledgeBase("even(X) :- number(X, Y), Y = 0. number(0, 0).", engine=spark)
    rate = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", 4).load()
    frame = rate.selectExpr("'insert' AS op", "value", "value % 2 AS rest")
    with kb.write_stream(frame, predicate="number", policy="fail") as stream:
        while len(stream.results) < 2 and stream.is_active:
            stream.await_end(0.1)
    assert kb.count("even") == (kb.count("number") + 1) // 2 >= 4
    with socket.create_server(("127.0.0.1", 0)) as server:
        lines = spark.readStream.format("socket").option("host", "127.0.0.1")
        text = lines.option("port", server.getsockname()[1]).load()
        frame = text.selectExpr("from_json(value, 'op string, a1 long, a2 long') AS c").select("c.*")
        with kb.write_stream(frame, predicate="number", policy="fail") as stream:
            connection, _ = server.accept()
            with connection:
                connection.sendall(b'{"op": "delete", "a1": 0, "a2": 0}\n{"op": "insert", "a1": 99, "a2": 0}\n')
                while (0,) in set(kb.facts("even")) or (99,) not in set(kb.facts("even")):
                    assert stream.is_active
                    stream.await_end(0.1)


@pytest.mark.parametrize("moment", ["before the version", "before the feed", "before the tables", "after"])
@pytest.mark.slow
def test_a_killed_query_goes_on_where_it_was(tmp_path: Path, moment: str) -> None:
    """SIGKILL in the middle of batch 1; the next process finds a whole version, and brings everything else there."""
    folder, place = tmp_path / "in", tmp_path / "kb"
    for number in (1, 2, 3):
        write_batch(folder, number)
    KnowledgeBase.create(place, PROGRAM)
    command = [sys.executable, "-m", "tests.streams.structured_steps", str(tmp_path)]
    root = Path(__file__).parents[2]
    killed = subprocess.run([*command, moment], capture_output=True, text=True, cwd=root)
    assert killed.returncode == -signal.SIGKILL, killed.stderr[-2000:]
    found = KnowledgeBase.open(place)
    done = max((one["batch"] + 1 for one in found.marks.get("streams", {}).values()), default=0)
    assert state(found) == state(expected(done))
    assert done == (1 if moment == "before the version" else 2)
    finished = subprocess.run([*command, "never"], capture_output=True, text=True, cwd=root)
    assert finished.returncode == 0, finished.stderr[-2000:]
    assert state(KnowledgeBase.open(place)) == state(expected(3))
    check_feed(tmp_path / "feed", {"path": state(expected(3)).get("path", set())})
    published = polars.read_delta(str(tmp_path / "tables" / "path.delta")).rows()
    assert sorted(published) == sorted(expected(3).facts("path"))
