"""JSON lines: arrays and objects, constants, and lines that are no rows."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.io.loaded import load, rejected, rows, written


def test_arrays_are_rows_and_numbers_are_what_programs_call_them(tmp_path: Path) -> None:
    kb = load(written(tmp_path / "p.jsonl", '[1, "a", 1.50, 1e0, true, [1, "x"]]\n\n[1, "a", 2, 2e0, false, []]\n'))
    assert rows(kb) == [
        ("1", "a", "1.5", "1.0e0", "true", "[1, x]"),
        ("1", "a", "2", "2.0e0", "false", "[]"),
    ]


def test_objects_are_rows_in_the_order_of_the_first_one(tmp_path: Path) -> None:
    path = written(tmp_path / "p.ndjson", '{"a": 1, "b": "x"}\n{"b": "y", "a": 2}\n')
    assert list(load(path).facts("p")) == [(1, "x"), (2, "y")]
    assert list(load(path, columns="b").facts("p")) == [("x",), ("y",)]


def test_iris_literals_and_function_terms_are_objects(tmp_path: Path) -> None:
    text = """\
[{"@id": "http://example.org/a"}]
[{"@value": "2026-01-31", "@type": "http://www.w3.org/2001/XMLSchema#date"}]
[{"@value": "chat", "@language": "FR"}]
[{"@function": "f", "@arguments": [1, {"@id": "urn:x"}]}]
[{"@value": "7", "@type": "http://www.w3.org/2001/XMLSchema#integer"}]
"""
    assert rows(load(written(tmp_path / "p.json", text))) == [
        ("<http://example.org/a>",),
        ('"2026-01-31"^^xsd:date',),
        ('"chat"@fr',),
        ("f(1, <urn:x>)",),
        ("7",),
    ]


def test_large_numbers_stay_exact(tmp_path: Path) -> None:
    kb = load(written(tmp_path / "p.json", "[123456789012345678901234567890, 0.1234567890123456789012345]\n[1, 2]\n"))
    assert rows(kb)[0] == ("123456789012345678901234567890", "0.1234567890123456789012345")


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("[1, 2", "this is not JSON"),
        ("[1]", "1 values, expected 2"),
        ("[1, null]", "null is not a constant"),
        ('[1, {"x": 1}]', "an object must have @id, @value or @function"),
        ('[1, {"@value": "x", "@type": "http://www.w3.org/2001/XMLSchema#integer"}]', "is not a valid xsd:integer"),
        ('{"a": 1}', "a row must be an array here"),
        ("7", "a row must be an array here"),
        ('[1, "\\ud800"]', "is not valid Unicode text"),
    ],
)
def test_a_line_that_is_no_row_is_left_out(tmp_path: Path, line: str, reason: str) -> None:
    kb = load(written(tmp_path / "p.json", f"[1, 2]\n{line}\n[3, 4]\n"))
    assert sorted(kb.facts("p")) == [(1, 2), (3, 4)]
    ((number, said),) = rejected(kb)
    assert number == 2
    assert reason in said


@pytest.mark.parametrize(
    ("line", "reason"), [('{"a": 2}', "there is no 'b'"), ('{"a": 2, "b": 3, "c": 4}', "'c' is an unexpected column")]
)
def test_an_object_with_other_keys_is_left_out(tmp_path: Path, line: str, reason: str) -> None:
    kb = load(written(tmp_path / "p.json", f'{{"a": 1, "b": 2}}\n{line}\n'))
    assert (list(kb.facts("p")), rejected(kb)) == ([(1, 2)], [(2, reason)])


def test_bytes_that_are_no_text_cost_their_line(tmp_path: Path) -> None:
    kb = load(written(tmp_path / "p.json", b'["a"]\n["\xff"]\n'))
    assert (list(kb.facts("p")), rejected(kb)) == ([("a",)], [(2, "this is not valid UTF-8")])


def test_an_empty_file_has_no_facts(tmp_path: Path) -> None:
    assert list(load(written(tmp_path / "p.json", "")).facts("p")) == []
