"""Delta tables that Spark writes, without a library of Delta in Java."""

from __future__ import annotations

import subprocess
import sys
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable
from pyspark.sql import SparkSession

from corollary import KnowledgeBase, ProgramError
from corollary.engines.spark.publish.publisher import write_delta, write_frame
from corollary.io.delta import commit
from tests.engines.spark.published import CONSTANTS, TERMS, Published, failing_in_the_middle, same

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def ages(spark: SparkSession) -> Published:
    return Published(spark, [("ann", 40), ("日本 🎉", 7)])


@pytest.fixture(scope="module")
def prices(spark: SparkSession) -> Published:
    return Published(spark, [("tea", Decimal("2.5"))])


def write(published: Published, path: Path, **options: Any) -> int:
    return write_frame(published.context, published.frame, path, **options)


def loaded(path: Path) -> KnowledgeBase:
    kb = KnowledgeBase()
    kb.load("p", path)
    return kb


def test_every_constant_comes_back(spark: SparkSession, tmp_path: Path) -> None:
    published = Published(spark, list(enumerate([*CONSTANTS, *TERMS])))
    assert write(published, tmp_path / "p.delta") == len(CONSTANTS) + len(TERMS)
    assert same(loaded(tmp_path / "p.delta").facts("p").constants()) == same(published.embedded.constants())


def test_others_read_the_table(spark: SparkSession, ages: Published, tmp_path: Path) -> None:
    write(ages, tmp_path / "p.delta")
    table = DeltaTable(str(tmp_path / "p.delta"))
    expected = [{"a1": "ann", "a2": 40}, {"a1": "日本 🎉", "a2": 7}]
    assert sorted(table.to_pyarrow_table().to_pylist(), key=lambda row: row["a1"]) == expected
    read = spark.read.parquet(*table.file_uris())
    assert sorted((row.asDict() for row in read.collect()), key=lambda row: row["a1"]) == expected
    actions = table.get_add_actions(flatten=True)
    figures = {name: actions.column(name).to_pylist() for name in ("num_records", "min.a2", "max.a2", "null_count.a2")}
    assert sum(figures["num_records"]) == 2
    assert (min(figures["min.a2"]), max(figures["max.a2"]), set(figures["null_count.a2"])) == (7, 40, {0})
    files = {path.name for path in (tmp_path / "p.delta").rglob("*") if path.is_file()}
    assert all(name.endswith((".parquet", ".json")) for name in files)


def test_overwriting_keeps_old_versions_and_may_change_columns(
    ages: Published, prices: Published, tmp_path: Path
) -> None:
    path = tmp_path / "p.delta"
    write(ages, path)
    write(prices, path)
    assert list(loaded(path).facts("p")) == [("tea", Decimal("2.5"))]
    write(prices, path, mode="overwrite")
    assert list(loaded(path).facts("p")) == [("tea", Decimal("2.5"))]
    assert len(DeltaTable(str(path), version=0).to_pyarrow_table()) == 2
    assert DeltaTable(str(path)).version() == 2


def test_appending_needs_the_same_columns(ages: Published, prices: Published, tmp_path: Path) -> None:
    path = tmp_path / "p.delta"
    write(ages, path, mode="append")
    write(ages, path, mode="append")
    assert DeltaTable(str(path)).to_pyarrow_table().num_rows == 4
    with pytest.raises(ProgramError, match=r"E408.*the columns of the table are not those of the facts"):
        write(prices, path, mode="append")
    assert DeltaTable(str(path)).version() == 1


def test_modes(ages: Published, tmp_path: Path) -> None:
    write(ages, tmp_path / "p.delta", mode="error")
    with pytest.raises(ProgramError, match=r"E407.*p\.delta exists"):
        write(ages, tmp_path / "p.delta", mode="error")
    with pytest.raises(ProgramError, match=r"E405.*there is no mode 'merge'"):
        write(ages, tmp_path / "p.delta", mode="merge")
    with pytest.raises(ProgramError, match=r"E405.*does not apply to csv files"):
        write(ages, tmp_path / "p.csv", mode="append")
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "thesis.tex").write_text("years of work")
    with pytest.raises(ProgramError, match=r"E407.*exists and is not a Delta table"):
        write(ages, tmp_path / "other", form="delta")


@pytest.mark.parametrize("is_new", [True, False])
def test_a_task_that_fails_in_the_middle_leaves_the_table_as_it_was(
    ages: Published, tmp_path: Path, is_new: bool
) -> None:
    path = tmp_path / "p.delta"
    if not is_new:
        write(ages, path)
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(ProgramError, match=r"E407.*publish: cannot write .*the disk is gone"):
        write_delta(failing_in_the_middle(ages), path)
    assert sorted(tmp_path.rglob("*")) == before
    assert is_new or len(loaded(path).facts("p")) == 2


def test_a_commit_that_fails_leaves_the_table_as_it_was(
    ages: Published, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "p.delta"
    write(ages, path)
    before = sorted(tmp_path.rglob("*"))

    def racing(*arguments: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("corollary.engines.spark.publish.publisher.commit", racing)
    with pytest.raises(ProgramError, match=r"E407.*No space left on device"):
        write(ages, path)
    assert sorted(tmp_path.rglob("*")) == before
    assert commit is not racing


def test_empty_relations_and_predicates_without_arguments(spark: SparkSession, tmp_path: Path) -> None:
    write(Published(spark, [], arity=2), tmp_path / "empty.delta")
    assert len(loaded(tmp_path / "empty.delta").facts("p")) == 0
    for rows in ([], [()]):
        write(Published(spark, rows, arity=0), tmp_path / "p.delta")
        kb = KnowledgeBase("q :- p.")
        kb.load("p", tmp_path / "p.delta")
        assert kb.count("q") == len(rows)


@pytest.mark.slow
def test_the_interpreter_ends_in_peace(tmp_path: Path) -> None:
    script = """
import sys
from corollary import KnowledgeBase
kb = KnowledgeBase()
kb.insert("p", [(number, str(number)) for number in range(100_000)])
kb.write("p", sys.argv[1]); kb.write("p", sys.argv[1])
back = KnowledgeBase(); back.load("p", sys.argv[1])
assert back.count("p") == 100_000
"""
    for _ in range(5):
        run = subprocess.run([sys.executable, "-c", script, str(tmp_path / "p.delta")], capture_output=True, text=True)
        assert (run.returncode, run.stderr) == (0, "")
