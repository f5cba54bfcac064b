"""Files that Spark writes: what the embedded engine would write, whole or not at all."""

from __future__ import annotations

import datetime as dt
import json
import os
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as parquet
import pytest
from pyspark.sql import SparkSession

from corollary import Iri, KnowledgeBase, Literal, ProgramError
from corollary.engines.spark.publish.decoded import Decoded
from corollary.engines.spark.publish.files import FileOutput, write_files, write_remotely
from corollary.engines.spark.publish.publisher import write_frame
from corollary.io import atomic
from corollary.io.atomic import put
from corollary.io.formats import CSV, PARQUET, Format
from corollary.io.places import local_path, remote_address
from corollary.program.values import RDF
from tests.engines.spark.published import CONSTANTS, TERMS, Published, failing_in_the_middle, same

pytestmark = pytest.mark.spark

NUMBERED = list(enumerate([*CONSTANTS, *TERMS]))
TRIPLES = [(Iri("_:s"), Iri("http://e.org/p"), value) for value in CONSTANTS]
PLAIN = [("ann", 1, True), ("日本 🎉", -5, False), ('a,"b"', 0, True)]


@pytest.fixture(scope="module")
def numbered(spark: SparkSession) -> Published:
    return Published(spark, NUMBERED)


@pytest.fixture(scope="module")
def plain(spark: SparkSession) -> Published:
    return Published(spark, PLAIN)


def write(published: Published, path: Path, **options: Any) -> int:
    return write_frame(published.context, published.frame, path, predicate="p", **options)


def loaded(path: Path, **options: Any) -> KnowledgeBase:
    kb = KnowledgeBase()
    kb.load("p", path, **options)
    assert not len(kb.rejects)
    return kb


def records(data: bytes) -> list[bytes]:
    return sorted(data.splitlines(keepends=True))


def names_in(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.iterdir())


@pytest.mark.parametrize("header", [False, True])
@pytest.mark.parametrize("ending", ["csv", "json"])
def test_small_outputs_have_the_bytes_of_the_embedded_engine(
    numbered: Published, tmp_path: Path, ending: str, header: bool
) -> None:
    assert write(numbered, tmp_path / f"spark.{ending}", header=header) == len(NUMBERED)
    numbered.kb.write("p", tmp_path / f"embedded.{ending}", header=header)
    spark, embedded = ((tmp_path / f"{name}.{ending}").read_bytes() for name in ("spark", "embedded"))
    assert records(spark) == records(embedded)
    assert not header or ending == "json" or spark.startswith(b"a1,a2\n")
    assert names_in(tmp_path) == [f"embedded.{ending}", f"spark.{ending}"]


def test_tabs_and_triples_too(spark: SparkSession, plain: Published, tmp_path: Path) -> None:
    triples = Published(spark, TRIPLES)
    for published, ending in ((plain, "tsv"), (triples, "nt")):
        write(published, tmp_path / f"spark.{ending}")
        published.kb.write("p", tmp_path / f"embedded.{ending}")
        spark_bytes, embedded = ((tmp_path / f"{name}.{ending}").read_bytes() for name in ("spark", "embedded"))
        assert records(spark_bytes) == records(embedded)
    assert same(loaded(tmp_path / "spark.nt").facts("p").constants()) == same(triples.embedded.constants())


@pytest.mark.parametrize("ending", ["parquet", "json"])
@pytest.mark.parametrize("limit", [1_000_000, 0], ids=["file", "directory"])
def test_every_constant_comes_back(numbered: Published, tmp_path: Path, ending: str, limit: int) -> None:
    path = tmp_path / f"p.{ending}"
    write(numbered, path, single_file_rows=limit)
    assert path.is_dir() == (limit == 0)
    if ending == "json" and limit == 0:
        back = KnowledgeBase()
        for part in path.glob("part-*"):
            back.load("p", part, format="json")
    else:
        back = loaded(path)
    assert same(back.facts("p").constants()) == same(numbered.embedded.constants())


COLUMNS: dict[str, list[Any]] = {
    "integers": [0, 1, -(2**63), 2**63 - 1, 2**62],
    "doubles": [0.5, float("inf"), float("nan"), -0.0],
    "booleans": [True, False],
    "strings": ["", "a", "日本"],
    "iris": [Iri("urn:a"), Iri("http://e.org/é")],
    "decimals": [Decimal("1.5"), 7, Decimal("-0.001"), Decimal(2**70)],
    "large integers": [2**80, 1],
    "wide decimals": [Decimal(10) ** 30, Decimal("1e-30")],
    "dates": [dt.date(2026, 1, 31), dt.date(1066, 10, 14)],
    "date times": [dt.datetime(2026, 1, 31, 12, 30, 1, 5), dt.datetime(1066, 10, 14)],
    "points in time": [dt.datetime(2026, 1, 31, tzinfo=dt.UTC), dt.datetime(1066, 10, 14, tzinfo=dt.UTC)],
    "other times": [dt.datetime(2026, 1, 31, tzinfo=dt.timezone(dt.timedelta(hours=2)))],
    "times of day": [dt.time(12, 0, 1)],
    "mixed times": [dt.date(2026, 1, 31), dt.datetime(2026, 1, 31)],
    "literals": [Literal("chat", RDF + "langString", "fr")],
    "mixed": [1, "a"],
    "integers and doubles": [1, 1.0],
}
SPARK_HAS_NO_SUCH = {"times of day", "wide decimals"}


