"""A knowledge base in somebody's own Spark session: it gives the same answers there, and leaves everything as it was."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from corollary import KnowledgeBase
from corollary.engines.spark.context import SparkSettings
from tests.budgets import gathered
from tests.engine_suite.engines import NOTHING_IS_SMALL
from tests.engine_suite.scripts import follow
from tests.generator import EVERYTHING, scenarios
from tests.services.spark_session import DEFAULTS, HOSTILE, session_with

pytestmark = pytest.mark.spark

REACH = "path(X, Y) :- edge(X, Y). path(X, Z) :- path(X, Y), edge(Y, Z). edge(1, 2). edge(2, 3)."
BY_ROUNDS = SparkSettings(strategy="rounds", partitions=2)

PLAIN_SCRIPT = """
from pyspark.sql import SparkSession
from corollary import KnowledgeBase

spark = SparkSession.builder.getOrCreate()
with KnowledgeBase("p1(X, 3) :- e1(Z, _), e2(X, _). e1(1, 0). e2(1, 3). e2(2, 2). e2(3, 2).", engine=spark) as kb:
    print(sorted(kb.facts("p1")))
    with kb.transaction() as tx:
        tx.insert("e1", [(0, 1), (1, 3), (1, 1), (4, 2)])
        tx.delete("e2", [(3, 2), (2, 2)])
    print(sorted(kb.facts("p1")))
print(SparkSession.getActiveSession() is spark, spark.conf.get("spark.sql.adaptive.enabled"))
"""


@pytest.fixture(params=[DEFAULTS, HOSTILE], ids=["defaults", "hostile"])
def plain(request: pytest.FixtureRequest) -> SparkSession:
    return session_with(request.param)


@pytest.fixture
def own_directory(spark: SparkSession, tmp_path: Path) -> Iterator[Path]:
    """A directory for checkpoints that the user has chosen."""
    spark.sparkContext.setCheckpointDir(str(tmp_path / "mine"))
    yield tmp_path / "mine"
    spark.sparkContext._jsc.setCheckpointDir(None)


def settings_of(spark: SparkSession) -> dict[str, str]:
    return dict(spark.conf.getAll)


def test_a_session_with_nothing_but_defaults(tmp_path: Path) -> None:
    environment = {**os.environ, "PYSPARK_PYTHON": sys.executable}
    run = subprocess.run(
        [sys.executable, "-c", PLAIN_SCRIPT], capture_output=True, text=True, env=environment, cwd=tmp_path, timeout=300
    )
    assert run.stdout.splitlines() == ["[(1, 3), (2, 3), (3, 3)]", "[(1, 3)]", "True true"], run.stderr[-2000:]


@pytest.mark.parametrize(
    ("plain", "limits"),
    [
        pytest.param(DEFAULTS, NOTHING_IS_SMALL, id="defaults-on-spark"),
        pytest.param(HOSTILE, {}, id="hostile-usual"),
        pytest.param(DEFAULTS, {}, id="defaults-usual", marks=pytest.mark.slow),
        pytest.param(HOSTILE, NOTHING_IS_SMALL, id="hostile-on-spark", marks=pytest.mark.slow),
    ],
    indirect=["plain"],
)
def test_changes_do_not_depend_on_the_settings_of_the_session(plain: SparkSession, limits: dict[str, int]) -> None:
    before = settings_of(plain)
    chosen = gathered(scenarios(EVERYTHING.but(max_changes=3)), 1 if limits else 3)
    follow(chosen, engine=plain, spark_settings=SparkSettings(**limits)).close()
    assert settings_of(plain) == before


TEXTS = """
price("${spark.master}", 1.50). price("it's \\"so\\"", 2). price("back\\\\slash", 2.5e0). price("a", 9223372036854775807).
same(X) :- price(X, _), X = "${spark.master}".
quoted(X) :- price(X, _), X = "it's \\"so\\"".
slashed(X) :- price(X, _), X = "back\\\\slash".
more(X, Z) :- price(X, Y), Z = Y + 1.
both(X, Y) :- price(X, A), price(Y, B), A < B.
most(N) :- AGGREGATE(price(X, Y)) WITH MAX(Y) AS N.
"""


def test_values_and_texts_do_not_depend_on_the_settings_of_the_session(plain: SparkSession) -> None:
    """By rounds, so that Spark's own expressions compute."""
    expected = KnowledgeBase(TEXTS)
    with KnowledgeBase(TEXTS, engine=plain, spark_settings=SparkSettings(strategy="rounds")) as kb:
        for predicate in ("same", "quoted", "slashed", "more", "both", "most"):
            assert set(kb.facts(predicate).constants()) == set(expected.facts(predicate).constants()), predicate


