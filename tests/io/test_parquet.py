"""Parquet files: types, nulls, damage."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from corollary import KnowledgeBase, ProgramError
from corollary.io.options import ReadOptions
from corollary.io.read import read_file, read_pieces
from tests.io.loaded import load, rejected, rows, written


def parquet(path: Path, **columns: pa.Array) -> Path:
    pq.write_table(pa.table(columns), path)
    return path


def test_columns_keep_their_types(tmp_path: Path) -> None:
    path = parquet(
        tmp_path / "p.parquet",
        integer=pa.array([1], pa.int8()),
        large=pa.array([2**64 - 1], pa.uint64()),
        double=pa.array([1.0]),
        decimal=pa.array([Decimal("2.50")]),
        text=pa.array(["1"]),
        boolean=pa.array([True]),
        day=pa.array([dt.date(2026, 1, 31)]),
        point=pa.array([dt.datetime(2026, 1, 31, 12, 0, 0, 500_000)], pa.timestamp("ns")),
        zoned=pa.array([dt.datetime(2026, 1, 31, 12, tzinfo=dt.UTC)], pa.timestamp("us", "UTC")),
        word=pa.array(["a"]).dictionary_encode(),
    )
    kb = load(path)
    assert rows(kb) == [
        (
            "1",
            "18446744073709551615",
            "1.0e0",
            "2.5",
            '"1"',
            "true",
            '"2026-01-31"^^xsd:date',
            '"2026-01-31T12:00:00.5"^^xsd:dateTime',
            '"2026-01-31T12:00:00Z"^^xsd:dateTime',
            "a",
        )
    ]
    assert next(iter(kb.facts("p")))[6:9] == (
        dt.date(2026, 1, 31),
        dt.datetime(2026, 1, 31, 12, 0, 0, 500_000),
        dt.datetime(2026, 1, 31, 12, tzinfo=dt.UTC),
    )


def test_a_row_with_a_null_is_left_out_with_its_number(tmp_path: Path) -> None:
    kb = load(parquet(tmp_path / "p.parquet", a=pa.array([1, None, 3]), b=pa.array(["x", "y", None])))
    assert list(kb.facts("p")) == [(1, "x")]
    assert rejected(kb) == [(2, "column 'a' is null"), (3, "column 'b' is null")]


def test_columns_are_chosen_by_name(tmp_path: Path) -> None:
    path = parquet(tmp_path / "p.parquet", a=pa.array([1]), b=pa.array([2]), c=pa.array([3]))
    assert list(load(path, columns="c, a").facts("p")) == [(3, 1)]
    with pytest.raises(ProgramError, match=r"E405.*has no column 'd'"):
        load(path, columns="d")


def test_a_directory_of_parquet_files_is_one_relation(tmp_path: Path) -> None:
    (tmp_path / "p.parquet").mkdir()
    parquet(tmp_path / "p.parquet" / "part-0.parquet", a=pa.array([1]))
    parquet(tmp_path / "p.parquet" / "part-1.parquet", a=pa.array([2]))
    written(tmp_path / "p.parquet" / "_SUCCESS", "")
    kb = KnowledgeBase()
    kb.load_facts(tmp_path)
    assert sorted(kb.facts("p")) == [(1,), (2,)]


@pytest.mark.parametrize("damage", ["not parquet at all", "", "PAR1....PAR1"])
def test_a_damaged_file_is_an_error(tmp_path: Path, damage: str) -> None:
    with pytest.raises(ProgramError, match=r"error\[E404\]: .*p\.parquet: this is not a readable Parquet file"):
        load(written(tmp_path / "p.parquet", damage))


def test_a_truncated_file_is_an_error(tmp_path: Path) -> None:
    path = parquet(tmp_path / "p.parquet", a=pa.array(range(100_000)))
    path.write_bytes(path.read_bytes()[:-50])
    with pytest.raises(ProgramError, match="E404"):
        load(path)


def test_a_column_without_constants_is_an_error_that_names_its_type(tmp_path: Path) -> None:
    path = parquet(tmp_path / "p.parquet", a=pa.array([[1, 2]]))
    with pytest.raises(ProgramError, match=r"E401.*no constants of the Arrow type list"):
        load(path)


def test_nanoseconds_that_no_constant_has_are_an_error(tmp_path: Path) -> None:
    path = parquet(tmp_path / "p.parquet", a=pa.array([1], pa.timestamp("ns")))
    with pytest.raises(ProgramError, match="round to microseconds"):
        load(path)


def test_the_number_of_columns_must_fit_the_predicate(tmp_path: Path) -> None:
    path = parquet(tmp_path / "p.parquet", a=pa.array([1]), b=pa.array([2]))
    with pytest.raises(ProgramError, match=r"E401.*'p' has 1 argument, but there are 2 columns"):
        load(path, program="q(X) :- p(X).")


@pytest.mark.parametrize("count", [0, 1, 70_000])
def test_pieces_are_the_whole_file_with_the_same_rows_left_out(tmp_path: Path, count: int) -> None:
    numbers = [None if number % 3_000 == 1 else number for number in range(count)]
    path = parquet(tmp_path / "p.parquet", a=pa.array(numbers, pa.int64()), b=pa.array(["x"] * count, pa.string()))
    for columns in (None, ("b", "a")):
        options = ReadOptions(columns=columns)
        whole, pieces = read_file(path, options), list(read_pieces(path, options))
        assert len(pieces) == max(1, -(-count // (1 << 15)))
        assert pa.concat_tables([piece.table for piece in pieces]).equals(whole.table)
        assert list(pieces[-1].rejects) == list(whole.rejects)


def test_of_many_rejected_rows_in_pieces_the_first_are_listed(tmp_path: Path) -> None:
    path = parquet(tmp_path / "p.parquet", a=pa.nulls(40_000, pa.int64()))
    *_, last = read_pieces(path, ReadOptions())
    assert len(last.rejects) == 40_000
    assert [reject.line for reject in last.rejects] == list(range(1, 10_001))


def test_what_files_of_other_formats_hold_is_one_piece(tmp_path: Path) -> None:
    (piece,) = read_pieces(written(tmp_path / "p.csv", "1,2\n3,4\n"), ReadOptions())
    assert piece.table.num_rows == 2


def test_damage_behind_the_first_piece_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "p.parquet"
    pq.write_table(pa.table({"a": pa.array(range(100_000))}), path, row_group_size=50_000, compression="zstd")
    data = bytearray(path.read_bytes())
    middle = pq.ParquetFile(path).metadata.row_group(1).column(0).dictionary_page_offset
    data[middle : middle + 2_000] = b"\xff" * 2_000
    path.write_bytes(data)
    with pytest.raises(ProgramError, match="E404"):
        list(read_pieces(path, ReadOptions()))
