"""Parquet, ORC, tables, data frames, Delta and Python rows on Spark: the same constants as the embedded loader gives."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from pathlib import Path

import pandas
import pyarrow as pa
import pyarrow.parquet as parquet
import pytest
from pyspark.sql import SparkSession

from corollary import KnowledgeBase, ProgramError
from corollary.engines.spark.ingest import rows as encoding
from corollary.engines.spark.terms.universe import SparkUniverse
from corollary.language.cells import IRIS, MEANING
from tests.engines.spark.ingested import embedded, embedded_rejects, embedded_rows, loading

pytestmark = pytest.mark.spark

TABLE = pa.table(
    {
        "whole": pa.array([1, -2, None, 4], pa.int32()),
        "large": pa.array([2**63 - 1, -(2**63), 3, 4], pa.int64()),
        "double": [1.5, float("nan"), 2.0, -0.0],
        "decimal": pa.array([Decimal("1.50"), Decimal("2.00"), Decimal("0.01"), Decimal("3.10")], pa.decimal128(10, 2)),
        "text": ["café", "日本", "", None],
        "flag": [True, False, True, False],
        "day": [dt.date(2026, 1, 31)] * 4,
        "moment": pa.array([dt.datetime(2026, 1, 31, 12, 30)] * 4, pa.timestamp("us")),
        "instant": pa.array([dt.datetime(2026, 1, 31, 12, 30)] * 4, pa.timestamp("us", "UTC")),
    }
).append_column(pa.field("iri", pa.string(), metadata={MEANING: IRIS}), [["http://e.org/é"] * 4])


def test_parquet_is_read_as_the_embedded_loader_reads_it(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "p.parquet"
    parquet.write_table(TABLE, path)
    expected = embedded(path)
    with loading(spark) as loaded:
        assert loaded.load(path) == 2
        assert loaded.rows() == embedded_rows(expected)
        assert loaded.rejects == embedded_rejects(expected)
        table = [tuple(row) for row in loaded.ingest.reject_table().orderBy("line").collect()]
        assert table == [(str(path), 3, "column 'whole' is null", ""), (str(path), 4, "column 'text' is null", "")]
        assert loaded.load(path, "q", columns="text, large") == 3
        assert loaded.rows("q") == embedded_rows(embedded(path, columns="text, large"))


def test_what_is_wrong_with_parquet_is_an_error(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "p"
    path.mkdir()
    parquet.write_table(pa.table({"a": [1, 2], "b": ["x", "y"]}), path / "1.parquet")
    with loading(spark) as loaded:
        with pytest.raises(ProgramError, match="has no column 'z'"):
            loaded.load(path, columns="z")
        parquet.write_table(pa.table({"a": [3]}), path / "2.parquet")
        with pytest.raises(ProgramError, match=r"E404.*ingest: .*2\.parquet has no column 'b'"):
            loaded.load(path)
        parquet.write_table(pa.table({"a": ["3"], "b": ["x"]}), path / "2.parquet")
        with pytest.raises(ProgramError, match=r"E404.*ingest: cannot read .*BIGINT"):
            loaded.load(path)
        (path / "2.parquet").write_bytes(b"PAR1 not at all PAR1")
        with pytest.raises(ProgramError, match=r"E404.*ingest: cannot read .*2\.parquet"):
            loaded.load(path)
        parquet.write_table(pa.table({"a": [[1]]}), path / "2.parquet")
        with pytest.raises(ProgramError, match="there are no constants of the type array<bigint>"):
            loaded.load(path / "2.parquet")
        assert not loaded.store.explicit
        assert loaded.universe.rows == 0


def test_orc_tables_and_data_frames(spark: SparkSession, tmp_path: Path) -> None:
    frame = spark.createDataFrame(
        [(1, "a", 1.5), (2, None, 2.5), (3, "c", 3.5), (1, "a", 1.5)], "x long, y string, z double"
    )
    frame.coalesce(1).write.orc(str(tmp_path / "p.orc"))
    frame.createOrReplaceTempView("ingested")
    rows = [("1", "a", "1.5e0"), ("3", "c", "3.5e0")]
    with loading(spark) as loaded:
        assert loaded.load(tmp_path / "p.orc") == 2
        assert loaded.rows() == rows
        assert loaded.ingest.load_table("q", "ingested") == 2
        assert loaded.rows("q") == rows
        assert loaded.ingest.insert("r", frame.select("y", "x")) == 2
        assert loaded.rows("r") == [("a", "1"), ("c", "3")]
        assert [(line, reason) for _, line, reason, _ in loaded.rejects] == [(0, "column 'y' is null")] * 3
        assert loaded.ingest.load_table("s", frame, columns=["x"]) == 3
        with pytest.raises(ProgramError, match="the table nowhere"):
            loaded.ingest.load_table("q", "nowhere")
        with pytest.raises(ProgramError, match="'q' has 3 arguments, but there are 2 columns"):
            loaded.ingest.load_table("q", frame.select("x", "y"))
    spark.catalog.dropTempView("ingested")


def test_points_in_time_do_not_depend_on_the_session(spark: SparkSession) -> None:
    frame = spark.sql("SELECT timestamp_seconds(0) AS t")
    before = spark.conf.get("spark.sql.session.timeZone")
    spark.conf.set("spark.sql.session.timeZone", "America/New_York")
    try:
        with loading(spark) as loaded:
            loaded.ingest.insert("p", frame)
            assert loaded.rows() == [('"1970-01-01T00:00:00Z"^^xsd:dateTime',)]
    finally:
        spark.conf.set("spark.sql.session.timeZone", before)


def test_facts_of_python(spark: SparkSession) -> None:
    kb = KnowledgeBase()
    rows = [(1, "a"), (2.5, True), (Decimal("1.10"), dt.date(2026, 1, 1)), (1, "a")]
    kb.insert("p", rows)
    with loading(spark) as loaded:
        assert loaded.ingest.insert("p", iter(rows)) == 3
        assert loaded.rows() == embedded_rows(kb)
        assert loaded.ingest.insert("p", pandas.DataFrame({"x": [1, 7], "y": ["a", "b"]})) == 1
        assert loaded.ingest.insert("p", pa.table({"x": [8], "y": ["b"]})) == 1
        assert loaded.ingest.insert("holds", [()]) == 1
        assert loaded.ingest.insert("holds", [()]) == 0
        assert loaded.ingest.insert("nothing", []) == 0
        assert loaded.ingest.defined == {"p", "holds", "nothing"}
        with pytest.raises(ProgramError, match="facts of 'p': None is not a constant"):
            loaded.ingest.insert("p", [(None, 1)])
        with pytest.raises(ProgramError, match="facts of 'p': row 1 has 1 values, expected 2"):
            loaded.ingest.insert("p", [(1,)])
        assert loaded.store.explicit["p"].rows == 5


def test_a_program_is_stated_in_one_go(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "edge.csv").write_text("1,2\n2,3\n")
    program = '@input edge("edge.csv") . edge(1, 2). edge(f(1), "é"). node(<http://e.org/a>). ok().'
    expected = KnowledgeBase(program, base=tmp_path)
    parsed = expected.program
    with loading(spark, base=tmp_path, small_file=1000) as loaded:
        assert loaded.ingest.insert_program(parsed.facts, parsed.inputs) == 5
        for predicate in ("edge", "node", "ok"):
            assert loaded.rows(predicate) == embedded_rows(expected, predicate)
        loaded.ingest.load_declared(parsed.inputs[0])
        assert loaded.store.explicit["edge"].rows == 3


def test_a_directory_of_facts_is_loaded_whole_or_not_at_all(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "edge.csv").write_text("x,y\n1,2\n")
    (tmp_path / "note.txt").write_text("nothing")
    (tmp_path / "other.json").write_text("{")
    parquet.write_table(pa.table({"a": [1]}), tmp_path / "node.parquet")
    (tmp_path / "zero.parquet").write_bytes(b"broken")
    with loading(spark, small_file=1000) as loaded:
        with pytest.raises(ProgramError, match=r"E404.*zero\.parquet"):
            loaded.ingest.load_directory(tmp_path, lambda name: name, header=True)
        assert not loaded.store.explicit
        (tmp_path / "zero.parquet").unlink()
        assert loaded.ingest.load_directory(tmp_path, lambda name: name, header=True) == 2
        assert loaded.ingest.defined == {"edge", "node"}


def test_delta_tables(spark: SparkSession, tmp_path: Path) -> None:
    deltalake = pytest.importorskip("deltalake")
    path = str(tmp_path / "p")
    first = pa.table({"who": ["ann", "bo é", None], "times": [1, 2, 3], "at": ["x y", "ü/z%", "x y"]})
    deltalake.write_deltalake(path, first, partition_by=["at"])
    deltalake.write_deltalake(path, pa.table({"who": ["cy"], "times": [4], "at": ["w"]}), mode="append")
    deltalake.DeltaTable(path).delete("who = 'ann'")
    with loading(spark) as loaded:
        assert loaded.load(path) == 2
        assert loaded.rows() == embedded_rows(embedded(Path(path), format="delta"))
        assert [reason for _, _, reason, _ in loaded.rejects] == ["column 'who' is null"]
        assert loaded.load(path, "q", columns="at, times") == 3
        with pytest.raises(ProgramError, match="has no column 'z'"):
            loaded.load(path, "q", columns="z")
        with pytest.raises(ProgramError, match="is not a readable Delta table"):
            loaded.load(tmp_path, "q", format="delta")


def test_delta_tables_whose_files_do_not_say_everything_are_refused(spark: SparkSession, tmp_path: Path) -> None:
    deltalake = pytest.importorskip("deltalake")
    path = tmp_path / "p"
    deltalake.write_deltalake(str(path), pa.table({"a": [1]}))
    log = path / "_delta_log" / "00000000000000000001.json"
    log.write_text(
        '{"protocol":{"minReaderVersion":3,"minWriterVersion":7,'
        '"readerFeatures":["deletionVectors"],"writerFeatures":["deletionVectors"]}}\n'
    )
    with loading(spark) as loaded, pytest.raises(ProgramError, match="deletionVectors"):
        loaded.load(path)


def test_files_of_the_driver_share_their_constants(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each is told once, however many files have it, unless so many are known that they are forgotten in between."""
    for name, rows in (("p", "a b\nb c\n"), ("q", "b\nd\n"), ("r", "a d\n")):
        (tmp_path / f"{name}.tsv").write_text(rows.replace(" ", "\t"))
    told: list[list[str]] = []
    append = SparkUniverse.append

    def watched(universe: SparkUniverse, terms: pa.Table, rows: int) -> int:
        told.append(sorted(terms["canonical"].to_pylist()))
        assert rows == terms.num_rows
        return append(universe, terms, rows)

    monkeypatch.setattr(SparkUniverse, "append", watched)
    for largest in (encoding.LARGEST_UNIVERSE, 0):
        monkeypatch.setattr(encoding, "LARGEST_UNIVERSE", largest)
        with loading(spark, small_file=1000) as loaded:
            assert loaded.ingest.load_directory(tmp_path, str, header=False) == 5
            assert loaded.rows("p") == [("a", "b"), ("b", "c")]
            assert (loaded.rows("q"), loaded.rows("r")) == ([("b",), ("d",)], [("a", "d")])
            assert loaded.universe.rows == 4
    assert told == [["a", "b", "c", "d"], ["a", "a", "b", "b", "c", "d", "d"]]
