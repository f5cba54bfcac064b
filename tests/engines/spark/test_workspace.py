"""Where a knowledge base keeps its tables on Spark, and that nothing stays there."""

from __future__ import annotations

import resource
import subprocess
import sys
from pathlib import Path
from urllib.parse import urlparse

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from corollary import KnowledgeBase
from corollary.diagnostics import ProgramError
from corollary.engines.spark.relations import FrameStore, empty_frame, union
from corollary.engines.spark.workspace import Workspace, choose_directory
from tests.engines.spark.frames import frame_of_ids

pytestmark = pytest.mark.spark

SCRIPT = """
import sys
from corollary.engines.spark_session import start_session
from corollary.engines.spark.workspace import Workspace
spark = start_session("test", cores=1, heap_megabytes=1024)
workspace = Workspace(spark, sys.argv[1])
workspace.table(spark.range(5).toDF("c0"), "numbers")
workspace.checkpoint(spark.range(3))
print(workspace.path, flush=True)
{ending}
"""


def folder(path: str) -> Path:
    return Path(urlparse(path).path)


def test_what_was_asked_for_comes_before_what_spark_was_given_and_that_before_this_machine() -> None:
    assert choose_directory("hdfs://a/b", "hdfs://c", "spark://x:7077") == "hdfs://a/b"
    assert choose_directory(None, "s3a://c", "yarn") == "s3a://c"
    assert choose_directory("/shared/x", None, "spark://x:7077") == "file:///shared/x"
    assert choose_directory(None, None, "local[2]").startswith("file:///")
    for master in ("spark://x:7077", "local-cluster[2,1,1024]", "yarn"):
        with pytest.raises(ProgramError, match="E410"):
            choose_directory(None, None, master)


def test_tables_are_counted_and_read_from_their_files(spark: SparkSession, tmp_path: Path) -> None:
    with Workspace(spark, str(tmp_path)) as workspace:
        frame = workspace.table(frame_of_ids(spark, np.arange(10, dtype=np.int64).reshape(5, 2)).df, "a/strange näme")
        assert (frame.rows, frame.arity, frame.columns) == (5, 2, ["c0", "c1"])
        assert sorted(map(tuple, frame.df.collect())) == [(0, 1), (2, 3), (4, 5), (6, 7), (8, 9)]
        empty = workspace.table(empty_frame(spark, 3).df, "empty")
        assert (empty.rows, empty.df.count(), empty.df.columns) == (0, 0, ["c0", "c1", "c2"])
        filtered = workspace.table(frame.df.where("c0 < 0"), "filtered")
        assert (filtered.rows, filtered.df.count()) == (0, 0)


