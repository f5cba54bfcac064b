"""Text files on Spark: the same constants and the same rejected lines as the embedded readers give, in any number of blocks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from corollary import ProgramError
from tests.engines.spark.ingested import embedded, embedded_rejects, embedded_rows, loading, setting

pytestmark = pytest.mark.spark

XSD = "http://www.w3.org/2001/XMLSchema#"
CELLS = ["1", "-7", "007", "1.50", "2.0", "1e5", "NaN", "true", "café", "日本", "", "12345678901234567890", " x", "😀"]
TRIPLES = "".join(
    [
        "<http://e.org/a> <http://e.org/p> <http://e.org/b> .\n",
        '_:x <http://e.org/p> "caf\\u00E9" .\n',
        f'<http://e.org/a> <http://e.org/q> "5"^^<{XSD}integer> . # comment\n',
        "\n",
        "not a triple\n",
        f'<http://e.org/a> <http://e.org/q> "two"^^<{XSD}integer> .\n',
        '<http://e.org/é> <http://e.org/p> "chat"@FR .\n',
        f'<http://e.org/a> <http://e.org/r> "2026-01-31"^^<{XSD}date> .\r\n',
        "<http://e.org/a> <http://e.org/p> <http://e.org/b> .\n",
    ]
)
FILES: dict[str, tuple[str, str | bytes, dict[str, Any]]] = {
    "csv": ("p.csv", "\n".join(f"{cell},{n}" for n, cell in enumerate(CELLS)), {}),
    "csv with quotes": ("p.csv", 'a,"x, y"\n"say ""hi""",b\n\n"",c\n', {}),
    "csv with line breaks in cells": ("p.csv", 'a,"1\n2\n3"\nb,c\nd,"e\r\nf"\ng\n"h\ni",j\n', {}),
    "csv whose quote is never closed": ("p.csv", 'a,b\nc,d\ne,"f\ng,h\n', {}),
    "csv with a header": ("p.csv", "\ufeffx,y\n1,2\n3\n4,5\n", {"header": True}),
    "csv with columns by name": ("p.csv", '"from\none",to,w\n1,2,x\n3,4,y\n', {"header": True, "columns": "to, w"}),
    "csv with types": ("p.csv", "1,a\nx,b\n+5,c\n", {"types": "integer, string"}),
    "csv with other line ends": ("p.csv", b"a,b\rc,d\r\ne\rf,g\n", {}),
    "csv with bytes that are no text": ("p.csv", b"a,b\n\xff\xfe,c\nd,e\n", {}),
    "semicolons": ("p.csv", "a;b\nc;d\n", {"delimiter": ";"}),
    "tsv": ("p.tsv", 'a\t"b\nc\td"\n\ne\n', {}),
    "facts": ("p.facts", "1\ta\n2\tb\n1\ta\n", {}),
    "json arrays": ("p.json", '[1, "a"]\n[2.50, {"@id": "http://e.org/é"}]\n\n{"a": 1}\n[1]\nno\n[null, 1]\n', {}),
    "json objects": ("p.jsonl", '{"x": 1, "y": [1, 2]}\n{"y": "b", "x": true}\n{"x": 1}\n[1, 2]\n', {}),
    "json columns": ("p.json", '{"x": 1, "y": "a", "z": 1e3}\n{"z": 3, "x": 2}\n{"z": 3}\n', {"columns": "z, x"}),
    "nt": ("p.nt", TRIPLES, {}),
    "nt with bytes that are no text": ("p.nt", TRIPLES.encode() + b'<http://e.org/a> <http://e.org/p> "\xff" .\n', {}),
    "nq": ("p.nq", TRIPLES + "<http://e.org/a> <http://e.org/p> _:b <http://e.org/g> .\n", {}),
    "ttl": ("p.ttl", "@prefix e: <http://e.org/> . e:a e:p e:b, [ e:q 1.5 ] ; e:r 'é'@de, 'two'^^e:t .", {}),
    "one column": ("p.csv", "1\n\n2\n3,4\n", {}),
    "empty csv": ("p.csv", "", {}),
    "empty nt": ("p.nt", "", {}),
    "empty json": ("p.json", "", {}),
    "blank lines only": ("p.csv", "\n\n\n", {}),
    "header only": ("p.csv", "x,y\n", {"header": True}),
}


