"""csv, tsv and facts files: what is loaded, and what is left out and where it stands."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from corollary import KnowledgeBase, ProgramError
from tests.budgets import examples
from tests.io.loaded import load, rejected, rows, written


def test_cells_get_their_types_one_by_one(tmp_path: Path) -> None:
    kb = load(written(tmp_path / "p.csv", "1,one\n2.50,true\n1e0,\n"))
    assert rows(kb) == [("1", "one"), ("2.5", "true"), ("1.0e0", '""')]


def test_a_csv_file_may_quote_its_cells(tmp_path: Path) -> None:
    kb = load(written(tmp_path / "p.csv", '"a,b","say ""hi"""\n"two\nlines",5" pipe\n'))
    assert list(kb.facts("p")) == [("a,b", 'say "hi"'), ("two\nlines", '5" pipe')]


@pytest.mark.parametrize("ending", ["tsv", "facts"])
def test_tab_separated_files_know_no_quotes(tmp_path: Path, ending: str) -> None:
    kb = load(written(tmp_path / f"p.{ending}", '"a"\tx,y\n"open\t2\n'))
    assert list(kb.facts("p")) == [('"a"', "x,y"), ('"open', 2)]


def test_the_delimiter_can_be_chosen(tmp_path: Path) -> None:
    kb = load(written(tmp_path / "p.csv", "1;2,5\n"), delimiter=";")
    assert list(kb.facts("p")) == [(1, "2,5")]


def test_a_header_is_no_fact_and_chooses_columns_by_name(tmp_path: Path) -> None:
    path = written(tmp_path / "p.csv", "name,age,town\nann,40,oslo\n")
    assert list(load(path, header=True).facts("p")) == [("ann", 40, "oslo")]
    assert list(load(path, header=True, columns="town, name").facts("p")) == [("oslo", "ann")]
    assert list(load(path, header=True, columns=["age"]).facts("p")) == [(40,)]


def test_names_of_columns_may_be_quoted_or_empty(tmp_path: Path) -> None:
    path = written(tmp_path / "p.csv", '\n,"a, b","say ""x""","two\nlines"\r\n1,2,3,4\n5\n')
    kb = load(path, header=True, columns=["two\nlines", 'say "x"', "a, b", ""])
    assert list(kb.facts("p")) == [(4, 3, 2, 1)]
    assert rejected(kb) == [(5, "1 column, expected 4")]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("\ufeff1,2\n", [(1, 2)]),
        ("1,2\r\n3,4\r\n", [(1, 2), (3, 4)]),
        ("1,2", [(1, 2)]),
        ("\n\n1,2\n\n3,4\n\n", [(1, 2), (3, 4)]),
        ("å,日本\n", [("å", "日本")]),
        ("", []),
        ("\n\n", []),
    ],
    ids=["byte order mark", "windows", "no last line end", "blank lines", "unicode", "empty", "only blank lines"],
)
def test_all_kinds_of_text_files_are_read(tmp_path: Path, text: str, expected: list[tuple[object, ...]]) -> None:
    kb = load(written(tmp_path / "p.csv", text))
    assert list(kb.facts("p")) == expected
    assert len(kb.rejects) == 0


def test_an_empty_cell_alone_in_its_row_is_written_in_quotes(tmp_path: Path) -> None:
    kb = load(written(tmp_path / "p.csv", 'a\n\n""\n'))
    assert list(kb.facts("p")) == [("a",), ("",)]


def test_a_file_with_nothing_but_a_header_is_empty(tmp_path: Path) -> None:
    kb = load(written(tmp_path / "p.csv", "a,b\n"), header=True, program="q(X) :- p(X, _).")
    assert (kb.count("p"), kb.count("q"), len(kb.rejects)) == (0, 0, 0)


def test_a_row_may_be_larger_than_the_blocks_in_which_files_are_read(tmp_path: Path) -> None:
    long = "x" * 20_000_000
    kb = load(written(tmp_path / "p.csv", f"1,{long}\n2,short\n"))
    assert [len(text) for _, text in kb.facts("p")] == [20_000_000, 5]