def test_large_tables_of_the_driver_become_few_files(spark: SparkSession, tmp_path: Path) -> None:
    rows = 600_000
    table = pa.table({"c0": pa.array(range(rows), pa.int64()), "c1": pa.array(["a", "b"] * (rows // 2), pa.string())})
    with Workspace(spark, str(tmp_path)) as workspace:
        kept, path = workspace.keep(table, "numbers")
        assert len(list(folder(path).iterdir())) == 2
        assert kept.selectExpr("count(1)", "sum(c0)", "max(c1)").collect() == [(rows, rows * (rows - 1) // 2, "b")]


def test_a_driver_that_cannot_write_says_so(spark: SparkSession, tmp_path: Path) -> None:
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    with KnowledgeBase("big(X) :- n(X), X > 10.", engine=spark, workspace=str(tmp_path)) as kb:
        resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 12, limits[1]))
        try:
            with pytest.raises(
                ProgramError, match=r"E410.*encode: cannot store the facts of facts of 'n': .*File too large"
            ):
                kb.insert("n", pa.table({"n": np.random.default_rng(1).permutation(300_000)}))
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        assert kb.insert("n", [(7,), (11,)]) == 2
        assert list(kb.facts("big")) == [(11,)]


def test_two_knowledge_bases_share_nothing_and_close_alone(spark: SparkSession, tmp_path: Path) -> None:
    one, two = Workspace(spark, str(tmp_path)), Workspace(spark, str(tmp_path))
    first, second = one.checkpoint(spark.range(3)), two.checkpoint(spark.range(4))
    third = one.checkpoint(spark.range(5))
    assert [df.count() for df in (first, second, third)] == [3, 4, 5]
    one.close()
    one.close()
    assert second.count() == 4
    assert all(one.name.startswith(folder(two.path).name) for one in tmp_path.iterdir())
    two.close()
    assert list(tmp_path.iterdir()) == []


def test_a_table_that_fails_leaves_no_file(spark: SparkSession, tmp_path: Path) -> None:
    with Workspace(spark, str(tmp_path)) as workspace:
        with pytest.raises(Exception, match="broken on purpose"):
            workspace.table(spark.range(5).selectExpr("raise_error('broken on purpose') AS c0"), "broken")
        assert list(folder(workspace.path).iterdir()) == []
        assert workspace.table(spark.range(2).toDF("c0"), "next").rows == 2


def test_a_directory_that_cannot_be_made_is_an_error_that_names_it(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(ProgramError) as caught:
        Workspace(spark, str(tmp_path / "file"))
    assert "E410" in str(caught.value)
    assert f"cannot make {(tmp_path / 'file').as_uri()}/corollary-" in str(caught.value)


@pytest.mark.slow
@pytest.mark.parametrize(
    "ending",
    ["", "raise SystemExit('failed')", "raise KeyboardInterrupt", "spark.stop()", "import os; os.kill(os.getpid(), 9)"],
)
def test_nothing_stays_however_the_process_ends(tmp_path: Path, ending: str) -> None:
    import time

    script = SCRIPT.format(ending=ending)
    run = subprocess.run([sys.executable, "-c", script, str(tmp_path)], capture_output=True, text=True, check=False)
    assert "corollary-" in run.stdout
    for _ in range(100):  # a killed process leaves the rest to Java, which ends a little later
        if not list(tmp_path.iterdir()):
            return
        time.sleep(0.1)
    assert list(tmp_path.iterdir()) == []


def test_the_store_shows_what_was_loaded_and_what_was_derived(spark: SparkSession) -> None:
    store = FrameStore(spark, {"p": 1, "none": 2})
    store.add_explicit("p", frame_of_ids(spark, np.array([[4], [8]], np.int64)))
    store.add_derived("p", frame_of_ids(spark, np.array([[12]], np.int64)))
    assert store.rows("p") == store.visible("p").rows == 3
    assert sorted(row.c0 for row in store.visible("p").df.collect()) == [4, 8, 12]
    assert (store.visible("none").rows, store.visible("none").columns) == (0, ["c0", "c1"])
    nothing = frame_of_ids(spark, np.empty((1, 0), np.int64))
    assert (nothing.arity, nothing.rows, [tuple(row) for row in nothing.df.collect()]) == (0, 1, [(0,)])
    assert union([empty_frame(spark, 1), store.visible("p")]).rows == 3


def test_a_checkpoint_that_fails_leaves_nothing_in_the_directory_of_the_caller(
    spark: SparkSession, tmp_path: Path
) -> None:
    java = spark.sparkContext._jsc.sc()
    before = java.getCheckpointDir()
    spark.sparkContext.setCheckpointDir(str(tmp_path))
    try:
        mine = spark.range(4).checkpoint()
        with Workspace(spark) as workspace:
            kept = workspace.checkpoint(mine.selectExpr("id + 1 AS id"))
            (place,) = tmp_path.iterdir()
            files = sorted(place.iterdir())
            assert len(files) == 2
            halfway = kept.repartitionByRange(3, "id").selectExpr(
                "IF(id < 4, id, assert_true(id < 4, 'halfway')) AS id"
            )
            with pytest.raises(Exception, match="halfway"):
                workspace.checkpoint(halfway)
            assert sorted(place.iterdir()) == files
            assert sorted(row["id"] for row in kept.collect()) == [1, 2, 3, 4]
            assert mine.count() == 4
        assert len(list(place.iterdir())) == 1
    finally:
        getattr(java, "checkpointDir_$eq")(before)