_LARGE = 1 << 27
_QUICK = ("csv", "ttl", "empty csv")
_CUT = ("csv with line breaks in cells", "nt", "json arrays")
"""Formats that are cut at places of their own; blocks of 16 bytes take long, so usually larger ones have to do."""
_CASES = [
    *(pytest.param(case, 16, marks=[] if case in _QUICK else [pytest.mark.slow]) for case in FILES),
    *((case, block) for case in _CUT for block in (100, _LARGE)),
]


@pytest.mark.parametrize(("case", "block"), _CASES)
def test_every_format_is_read_as_the_embedded_loader_reads_it(
    spark: SparkSession, tmp_path: Path, case: str, block: int
) -> None:
    name, text, options = FILES[case]
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    expected = embedded(path, **options)
    with setting(spark, "spark.sql.files.maxPartitionBytes", str(block)), loading(spark) as loaded:
        count = loaded.load(path, **options)
        assert loaded.rows() == embedded_rows(expected)
        assert loaded.rejects == embedded_rejects(expected)
        assert len(loaded.ingest.rejects) == len(expected.rejects)
        assert count == expected.count("p")
        assert loaded.ingest.defined == {"p"}
        if len(expected.rejects):
            table = [tuple(row) for row in loaded.ingest.reject_table().orderBy("file", "line").collect()]
            assert table == embedded_rejects(expected)