def test_a_predicate_without_arguments_is_stated_by_brackets(tmp_path: Path) -> None:
    kb = load(written(tmp_path / "wet.csv", "()\n"), predicate="wet", program="slippery :- wet.")
    assert kb.count("slippery") == 1
    kb = load(written(tmp_path / "wet.csv", "yes\n"), predicate="wet", program="slippery :- wet.")
    assert (kb.count("slippery"), rejected(kb)) == (0, [(1, "expected ()")])


# -- rows that are left out ----------------------------------------------------------------------------------------------


def test_a_row_with_too_many_or_too_few_columns_is_left_out_with_its_line(tmp_path: Path) -> None:
    kb = load(written(tmp_path / "p.csv", '1,2\n\n"two\nlines",3\n4\n5,6,7\n8,9\n'))
    assert list(kb.facts("p")) == [(1, 2), ("two\nlines", 3), (8, 9)]
    assert rejected(kb) == [(5, "1 column, expected 2"), (6, "3 columns, expected 2")]
    assert [reject.text for reject in kb.rejects] == ["4", "5,6,7"]


def test_the_predicate_says_how_many_columns_there_must_be(tmp_path: Path) -> None:
    kb = load(written(tmp_path / "p.csv", "1,2,3\n1,2\n"), program="q(X) :- p(X, _).")
    assert list(kb.facts("p")) == [(1, 2)]
    assert rejected(kb) == [(1, "3 columns, expected 2")]


def test_lines_are_counted_from_the_top_of_a_file_with_a_header(tmp_path: Path) -> None:
    kb = load(written(tmp_path / "p.tsv", "a\tb\n1\t2\n3\n"), header=True)
    assert rejected(kb) == [(3, "1 column, expected 2")]


def test_bytes_that_are_no_text_cost_their_row(tmp_path: Path) -> None:
    kb = load(written(tmp_path / "p.csv", b"1,a\n2,\xff\n3,\xc3\xa9\n"))
    assert list(kb.facts("p")) == [(1, "a"), (3, "é")]
    assert rejected(kb) == [(2, "this is not valid UTF-8")]


CELLS = {b"1": 1, b"x": "x", b"\xc3\xa9": "é", b"\xff": None, b"a\xc3": None, b"": ""}


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=examples(150), deadline=None)
@given(
    st.lists(st.lists(st.sampled_from(list(CELLS)), min_size=1, max_size=4).filter(any), max_size=6),
    st.sampled_from([b"\n", b"\r\n"]),
    st.booleans(),
)
def test_each_row_is_loaded_or_left_out_with_its_line_and_reason(
    tmp_path: Path, cells: list[list[bytes]], end: bytes, is_quoted: bool
) -> None:
    """Bytes that are no text, wrong numbers of cells, quotes and line ends in any combination."""

    def written_cell(cell: bytes) -> bytes:
        return b'"' + cell + b'"' if is_quoted and cell else cell

    for ending, delimiter in (("csv", b","), ("tsv", b"\t")):
        lines = [delimiter.join(map(written_cell if ending == "csv" else bytes, row)) for row in cells]
        path = written(tmp_path / f"p.{ending}", b"".join(line + end for line in lines))
        kb = load(path, program="q(X) :- p(X, _).")
        found = [[CELLS[cell] for cell in row] for row in cells]
        good = [tuple(row) for row in found if len(row) == 2 and None not in row]
        assert set(kb.facts("p")) == set(good)
        assert rejected(kb) == [
            (number, "this is not valid UTF-8" if len(row) == 2 else f"{_columns(len(row))}, expected 2")
            for number, row in enumerate(found, 1)
            if len(row) != 2 or None in row
        ]


def _columns(count: int) -> str:
    return "1 column" if count == 1 else f"{count} columns"


def test_a_quote_that_is_never_closed_costs_its_row(tmp_path: Path) -> None:
    kb = load(written(tmp_path / "p.csv", '1,2\n3,"4\n'))
    assert list(kb.facts("p")) == [(1, 2)]
    assert rejected(kb) == [(2, "a quote is never closed")]


