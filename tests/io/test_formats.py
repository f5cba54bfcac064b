"""Every format that is written and read: on both engines the same facts go in and come out."""

from __future__ import annotations

import datetime as dt
import sys
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.orc as orc
import pytest
from pyspark.sql import SparkSession

from corollary import Iri, KnowledgeBase, Literal, ProgramError
from corollary.engines.spark.publish.decoded import Decoded
from corollary.engines.spark.publish.files import FileOutput, write_files, write_remotely
from corollary.io.formats import AVRO, CSV, FORMATS, ORC, Format, format_of
from corollary.program.values import RDF
from tests.engines.spark.published import Published
from tests.services.spark_session import shared_session

DATE, POINT = dt.date(2026, 1, 31), dt.datetime(2026, 1, 31, 12, 0, 0, 500_000)
ROWS: list[tuple[Any, ...]] = [
    ("ann", 1, 2.5, True, Decimal("2.50"), DATE, POINT, POINT.replace(tzinfo=dt.UTC)),
    ("日本 🎉", -(2**62), -0.5, False, Decimal("-1.25"), DATE, POINT, POINT.replace(tzinfo=dt.UTC)),
]
FRENCH = Literal("chat", RDF + "langString", "fr")
MIXED: list[tuple[Any, ...]] = [(1, "x"), ("1", Iri("http://e.org/a")), (Decimal("1.5"), FRENCH)]
ENGINES = ["embedded", pytest.param("spark", marks=pytest.mark.spark)]


@pytest.fixture(scope="module")
def spark() -> SparkSession:
    return shared_session()


@pytest.fixture(params=ENGINES)
def engine(request: pytest.FixtureRequest) -> Any:
    return "embedded" if request.param == "embedded" else request.getfixturevalue("spark")


def holding(rows: list[tuple[Any, ...]], engine: Any = "embedded") -> KnowledgeBase:
    kb = KnowledgeBase(engine=engine)
    kb.insert("p", rows)
    return kb


def facts_of(path: Path, engine: Any = "embedded", **options: Any) -> set[tuple[Any, ...]]:
    kb = KnowledgeBase(engine=engine)
    kb.load("p", path, **options)
    assert not len(kb.rejects)
    return set(kb.facts("p"))


@pytest.mark.parametrize("form", ["orc", "avro", "parquet"])
def test_typed_columns_come_back_as_they_were(form: str, engine: Any, tmp_path: Path) -> None:
    path = tmp_path / f"p.{form}"
    holding(ROWS, engine).write("p", path)
    assert facts_of(path, engine) == set(ROWS)
    assert facts_of(path) == set(ROWS)


@pytest.mark.parametrize("form", ["orc", "avro", "json"])
def test_every_constant_comes_back_as_it_was(form: str, engine: Any, tmp_path: Path) -> None:
    path = tmp_path / f"p.{form}"
    holding(MIXED, engine).write("p", path)
    assert facts_of(path, engine) == set(MIXED)
    assert facts_of(path) == set(MIXED)


@pytest.mark.parametrize("form", ["orc", "avro"])
def test_columns_are_chosen_and_nulls_rejected(form: str, engine: Any, tmp_path: Path) -> None:
    path = tmp_path / f"p.{form}"
    if form == "orc":
        orc.write_table(pa.table({"a": [1, None, 3], "b": ["x", "y", "z"]}), path)
    else:
        avro(path, [{"a": 1, "b": "x"}, {"a": None, "b": "y"}, {"a": 3, "b": "z"}])
    assert facts_of(path, engine, columns="b") == {("x",), ("y",), ("z",)}
    kb = KnowledgeBase(engine=engine)
    kb.load("p", path)
    assert set(kb.facts("p")) == {(1, "x"), (3, "z")}
    assert [(one.line, one.reason) for one in kb.rejects] == [(2, "column 'a' is null")]
    with pytest.raises(ProgramError, match="has no column 'c'"):
        kb.load("q", path, columns="c")


def decoded(rows: Published) -> Decoded:
    return Decoded(rows.context, rows.frame, rows.embedded.variables)


def avro(path: Path, records: list[dict[str, Any]], fields: Any = None) -> None:
    import fastavro

    fields = fields or [{"name": "a", "type": ["null", "long"]}, {"name": "b", "type": "string"}]
    with path.open("wb") as file:
        fastavro.writer(file, fastavro.parse_schema({"type": "record", "name": "r", "fields": fields}), records)


@pytest.mark.parametrize("form", ["orc", "avro"])
@pytest.mark.parametrize("content", [b"", b"Obj\x01 nonsense", b"ORC nonsense", b"a,b\n"])
def test_damage_is_said_with_the_name_of_the_file(form: str, content: bytes, engine: Any, tmp_path: Path) -> None:
    path = tmp_path / f"p.{form}"
    path.write_bytes(content)
    with pytest.raises(ProgramError, match=rf"p\.{form}.*not a readable"):
        facts_of(path, engine)


def test_half_an_avro_file_is_no_half_of_its_facts(engine: Any, tmp_path: Path) -> None:
    path = tmp_path / "p.avro"
    avro(path, [{"a": number, "b": "x"} for number in range(1_000)])
    path.write_bytes(path.read_bytes()[:-200])
    kb = KnowledgeBase(engine=engine)
    with pytest.raises(ProgramError, match="not a readable Avro file"):
        kb.load("p", path)
    assert kb.count("p") == 0