def test_tables_go_in_and_out_of_the_users_session(plain: SparkSession, tmp_path: Path) -> None:
    plain.sql("SELECT TIMESTAMP '2026-01-31 12:00:00 UTC' AS t, 1.5D AS d, 'x' AS s").createOrReplaceTempView("mine")
    with KnowledgeBase("q(X, Y) :- p(X, _, Y). p(X, Y, Z) :- raw(X, Y, Z).", engine=plain) as kb:
        assert kb.load_table("raw", "mine") == 1
        assert kb.insert("raw", plain.table("mine")) == 0
        found = kb.facts("q").to_spark()
        assert found.sparkSession is plain
        found.createOrReplaceTempView("found")
        assert plain.sql("SELECT a2 FROM found").collect()[0].a2 == "x"
        kb.write("q", tmp_path / "q.parquet")
    assert plain.table("mine").count() == 1


# -- what belongs to the user ------------------------------------------------------------------------------------------


def used(spark: SparkSession, **options: Any) -> None:
    with KnowledgeBase(REACH, engine=spark, spark_settings=BY_ROUNDS, **options) as kb:
        assert kb.count("path") == 3


def test_the_users_checkpoints_stay(spark: SparkSession, own_directory: Path) -> None:
    directory = spark.sparkContext.getCheckpointDir()
    before = spark.range(10).checkpoint()
    with KnowledgeBase(REACH, engine=spark, spark_settings=BY_ROUNDS) as kb:
        assert kb.count("path") == 3
        assert spark.sparkContext.getCheckpointDir() == directory
        during = spark.range(20).checkpoint()
    after = spark.range(30).checkpoint()
    assert [df.count() for df in (before, during, after)] == [10, 20, 30]
    assert spark.sparkContext.getCheckpointDir() == directory
    assert len([one for one in own_directory.rglob("rdd-*") if one.is_dir()]) == 3


def test_without_a_directory_for_checkpoints_there_is_none_afterwards(spark: SparkSession, tmp_path: Path) -> None:
    used(spark, workspace=str(tmp_path))
    assert spark.sparkContext.getCheckpointDir() is None
    assert list(tmp_path.iterdir()) == []


def test_two_knowledge_bases_work_and_close_in_any_order(spark: SparkSession, tmp_path: Path) -> None:
    one = KnowledgeBase(REACH, engine=spark, spark_settings=BY_ROUNDS, workspace=str(tmp_path))
    two = KnowledgeBase(REACH, engine=spark, spark_settings=BY_ROUNDS, workspace=str(tmp_path))
    assert (one.count("path"), two.count("path")) == (3, 3)
    assert one.view("path") != two.view("path")
    two.insert("edge", [(3, 4)])
    one.close()
    assert two.count("path") == 6
    assert spark.table(two.view("path")).count() == 6
    two.close()
    assert list(tmp_path.iterdir()) == []
    assert [table.name for table in spark.catalog.listTables() if table.isTemporary] == []