def test_columns_have_the_types_of_the_embedded_engine(spark: SparkSession, tmp_path: Path) -> None:
    longest = max(map(len, COLUMNS.values()))
    rows = [tuple(values[row % len(values)] for values in COLUMNS.values()) for row in range(longest)]
    published = Published(spark, rows)
    write(published, tmp_path / "p.parquet")
    expected = published.embedded.to_arrow().schema
    found = parquet.read_schema(tmp_path / "p.parquet")
    for name, ours, theirs in zip(COLUMNS, found, expected, strict=True):
        if name in SPARK_HAS_NO_SUCH:
            assert ours.type == pa.string()
        else:
            assert (name, ours.type, ours.metadata) == (name, theirs.type, theirs.metadata)
    assert same(loaded(tmp_path / "p.parquet").facts("p").constants()) == same(published.embedded.constants())
    write(published, tmp_path / "parts.parquet", single_file_rows=1)
    assert same(loaded(tmp_path / "parts.parquet").facts("p").constants()) == same(published.embedded.constants())
    read = spark.read.parquet(str(tmp_path / "parts.parquet"))
    assert read.schema["a5"].metadata == {"corollary": "iris"}


@pytest.mark.parametrize("ending", ["csv", "tsv", "json", "parquet", "nt"])
def test_an_empty_relation_is_an_empty_file(spark: SparkSession, tmp_path: Path, ending: str) -> None:
    published = Published(spark, [], arity=3)
    assert write(published, tmp_path / f"p.{ending}") == 0
    assert len(loaded(tmp_path / f"p.{ending}").facts("p")) == 0
    write(published, tmp_path / f"headed.{ending}", header=True)
    if ending in ("csv", "tsv"):
        assert (tmp_path / f"headed.{ending}").read_text().split() == (
            ["a1,a2,a3"] if ending == "csv" else ["a1", "a2", "a3"]
        )


@pytest.mark.parametrize("ending", ["csv", "tsv", "json", "parquet"])
@pytest.mark.parametrize("rows", [[], [()]], ids=["no", "yes"])
def test_a_predicate_without_arguments(spark: SparkSession, tmp_path: Path, ending: str, rows: list[Any]) -> None:
    published = Published(spark, rows, arity=0)
    write(published, tmp_path / f"spark.{ending}")
    kb = KnowledgeBase("p." if rows else "p :- never.")
    kb.write("p", tmp_path / f"embedded.{ending}")
    assert (tmp_path / f"spark.{ending}").read_bytes() == (tmp_path / f"embedded.{ending}").read_bytes()


def test_a_large_output_is_a_directory_of_parts_with_headers(spark: SparkSession, tmp_path: Path) -> None:
    published = Published(spark, [(number, f"text {number}") for number in range(100)], parts=3)
    write(published, tmp_path / "p.csv", header=True, single_file_rows=99)
    parts = list((tmp_path / "p.csv").glob("part-*"))
    assert len(parts) >= 2
    assert all(part.read_text().startswith("a1,a2\n") for part in parts)
    read = spark.read.csv(str(tmp_path / "p.csv"), header=True, inferSchema=True)
    assert sorted(map(tuple, read.collect())) == [(number, f"text {number}") for number in range(100)]
    write(published, tmp_path / "p.csv", single_file_rows=100)  # a file takes the place of a directory,
    assert same(loaded(tmp_path / "p.csv").facts("p").constants()) == same(published.embedded.constants())
    write(published, tmp_path / "p.csv", single_file_rows=0)  # and a directory that of a file
    assert (tmp_path / "p.csv").is_dir()
    assert names_in(tmp_path) == ["p.csv"]


@pytest.mark.parametrize(
    ("rows", "ending", "message"),
    [
        ([("a", Iri("urn:p"), 1)], "nt", '"a" cannot be the subject of a triple: it is not an IRI'),
        ([("a", 1)], "nt", "these facts are not triples"),
        ([("a\tb",)], "tsv", "a tsv file cannot hold a string with a tab or a line break"),
        ([("a",)], "ttl", "ttl files can be read, but not written"),
    ],
)
def test_what_a_format_cannot_hold_is_the_same_error(
    spark: SparkSession, tmp_path: Path, rows: list[Any], ending: str, message: str
) -> None:
    path = tmp_path / f"p.{ending}"
    path.write_text("as it was")
    published = Published(spark, rows)
    with pytest.raises(ProgramError, match=message) as error:
        write(published, path)
    with pytest.raises(ProgramError) as embedded:
        published.kb.write("p", path)
    assert str(error.value) == str(embedded.value)
    assert path.read_text() == "as it was"
    assert names_in(tmp_path) == [path.name]