def test_nested_avro_columns_are_refused_by_name(tmp_path: Path) -> None:
    path = tmp_path / "p.avro"
    avro(path, [{"a": [1]}], [{"name": "a", "type": {"type": "array", "items": "long"}}])
    with pytest.raises(ProgramError, match=r"column 'a': there are no constants of the type array"):
        facts_of(path)


def test_a_missing_package_is_said_with_its_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "fastavro", None)
    with pytest.raises(ProgramError, match=r"E409[\s\S]*corollary\[avro\]"):
        holding(ROWS).write("p", tmp_path / "p.avro")


@pytest.mark.spark
@pytest.mark.parametrize("form", [ORC, AVRO], ids=str)
@pytest.mark.parametrize("limit", [0, 1_000_000])
def test_tasks_write_what_the_driver_would(spark: SparkSession, form: Format, limit: int, tmp_path: Path) -> None:
    rows = Published(spark, ROWS)
    path = tmp_path / f"p.{form}"
    assert write_files(decoded(rows), FileOutput(path, form, predicate="p", single_file_rows=limit)) == len(ROWS)
    assert facts_of(path, spark) == set(ROWS)
    assert path.is_dir() == (form == ORC and not limit)


MARKED: dict[str, tuple[bytes, dict[str, Any]]] = {
    "p.csv": (b"a,1\nb,2\n", {}),
    "header.csv": (b"x,y\na,1\nb,2\n", {"header": True, "columns": "x, y"}),
    "wrong.csv": (b"a,1\n\xff,2\nb,2\nc\n", {}),
    "p.tsv": (b"a\t1\nb\t2\n", {}),
    "p.facts": (b"a\t1\nb\t2\n", {}),
    "p.json": (b'["a", 1]\n["b", 2]\n', {}),
    "objects.json": (b'{"x": "a", "y": 1}\n{"x": "b", "y": 2}\n', {}),
    "p.nt": (b"<http://e.org/a> <http://e.org/p> <http://e.org/b> .\n", {}),
    "p.nq": (b"<http://e.org/a> <http://e.org/p> <http://e.org/b> <http://e.org/g> .\n", {}),
    "p.ttl": (b"<http://e.org/a> <http://e.org/p> 1 .\n", {}),
}


@pytest.mark.parametrize("name", MARKED)
def test_a_byte_order_mark_is_no_part_of_the_data(name: str, engine: Any, tmp_path: Path) -> None:
    text, options = MARKED[name]
    found = []
    for start in (b"", b"\xef\xbb\xbf"):
        (tmp_path / name).write_bytes(start + text)
        kb = KnowledgeBase(engine=engine)
        kb.load("p", tmp_path / name, **options)
        found.append((set(kb.facts("p")), [(one.line, one.reason) for one in kb.rejects]))
    assert found[0][0]
    assert found[1] == found[0]


@pytest.mark.spark
def test_a_directory_of_avro_files_is_read_by_tasks(spark: SparkSession, tmp_path: Path) -> None:
    for number in range(5):
        avro(tmp_path / f"part-{number}.avro", [{"a": number, "b": "x"}, {"a": None, "b": "y"}])
    kb = KnowledgeBase(engine=spark)
    kb.load("p", tmp_path, format="avro")
    assert set(kb.facts("p")) == {(number, "x") for number in range(5)}
    assert sorted((Path(one.file).name, one.line) for one in kb.rejects) == [(f"part-{n}.avro", 2) for n in range(5)]


@pytest.mark.spark
def test_parts_of_orc_hold_one_type_in_a_column(spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(
        ProgramError, match=r"column 'a1' holds constants of several types, or of a type that ORC does not have"
    ):
        write_files(decoded(Published(spark, MIXED)), FileOutput(tmp_path / "p.orc", ORC, single_file_rows=0))
    assert not list(tmp_path.iterdir())
    rows = Published(spark, [(Iri("http://e.org/a"),)])
    write_files(decoded(rows), FileOutput(tmp_path / "p.orc", ORC, single_file_rows=0))
    assert facts_of(tmp_path / "p.orc") == {("http://e.org/a",)}


@pytest.mark.spark
def test_orc_goes_to_other_file_systems_and_avro_says_that_it_does_not(spark: SparkSession, tmp_path: Path) -> None:
    rows = Published(spark, ROWS)
    address = (tmp_path / "remote.orc").as_uri()
    assert write_remotely(decoded(rows), FileOutput(tmp_path / "remote.orc", ORC), address) == len(ROWS)
    assert facts_of(tmp_path / "remote.orc", spark) == set(ROWS)
    with pytest.raises(ProgramError, match="avro files are written to directories of this machine"):
        write_remotely(decoded(rows), FileOutput(tmp_path / "remote.avro", AVRO), (tmp_path / "remote.avro").as_uri())


def test_each_format_is_found_by_its_name_and_its_endings() -> None:
    for form in FORMATS.values():
        for ending in (form.name, *form.endings):
            assert format_of(Path(f"p.{ending.upper()}")) is form
    assert format_of(Path("p.txt"), "csv") is CSV