@pytest.mark.compiled_plans  # of the catalogue, Spark interprets none
@pytest.mark.parametrize("engine", ["embedded", "spark"])
def test_views_are_not_the_users(spark: SparkSession, engine: str) -> None:
    spark.range(7).createOrReplaceTempView("edge")
    kb = KnowledgeBase(REACH, engine=spark if engine == "spark" else engine)
    name = kb.view("edge")
    assert name != "edge"
    assert (spark.table(name).count(), spark.table("edge").count()) == (2, 7)
    with pytest.raises(ValueError, match="there is a view or a table 'edge' already"):
        kb.view("edge", name="edge")
    assert kb.view("path", name="reachable") == "reachable"
    assert kb.view("path", name="reachable") == "reachable"
    kb.view("path", name="taken")
    spark.range(5).createOrReplaceTempView("taken")
    kb.close()
    assert sorted(table.name for table in spark.catalog.listTables() if table.isTemporary) == ["edge", "taken"]
    assert (spark.table("edge").count(), spark.table("taken").count()) == (7, 5)
    for one in ("edge", "taken"):
        spark.catalog.dropTempView(one)


def test_the_active_session_stays_the_users(spark: SparkSession) -> None:
    def sessions() -> tuple[SparkSession | None, SparkSession]:
        return SparkSession.getActiveSession(), spark.sparkContext.parallelize([(1,)]).toDF(["x"]).sparkSession

    before = sessions()
    used(spark)
    assert sessions() == before


# -- settings of the engine --------------------------------------------------------------------------------------------

LEAST: dict[str, int] = {
    "single_task_facts": 0, "task_fact_cap": 0, "task_memory": 0, "fold_every": 1, "partitions": 1, "change_rows": 0,
    "driver_facts": 0, "fold_changes": 0, "task_change_facts": 0, "recompute_facts": 0, "hash_bits": 6,
}  # fmt: skip
"""One bit of hashes could tell two texts apart, and not more; with six the few texts of a program collide and find a place."""


def changed(spark: SparkSession, settings: SparkSettings) -> None:
    with KnowledgeBase(REACH + ' named(X, "n") :- path(X, 3).', engine=spark, spark_settings=settings) as kb:
        assert kb.count("path") == 3
        with kb.transaction() as tx:
            tx.insert("edge", [(3, 4), (4, 5)])
            tx.delete("edge", [(1, 2)])
        assert set(kb.facts("path")) == {(2, 3), (2, 4), (2, 5), (3, 4), (3, 5), (4, 5)}
        assert set(kb.facts("named")) == {(2, "n")}


@pytest.mark.parametrize("strategy", [pytest.param(None, marks=pytest.mark.slow), "rounds"])
def test_every_setting_at_its_least_value(spark: SparkSession, strategy: str | None) -> None:
    changed(spark, SparkSettings(strategy=strategy, **LEAST))


@pytest.mark.slow
@pytest.mark.parametrize("name", LEAST)
def test_each_setting_at_its_least_value(spark: SparkSession, name: str) -> None:
    changed(spark, SparkSettings(**{"partitions": 2, name: LEAST[name]}))


def numbers() -> Iterator[str]:
    kinds = {field: str(kind) for field, kind in SparkSettings.__annotations__.items()}
    yield from (name for name, kind in kinds.items() if kind.startswith("int"))


@pytest.mark.parametrize("wrong", [-1, 1.5, "3", True], ids=str)
def test_numbers_that_make_no_sense_are_refused(wrong: object) -> None:
    names = list(numbers())
    assert sorted(names) == sorted(LEAST)
    make: Callable[..., SparkSettings] = SparkSettings
    for name in names:
        with pytest.raises((TypeError, ValueError), match=f"SparkSettings\\({name}=…\\) takes an integer"):
            make(**{name: wrong})
    for name, number in {"fold_every": 0, "partitions": 0, "hash_bits": 60}.items():
        with pytest.raises(ValueError, match=f"SparkSettings\\({name}=…\\) takes an integer, "):
            make(**{name: number})
