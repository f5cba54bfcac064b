"""`corollary run` and `spark-submit` with a cluster; here no session of the tests holds its executors."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pyspark
import pytest

import corollary
from corollary.engines.spark_session.java import find_java, shim_home
from tests.services.spark_cluster import SparkCluster, wait_for

pytestmark = [pytest.mark.slow, pytest.mark.spark, pytest.mark.cluster, pytest.mark.xdist_group("cluster")]

COROLLARY = Path(sys.executable).with_name("corollary")
MAIN = Path(corollary.__file__).with_name("__main__.py")
PROGRAM = "edge(1, 2). edge(2, 3). path(X, Y) :- edge(X, Y). path(X, Z) :- edge(X, Y), path(Y, Z). ?- path(1, X).\n"
SCRIPT = """
from pyspark.sql import SparkSession
from corollary import KnowledgeBase

session = SparkSession.builder.getOrCreate()
with KnowledgeBase("path(X, Y) :- edge(X, Y). path(X, Z) :- edge(X, Y), path(Y, Z).", engine=session) as kb:
    kb.insert("edge", session.range(4).selectExpr("id", "id + 1"))
    print(session.sparkContext.master, kb.count("path"))
"""


@pytest.fixture
def program(tmp_path: Path) -> Path:
    file = tmp_path / "program.dl"
    file.write_text(PROGRAM)
    return file


def options(cluster: SparkCluster, workspace: Path) -> list[str]:
    workspace.mkdir(exist_ok=True)
    return ["--engine", "spark", "--master", cluster.master, "--workspace", str(workspace),
            "--conf", "spark.executor.memory=768m"]  # fmt: skip


def run(*command: object, **more: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "NO_COLOR": "1", **more}
    return subprocess.run(
        [str(one) for one in command], capture_output=True, text=True, env=environment, timeout=600, check=False
    )


def test_a_program_runs_on_the_cluster(cluster: SparkCluster, program: Path, tmp_path: Path) -> None:
    done = run(COROLLARY, "run", program, *options(cluster, cluster.shared / "cli"), "--out", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    assert "2" in done.stdout
    assert (tmp_path / "out" / "path.csv").is_file()
    assert list((cluster.shared / "cli").iterdir()) == []


def test_a_cluster_without_a_workspace(cluster: SparkCluster, program: Path) -> None:
    done = run(COROLLARY, "run", program, "--engine", "spark", "--master", cluster.master)
    assert (done.returncode, done.stdout) == (3, "")
    assert "error[E410]" in done.stderr


def test_a_cluster_without_room(cluster: SparkCluster, program: Path) -> None:
    started = time.monotonic()
    tight = ["--conf", "spark.executor.memory=64g", "--conf", "spark.corollary.executorTimeout=3"]
    done = run(COROLLARY, "run", program, *options(cluster, cluster.shared / "cli"), *tight)
    assert (done.returncode, done.stdout) == (3, "")
    assert "error[E411]: the Spark cluster at" in done.stderr
    assert "gave no executor within 3 s" in done.stderr
    assert time.monotonic() - started < 120


def test_nothing_stays_after_an_interrupt(cluster: SparkCluster, tmp_path: Path) -> None:
    file, workspace = tmp_path / "endless.dl", cluster.shared / "interrupted"
    file.write_text("start(1). n(X, 0) :- start(X). n(X, N + 1) :- n(X, N).\n")
    running = subprocess.Popen(
        [str(COROLLARY), "run", str(file), *options(cluster, workspace)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
    )  # fmt: skip
    try:
        wait_for(lambda: list(workspace.glob("corollary-*/*")), 180, lambda: "a table in the workspace")
        time.sleep(3)
        assert running.poll() is None
        os.killpg(running.pid, signal.SIGINT)  # as a terminal does it, to everyone
        _, told = running.communicate(timeout=180)
    finally:
        running.kill()
    assert running.returncode == 130, told
    assert "interrupted" in told
    assert list(workspace.iterdir()) == []


def test_spark_submit(cluster: SparkCluster, tmp_path: Path) -> None:
    script, workspace = tmp_path / "job.py", cluster.shared / "submitted"
    script.write_text(SCRIPT)
    workspace.mkdir()
    home = Path(pyspark.__file__).parent
    done = run(
        home / "bin" / "spark-submit", "--master", cluster.master, "--conf", "spark.executor.memory=768m",
        "--conf", f"spark.checkpoint.dir={workspace.as_uri()}", "--conf", "spark.ui.enabled=false", script,
        SPARK_HOME=str(home), JAVA_HOME=str(shim_home(find_java().program)), PYSPARK_PYTHON=sys.executable,
    )  # fmt: skip
    assert done.stdout.splitlines()[-1:] == [f"{cluster.master} 10"], done.stderr
    assert list(workspace.glob("corollary-*")) == []  # Spark makes a directory of its own there, which stays


def test_the_command_line_under_spark_submit_takes_its_master(cluster: SparkCluster, program: Path) -> None:
    workspace = cluster.shared / "cli"
    workspace.mkdir(exist_ok=True)
    home = Path(pyspark.__file__).parent
    done = run(
        home / "bin" / "spark-submit", "--master", cluster.master, "--conf", "spark.executor.memory=768m",
        "--conf", f"spark.checkpoint.dir={workspace.as_uri()}", MAIN, "run", program, "--engine", "spark",
        SPARK_HOME=str(home), JAVA_HOME=str(shim_home(find_java().program)), PYSPARK_PYTHON=sys.executable,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert list(workspace.glob("corollary-*")) == []
    log = "".join(path.read_text(errors="replace") for path in cluster.directory.glob("master.log"))
    assert log.count("Registering app corollary") >= 1