@pytest.mark.parametrize(
    ("declared", "good", "bad"),
    [
        ("integer", ["5", "+5", "007", "-0", "9" * 30], ["", "five", "1.0", "0x1F", "1e3", " 5"]),
        ("decimal", ["5", "1.50", ".5", "5.", "+0.5"], ["", "1e3", "five", "1;5", "."]),
        ("double", ["5", "1.5", "1e3", "-INF", "NaN", ".5"], ["", "inf", "nan", "five", "0x1F"]),
        ("boolean", ["true", "false", "1", "0"], ["", "True", "yes", "2"]),
        ("iri", ["http://example.org/a", "urn:x"], ["", "a b", "<a>"]),
        ("date", ["2026-01-31", "2026-01-31Z"], ["", "2026-02-30", "31.1.2026"]),
        ("dateTime", ["2026-01-31T12:00:00", "2026-01-31T12:00:00.5Z"], ["", "2026-01-31"]),
        ("time", ["12:00:00"], ["", "25:00:00", "12:00"]),
    ],
)
def test_under_a_declared_type_other_cells_are_left_out(
    tmp_path: Path, declared: str, good: list[str], bad: list[str]
) -> None:
    text = "".join(f"{number},{cell}\n" for number, cell in enumerate([*good, *bad], 1))
    kb = load(written(tmp_path / "p.csv", text), types=f"integer, {declared}")
    assert [number for number, _ in kb.facts("p")] == list(range(1, len(good) + 1))
    name = {"integer": "an integer", "iri": "an IRI"}.get(declared, f"a {declared}")
    assert rejected(kb) == [
        (line, f"'{cell}' in column 2 is not {name}") for line, cell in enumerate(bad, len(good) + 1)
    ]


def test_declared_types_decide_what_cells_are(tmp_path: Path) -> None:
    path = written(tmp_path / "p.csv", "007,5,5,1,2026-01-31,urn:a,5\n")
    kb = load(path, types="string, double, decimal, boolean, date, iri, any")
    assert rows(kb) == [('"007"', "5.0e0", "5", "true", '"2026-01-31"^^xsd:date', "<urn:a>", "5")]


def test_only_ten_thousand_rejects_of_a_file_are_listed_and_all_are_counted(tmp_path: Path) -> None:
    kb = load(written(tmp_path / "p.csv", "1,2\n" + "x\n" * 20_000), types="integer, integer")
    assert (len(kb.rejects), len(list(kb.rejects)), kb.count("p")) == (20_000, 10_000, 1)


def test_strict_loading_takes_nothing_of_a_file_with_a_bad_row(tmp_path: Path) -> None:
    kb = KnowledgeBase(strict=True)
    path = written(tmp_path / "p.csv", "1,2\n3\n")
    with pytest.raises(ProgramError, match=r"error\[E406\]: .*p\.csv:2: 1 column, expected 2"):
        kb.load("p", path)
    assert kb.count("p") == 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"delimiter": ";;"}, "a delimiter is one character"),
        ({"types": "integer"}, "types for 1 column"),
        ({"types": "integer, number"}, "'number' is not one of any, integer"),
        ({"columns": "a"}, "'columns' needs column names"),
        ({"header": True, "columns": "a, c"}, "has no column 'c'"),
    ],
)
def test_options_that_make_no_sense_are_errors(tmp_path: Path, options: dict[str, object], message: str) -> None:
    path = written(tmp_path / "p.csv", "a,b\n1,2\n")
    with pytest.raises(ProgramError, match=message) as error:
        load(path, program="q(X) :- p(X, _).", **options)
    assert {diagnostic.code for diagnostic in error.value.diagnostics} == {"E405"}


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=examples(50))
@given(st.lists(st.tuples(st.text(max_size=5), st.text(max_size=5)), min_size=1, max_size=6))
def test_cells_are_those_that_python_wrote(tmp_path: Path, cells: list[tuple[str, str]]) -> None:
    cells = [(a, b) for a, b in cells if "\0" not in a + b and "\r" not in a + b]
    buffer = io.StringIO()
    csv.writer(buffer, lineterminator="\n").writerows(cells)
    kb = load(written(tmp_path / "p.csv", buffer.getvalue()), types="string, string")
    assert set(kb.facts("p")) == set(cells)
    assert len(kb.rejects) == 0