@pytest.mark.parametrize("form", [CSV, PARQUET])
@pytest.mark.parametrize("limit", [1_000_000, 0], ids=["file", "directory"])
def test_a_task_that_fails_in_the_middle_leaves_the_old_output(
    plain: Published, tmp_path: Path, form: Format, limit: int
) -> None:
    path = tmp_path / f"p.{form}"
    write(plain, path, single_file_rows=limit)
    before = {file: file.read_bytes() for file in tmp_path.rglob("*") if file.is_file()}
    with pytest.raises(ProgramError, match=r"E407.*publish: cannot write .*p\.(csv|parquet).*the disk is gone"):
        write_files(failing_in_the_middle(plain), FileOutput(path, form, single_file_rows=limit))
    assert {file: file.read_bytes() for file in tmp_path.rglob("*") if file.is_file()} == before
    assert names_in(tmp_path) == [path.name]


def test_a_directory_of_other_files_is_never_replaced(plain: Published, tmp_path: Path) -> None:
    path = tmp_path / "p.csv"
    path.mkdir()
    (path / "thesis.tex").write_text("years of work")
    with pytest.raises(ProgramError, match=r"it is a directory that holds other files: thesis\.tex"):
        write(plain, path)
    assert (path / "thesis.tex").read_text() == "years of work"


def test_a_place_that_cannot_be_written(plain: Published, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ProgramError, match="E407"):
        write(plain, tmp_path / "file" / "p.csv")


@pytest.mark.parametrize("exchanges", [True, False])
def test_directories_take_each_others_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, exchanges: bool) -> None:
    if not exchanges:
        monkeypatch.setattr(atomic, "_exchange", lambda one, other: False)
    for name in ("new", "old"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "part-0").write_text(name)
    put(tmp_path / "new", tmp_path / "old")
    assert (tmp_path / "old" / "part-0").read_text() == "new"


def test_the_old_directory_comes_back_where_the_new_one_cannot(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(atomic, "_exchange", lambda one, other: False)
    rename = os.rename

    def failing(source: Path, target: Path) -> None:
        if source.name == "new":
            raise OSError(28, "No space left on device")
        rename(source, target)

    monkeypatch.setattr(os, "rename", failing)
    for name in ("new", "old"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "part-0").write_text(name)
    with pytest.raises(OSError, match="No space"):
        put(tmp_path / "new", tmp_path / "old")
    assert (tmp_path / "old" / "part-0").read_text() == "old"


def test_headers_name_the_fields_of_json(plain: Published, tmp_path: Path) -> None:
    write(plain, tmp_path / "p.json", header=True)
    lines = (tmp_path / "p.json").read_text().splitlines()
    assert {"a1": "ann", "a2": 1, "a3": True} in [json.loads(line) for line in lines]


@pytest.mark.parametrize("form", [CSV, PARQUET])
def test_file_systems_of_spark_get_directories_that_appear_whole(
    plain: Published, tmp_path: Path, form: Format
) -> None:
    path = tmp_path / f"p.{form}"
    rows = Decoded(plain.context, plain.frame, ["a1", "a2", "a3"])
    for _ in range(2):  # the second one takes the place of the first
        assert write_remotely(rows, FileOutput(path, form), path.as_uri()) == len(PLAIN)
    before = {file: file.read_bytes() for file in tmp_path.rglob("*") if file.is_file()}
    with pytest.raises(ProgramError, match="the disk is gone"):
        write_remotely(failing_in_the_middle(plain), FileOutput(path, form), path.as_uri())
    assert {file: file.read_bytes() for file in tmp_path.rglob("*") if file.is_file()} == before
    assert sum(part.name.startswith("part-") for part in path.iterdir()) >= 1
    assert [name for name in names_in(tmp_path) if not name.endswith(".crc")] == [path.name]
    (path / "thesis.tex").write_text("years of work")
    with pytest.raises(ProgramError, match="holds other files"):
        write_remotely(rows, FileOutput(path, form), path.as_uri())


def test_addresses() -> None:
    assert remote_address("hdfs://host/p.csv") == remote_address("hdfs:/host/p.csv") == "hdfs://host/p.csv"
    assert (remote_address("out/p.csv"), remote_address("file:///out/p.csv")) == (None, None)
    assert (local_path("out/p.csv"), local_path("file:///out/p.csv")) == ("out/p.csv", "/out/p.csv")
