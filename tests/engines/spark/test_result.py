"""Answers on Spark behave as those of the embedded engine."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas
import pytest
from pyspark.sql import SparkSession

from corollary import Iri, KnowledgeBase
from corollary.engines.spark.publish import chunks
from corollary.engines.spark.publish.publisher import decoded_frame
from corollary.engines.spark.publish.views import SparkViews
from corollary.engines.spark.result import SparkResult
from tests.engines.spark.published import CONSTANTS, TERMS, Published, same

pytestmark = pytest.mark.spark


def result_of(published: Published, *variables: str) -> SparkResult:
    return SparkResult(published.context, published.frame, variables, {"e": "http://e.org/"})


@pytest.fixture(scope="module")
def everything(spark: SparkSession) -> Published:
    return Published(spark, list(enumerate([*CONSTANTS, *TERMS])))


@pytest.mark.parametrize("at_once", [50_000, 0], ids=["in one go", "in chunks"])
def test_iterating_gives_every_row(everything: Published, monkeypatch: pytest.MonkeyPatch, at_once: int) -> None:
    monkeypatch.setattr(chunks, "AT_ONCE", at_once)
    result = result_of(everything, "N", "Value")
    assert repr(result) == "<SparkResult: rows of (N, Value)>"
    assert same(result.constants()) == same(everything.embedded.constants())
    assert {repr(row) for row in result} == {repr(row) for row in everything.embedded}
    assert len(result) == len(CONSTANTS) + len(TERMS)
    assert repr(result) == f"<SparkResult: {len(result)} rows of (N, Value)>"
    assert repr(result.sorted()) == repr(everything.embedded.sorted())


def test_conversions(everything: Published) -> None:
    result = result_of(everything, "a1", "a2")
    table, expected = result.to_arrow(), everything.embedded.to_arrow()
    assert table.schema == expected.schema
    assert table.sort_by("a1").equals(expected.sort_by("a1"))
    frame = result.to_pandas().sort_values("a1").reset_index(drop=True)
    pandas.testing.assert_frame_equal(frame, everything.embedded.to_pandas())
    again = KnowledgeBase()
    again.insert("p", table)
    assert same(again.facts("p").constants()) == same(everything.embedded.constants())


def test_printing_shows_twenty_rows(spark: SparkSession) -> None:
    result = result_of(Published(spark, [(number, Iri("http://e.org/x")) for number in range(30)]), "N", "X")
    lines = str(result).splitlines()
    assert lines[0].split() == ["N", "X"]
    assert len(lines) == 23
    assert lines[2].endswith("e:x")
    assert lines[-1] == "… and 10 more"
    assert result._repr_html_().endswith("<p>… and 10 more</p>")
    few = result_of(Published(spark, [("<b>",)]), "N")
    assert "&lt;b&gt;" in few._repr_html_()


@pytest.mark.parametrize("rows", [[], [()]], ids=["no", "yes"])
def test_a_ground_query_says_yes_or_no(spark: SparkSession, rows: list[Any]) -> None:
    result = result_of(Published(spark, rows, arity=0))
    assert (str(result), list(result), len(result)) == ("yes" if rows else "no", rows, len(rows))
    assert result.to_arrow().shape == (len(rows), 0)
    assert (result.to_spark().columns, result.to_spark().count()) == ([], len(rows))


def test_no_answers(spark: SparkSession) -> None:
    result = result_of(Published(spark, [], arity=2), "X", "Y")
    assert (list(result), len(result), result.to_arrow().shape) == ([], 0, (0, 2))
    assert str(result).splitlines()[0].split() == ["X", "Y"]
    assert (result.to_spark().columns, result.to_spark().count()) == (["X", "Y"], 0)


def test_views_for_spark_sql(spark: SparkSession) -> None:
    views = SparkViews()
    published = Published(spark, [("ann", 40), ("bo", 7)])
    ages = decoded_frame(published.context, published.frame)
    assert views.create(ages, "age", "ages") == "ages"
    assert spark.sql("SELECT a1 FROM ages WHERE a2 > 18").collect()[0].a1 == "ann"
    name = views.create(ages, "age", "http://e.org/`x`; DROP VIEW ages")
    assert spark.sql(f"SELECT sum(a2) AS total FROM {name}").collect()[0].total == 47
    own, other = (
        views.create(ages, "http://e.org/`x`; DROP VIEW ages"),
        views.create(ages, "http://e.org/x/DROP VIEW ages"),
    )
    assert own != other
    assert (spark.table("ages").count(), spark.table(own).count(), spark.table(other).count()) == (2, 2, 2)
    unit = Published(spark, [()], arity=0)
    holds = views.create(decoded_frame(unit.context, unit.frame), "holds")
    assert spark.sql(f"SELECT count(*) AS n FROM {holds}").collect()[0].n == 1
    views.close()
    assert [view.name for view in spark.catalog.listTables() if view.isTemporary] == []


def test_points_in_time_do_not_depend_on_the_zone_of_the_session(spark: SparkSession, tmp_path: Path) -> None:
    import datetime as dt

    moment = dt.datetime(2026, 1, 31, 12, tzinfo=dt.UTC)
    published = Published(spark, [(moment, moment.replace(tzinfo=None), 1.5)])
    before = spark.conf.get("spark.sql.session.timeZone")
    spark.conf.set("spark.sql.session.timeZone", "America/New_York")
    try:
        df = decoded_frame(published.context, published.frame)
        cells = df.selectExpr("unix_micros(a1) AS a1", "CAST(a2 AS string) AS a2").collect()[0]
    finally:
        spark.conf.set("spark.sql.session.timeZone", str(before))
    assert tuple(cells) == (int(moment.timestamp() * 1_000_000), "2026-01-31 12:00:00")


def test_embedded_results_become_data_frames(spark: SparkSession, everything: Published) -> None:
    df = everything.embedded.to_spark(spark)
    assert df.schema["a2"].metadata == {"corollary": "terms"}
    assert df.count() == len(everything.embedded)
    kb = KnowledgeBase("p(1, a). p(2, b). yes.")
    assert sorted(map(tuple, kb.query("p(X, Y)").to_spark().collect())) == [(1, "a"), (2, "b")]
    assert kb.query("p(1, a)").to_spark(spark).count() == 1
    assert kb.query("p(X, c)").to_spark(spark).columns == ["X"]