def test_a_small_file_is_read_by_the_driver_with_the_same_outcome(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "p.csv"
    path.write_text("1,a\nx\n2,b\n1,a\n")
    with loading(spark, small_file=1000) as loaded:
        assert loaded.load(path) == 2
        assert loaded.rows() == [("1", "a"), ("2", "b")]
        assert loaded.rejects == [(str(path), 2, "1 column, expected 2", "x")]
        assert loaded.ingest.reports[0].read == 3


def test_lines_of_rejects_are_right_when_files_have_many_blocks(spark: SparkSession, tmp_path: Path) -> None:
    wrong = {17, 18, 500, 999}
    directory = tmp_path / "p.csv"
    directory.mkdir()
    for name in ("b é.csv", "a.csv"):
        lines = ["no" if number in wrong else f"{number},{name}" for number in range(1, 1001)]
        (directory / name).write_text("\n".join(lines))
    with setting(spark, "spark.sql.files.maxPartitionBytes", "1000"), loading(spark) as loaded:
        assert loaded.load(directory) == 2 * (1000 - len(wrong))
        found = [(file, line) for file, line, _, _ in loaded.rejects]
        assert found == [(str(directory / name), line) for name in ("a.csv", "b é.csv") for line in sorted(wrong)]
        assert loaded.ingest.rejects.by_file == {str(directory / name): 4 for name in ("a.csv", "b é.csv")}


def test_a_pattern_names_several_files(spark: SparkSession, tmp_path: Path) -> None:
    for number in range(3):
        (tmp_path / f"part{number}.tsv").write_text(f"{number}\tx\n")
    (tmp_path / "other.csv").write_text("y\n")
    with loading(spark) as loaded:
        assert loaded.load(str(tmp_path / "part*.tsv")) == 3


def test_a_name_with_signs_of_patterns_is_a_name(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "a[1]{x}*%41 +.csv"
    path.write_text("1,2\nx\n")
    with loading(spark) as loaded:
        assert loaded.load(path) == 1
        assert loaded.rejects == [(str(path), 2, "1 column, expected 2", "x")]


def test_headers_that_differ_between_files_are_an_error(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("x,y\n1,2\n")
    (tmp_path / "b.csv").write_text("y,x\n3,4\n")
    with loading(spark) as loaded:
        with pytest.raises(ProgramError, match=r"E404.*ingest: .*\.csv: its columns are"):
            loaded.load(tmp_path, header=True)
        assert not loaded.store.explicit
        assert not loaded.ingest.defined


def test_strict_loads_store_nothing(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "p.csv"
    path.write_text("1,2\n3\n")
    with loading(spark, strict=True) as loaded:
        with pytest.raises(ProgramError, match=r"E406.*p\.csv:2: 1 column, expected 2"):
            loaded.load(path)
        assert not loaded.store.explicit
        assert loaded.universe.rows == 0


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("p.csv", {"header": True, "columns": "z"}, "has no column 'z'"),
        ("p.csv", {"columns": "z"}, "'columns' needs column names"),
        ("p.csv", {"header": True, "types": "integer"}, "there are types for 1 column, but .* has 2"),
        ("p.csv", {"table": "t"}, "'table' does not apply to csv files"),
        ("p.xyz", {}, "E403"),
        ("none.csv", {}, "E402.*cannot read"),
        ("_p.csv", {}, "E402.*Spark passes over files"),
    ],
)
def test_what_is_wrong_with_a_file_as_a_whole_is_an_error(
    spark: SparkSession, tmp_path: Path, name: str, options: dict[str, Any], message: str
) -> None:
    (tmp_path / "p.csv").write_text("a,b\n1,2\n")
    (tmp_path / "p.xyz").write_text("a,b\n1,2\n")
    (tmp_path / "_p.csv").write_text("a,b\n1,2\n")
    with loading(spark) as loaded:
        with pytest.raises(ProgramError, match=message):
            loaded.load(tmp_path / name, **options)
        assert not loaded.store.explicit


def test_broken_turtle_names_its_file(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "a.ttl").write_text("<http://e.org/a> <http://e.org/b> 1 .")
    (tmp_path / "b.ttl").write_text("<http://e.org/a> <http://e.org/b> .")
    with loading(spark) as loaded:
        with pytest.raises(ProgramError, match=r"E404.*ingest: .*b\.ttl: line 1"):
            loaded.load(tmp_path, "t")
        assert not loaded.store.explicit


def test_a_predicate_without_arguments(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "p.csv"
    path.write_text("()\nx\n()\n")
    with loading(spark) as loaded:
        loaded.ingest.arities["p"] = 0
        assert loaded.load(path) == 1
        assert loaded.rows() == [()]
        assert loaded.rejects == [(str(path), 2, "expected ()", "x")]


def test_columns_that_do_not_fit_the_predicate_are_an_error(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "p.nt"
    path.write_text("<a:a> <a:b> <a:c> .\n")
    with loading(spark) as loaded:
        loaded.ingest.arities["p"] = 2
        with pytest.raises(ProgramError, match="'p' has 2 arguments, but there are 3 columns"):
            loaded.load(path)


def test_loading_again_adds_only_what_is_new(spark: SparkSession, tmp_path: Path) -> None:
    first, second = tmp_path / "1.csv", tmp_path / "2.csv"
    first.write_text("a,1\nb,2\na,1\n")
    second.write_text("b,2\nc,3\n")
    with loading(spark) as loaded:
        assert loaded.load(first) == 2
        assert loaded.load(first) == 0
        assert loaded.load(second) == 1
        assert loaded.rows() == [("a", "1"), ("b", "2"), ("c", "3")]
        assert loaded.universe.rows == 3


def test_ids_that_collide_are_made_again(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "p.csv"
    path.write_text("".join(f"name{number},{number}\n" for number in range(200)))
    with setting(spark, "spark.sql.files.maxPartitionBytes", "500"), loading(spark, hash_bits=12) as loaded:
        assert loaded.load(path) == 200
        assert loaded.rows() == sorted((f"name{number}", str(number)) for number in range(200))
