"""Shortcuts of publishing: the driver writes few rows, tasks copy files of integers. Both give what the long way gives."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow.parquet as parquet
import pytest
from pyspark.sql import SparkSession

from corollary import KnowledgeBase, ProgramError
from corollary.engines.spark.publish.chunks import is_small
from corollary.engines.spark.publish.decoded import Decoded
from corollary.engines.spark.publish.files import FileOutput, write_directly, write_files
from corollary.engines.spark.result import SparkResult
from corollary.io.formats import PARQUET
from tests.engines.spark.published import CONSTANTS

pytestmark = pytest.mark.spark

CLOSURE = "path(X, Y) :- edge(X, Y). path(X, Z) :- edge(X, Y), path(Y, Z). path(7, 8)."
NUMBERS = [(1, 2), (2, 3), (3, -4), (-4, 2**60)]


@pytest.fixture
def kb(spark: SparkSession) -> Iterator[KnowledgeBase]:
    with KnowledgeBase(CLOSURE, engine=spark) as kb:
        yield kb


def decoded(kb: KnowledgeBase, predicate: str = "path") -> Decoded:
    result = kb.facts(predicate)
    assert isinstance(result, SparkResult)
    return result._decoded


def rows_of(path: Path) -> list[tuple[int, ...]]:
    table = parquet.read_table(path)
    return sorted(zip(*(column.to_pylist() for column in table.columns), strict=True))


@pytest.mark.parametrize("form", ["csv", "json", "parquet"])
def test_few_rows_are_written_as_the_embedded_engine_writes_them(kb: KnowledgeBase, form: str, tmp_path: Path) -> None:
    embedded = KnowledgeBase()
    ours, theirs = tmp_path / f"ours.{form}", tmp_path / f"theirs.{form}"
    for one, path in ((kb, ours), (embedded, theirs)):
        one.insert("q", [(value,) for value in CONSTANTS])
        one.write("q", path)
    assert is_small(decoded(kb, "q"))
    if form == "parquet":
        left, right = parquet.read_table(ours), parquet.read_table(theirs)
        assert left.schema == right.schema
        assert sorted(map(repr, left.to_pylist())) == sorted(map(repr, right.to_pylist()))
    else:
        assert sorted(ours.read_bytes().splitlines()) == sorted(theirs.read_bytes().splitlines())


def test_a_mistake_names_the_file_that_was_asked_for(kb: KnowledgeBase, tmp_path: Path) -> None:
    kb.insert("q", [("two\nlines",)])
    with pytest.raises(ProgramError, match=rf"{tmp_path / 'q.tsv'}: a tsv file cannot hold"):
        kb.write("q", tmp_path / "q.tsv")
    assert list(tmp_path.iterdir()) == []


def test_tasks_copy_files_of_integers(kb: KnowledgeBase, tmp_path: Path) -> None:
    kb.insert("edge", NUMBERS)
    rows = decoded(kb)
    assert write_directly(rows, tmp_path / "direct")
    assert write_files(rows, FileOutput(tmp_path / "out.parquet", PARQUET, single_file_rows=0)) == len(kb.facts("path"))
    expected = sorted(kb.facts("path"))
    assert (7, 8) in expected
    assert (1, 2**60) in expected
    assert rows_of(tmp_path / "direct") == rows_of(tmp_path / "out.parquet") == expected
    assert parquet.read_table(tmp_path / "direct").schema.names == ["a1", "a2"]


def test_texts_go_the_long_way_and_leave_nothing_behind(kb: KnowledgeBase, tmp_path: Path) -> None:
    kb.insert("edge", [*NUMBERS, ("a", 1)])
    rows = decoded(kb)
    assert not write_directly(rows, tmp_path / "direct")
    assert list(tmp_path.iterdir()) == []
    write_files(rows, FileOutput(tmp_path / "out.parquet", PARQUET, single_file_rows=0))
    assert len(parquet.read_table(tmp_path / "out.parquet")) == len(kb.facts("path"))
