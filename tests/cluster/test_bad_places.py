"""Directories that are full, or that the machines of a cluster do not share: an error that names the stage, and nothing stays."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import corollary.engines.spark.workspace as workspaces
from corollary import KnowledgeBase
from corollary.diagnostics import ProgramError
from corollary.engines.spark.context import SparkSettings
from corollary.engines.spark.ingest import Ingest
from tests.cluster.test_faults import COUNTING, PATHS, random_graph
from tests.services.spark_cluster import SparkCluster, wait_for

pytestmark = [pytest.mark.slow, pytest.mark.spark, pytest.mark.cluster, pytest.mark.xdist_group("cluster")]

SMALL = "256k"
"""Room for what a knowledge base writes at its start, and not for what these programs derive."""


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "disk"
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", f"size={SMALL}", "tmpfs", str(folder)]
    if not shutil.which("mount") or subprocess.run(command, capture_output=True, check=False).returncode:
        pytest.skip("a small disk needs the right to mount one")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


@pytest.mark.parametrize("strategy", ["closure", "rounds", "single-task"])
def test_a_full_disk_while_rules_run(spark: SparkSession, small_disk: Path, strategy: str) -> None:
    settings = SparkSettings(partitions=2, strategy=strategy)
    with KnowledgeBase(PATHS, engine=spark, workspace=str(small_disk), spark_settings=settings) as kb:
        kb.insert("edge", random_graph(1_500, 4_500))
        with pytest.raises(ProgramError, match=r"E412.*derive: .*\{r2\}: No space left on device") as caught:
            kb.materialise()
        assert str(small_disk) in str(caught.value)
        assert not kb._backend.is_materialised
    assert list(small_disk.iterdir()) == []


def test_a_full_disk_while_files_are_read(
    spark: SparkSession, small_disk: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(Ingest.__init__.__kwdefaults__, "small_file", -1)
    file = tmp_path / "edge.csv"
    file.write_text("".join(f"name of {n},name of {n * 7919 % 200_003}\n" for n in range(200_000)))
    with KnowledgeBase(PATHS, engine=spark, workspace=str(small_disk)) as kb:
        with pytest.raises(ProgramError, match=r"(ingest|encode): .*edge\.csv.*No space left on device"):
            kb.load("edge", file)
        assert kb.count("edge") == 0
    assert list(small_disk.iterdir()) == []


def test_a_full_disk_while_results_are_published(spark: SparkSession, small_disk: Path) -> None:
    with KnowledgeBase(COUNTING, engine=spark) as kb:
        kb.insert("start", [(n,) for n in range(60)])
        target = small_disk / "n.csv"
        target.write_text("what was there\n")
        with pytest.raises(ProgramError, match=r"E407.*publish: cannot write .*n\.csv.*No space left on device"):
            kb.write("n", target)
        assert target.read_text() == "what was there\n"
        assert list(small_disk.iterdir()) == [target]


@pytest.fixture
def separate(cluster: SparkCluster, spark: SparkSession) -> Iterator[Path]:
    """A directory of which one of the workers has another one under the same path."""
    folder = cluster.shared / "separate"
    folder.mkdir(exist_ok=True)
    if os.geteuid() or not shutil.which("unshare"):
        pytest.skip("a disk that one process sees alone needs unshare and the right to use it")
    cluster.alive[0].kill()
    view = ["unshare", "--mount", "sh", "-c", 'mount -t tmpfs tmpfs "$0" && exec "$@"', str(folder)]
    worker = cluster.begin_worker(view)
    cluster.await_worker(worker)
    executors = spark.sparkContext._jsc.sc()
    wait_for(lambda: executors.getExecutorMemoryStatus().size() == 3, 180, lambda: "the executors")
    yield folder
    worker.kill()


def test_a_workspace_that_one_machine_does_not_see(spark: SparkSession, separate: Path) -> None:
    with pytest.raises(ProgramError, match=r"E410.*do not share the workspace: file:\S+ is not there on "):
        KnowledgeBase("edge(1, 2). " + PATHS, engine=spark, workspace=str(separate)).count("path")
    assert list(separate.iterdir()) == []


def test_a_table_of_which_a_part_did_not_arrive(
    spark: SparkSession, separate: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the executor came too late to be asked."""
    monkeypatch.setattr(workspaces, "machines_without", lambda spark, directory: [])
    settings = SparkSettings(partitions=4)
    with KnowledgeBase(PATHS, engine=spark, workspace=str(separate), spark_settings=settings) as kb:
        with pytest.raises(ProgramError, match=r"E410.*do not share.* rows were written, and [\d,]+ arrived"):
            kb.insert("edge", random_graph(10_000, 60_000))
        assert kb.count("edge") == 0
    assert list(separate.iterdir()) == []
