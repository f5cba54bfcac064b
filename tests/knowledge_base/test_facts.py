"""Facts in and out of a knowledge base through Python."""

from __future__ import annotations

import datetime as dt
import enum
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corollary import Iri, KnowledgeBase, Limits, Literal, ProgramError
from corollary.program import Structure, identity
from corollary.program.values import XSD
from tests.budgets import examples

ROWS = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), max_size=8)
PATHS = "path(X, Y) :- edge(X, Y). path(X, Z) :- edge(X, Y), path(Y, Z)."


class Colour(enum.StrEnum):
    RED = "red"


@pytest.mark.parametrize(
    "value",
    [
        1,
        -(2**70),
        1.5,
        float("-inf"),
        True,
        "text",
        "",
        "日本",
        Decimal("1.5"),
        dt.date(2026, 1, 31),
        dt.time(12, 30, 0, 250_000),
        dt.datetime(2026, 1, 31, 12, 0, 0, 500),
        dt.datetime(2026, 1, 31, 12, tzinfo=dt.UTC),
        dt.datetime(2026, 1, 31, 12, tzinfo=dt.timezone(dt.timedelta(hours=5, minutes=30))),
        Iri("http://example.org/a"),
        Literal("chat", "http://www.w3.org/1999/02/22-rdf-syntax-ns#langString", "fr"),
        (1, ("a", 2.5)),
    ],
    ids=repr,
)
def test_values_come_back_equal_to_what_went_in(value: Any) -> None:
    kb = KnowledgeBase()
    assert kb.insert("p", [(value,)]) == 1
    ((found,),) = kb.facts("p")
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize(
    ("value", "constant"),
    [
        (np.int32(5), 5),
        (np.float64(1.5), 1.5),
        (np.bool_(True), True),
        (np.str_("x"), "x"),
        (Colour.RED, "red"),
        (Decimal("2.00"), 2),
        (pd.Timestamp("2026-01-31"), dt.datetime(2026, 1, 31)),
        ([1, 2], (1, 2)),
    ],
    ids=repr,
)
def test_relatives_of_plain_values_become_plain(value: Any, constant: Any) -> None:
    kb = KnowledgeBase()
    kb.insert("p", [(value,)])
    ((found,),) = kb.facts("p")
    assert (found, type(found)) == (constant, type(constant))


@pytest.mark.parametrize("value", [None, ..., b"bytes", Decimal("NaN"), "\ud800", pd.NaT, {1: 2}], ids=ascii)
def test_what_is_no_constant_is_refused_and_nothing_is_inserted(value: object) -> None:
    kb = KnowledgeBase()
    with pytest.raises(ProgramError, match=r"error\[E401\]: facts of 'p': "):
        kb.insert("p", [("fine",), (value,)])
    assert kb.count("p") == 0


def test_one_and_one_point_nought_are_told_apart_where_the_language_does() -> None:
    kb = KnowledgeBase()
    assert kb.insert("p", [(1,), (1.0,), (True,), ("1",), (Decimal("1.0"),)]) == 4
    assert {identity(value) for (value,) in kb.facts("p").constants()} == set(map(identity, (1, 1.0, True, "1")))


def test_rows_of_another_length_are_refused() -> None:
    kb = KnowledgeBase(PATHS)
    with pytest.raises(ProgramError, match="row 2 has 3 values, expected 2"):
        kb.insert("edge", [(1, 2), (1, 2, 3)])
    with pytest.raises(ProgramError, match="there are 1 columns, expected 2"):
        kb.insert("edge", pa.table({"a": [1]}))
    assert kb.count("path") == 0


def test_a_column_of_one_argument_needs_no_tuples() -> None:
    kb = KnowledgeBase()
    assert kb.insert("p", ["ab", "cd"]) == 2
    assert sorted(kb.facts("p")) == [("ab",), ("cd",)]


@pytest.mark.parametrize(
    "facts",
    [
        [(1, "a"), (2, "b")],
        iter([[1, "a"], [2, "b"]]),
        pa.table({"x": [1, 2], "y": ["a", "b"]}),
        pa.record_batch({"x": [1, 2], "y": ["a", "b"]}),
        pd.DataFrame({"x": [1, 2], "y": ["a", "b"]}),
        pd.DataFrame({"x": np.array([1, 2], object), "y": pd.Categorical(["a", "b"])}, index=[7, 8]),
        pa.table({"x": [1, 2], "y": pa.array(["a", "b"]).dictionary_encode()}),
    ],
    ids=["tuples", "iterator of lists", "arrow table", "arrow batch", "frame", "frame of objects", "dictionary"],
)
def test_facts_come_in_many_shapes(facts: object) -> None:
    kb = KnowledgeBase()
    assert kb.insert("p", facts) == 2
    assert sorted(kb.facts("p")) == [(1, "a"), (2, "b")]


def test_numpy_arrays_are_rows() -> None:
    kb = KnowledgeBase(PATHS)
    assert kb.insert("edge", np.array([[1, 2], [2, 3]])) == 2
    assert kb.count("path") == 3


def test_a_missing_value_of_a_frame_is_refused() -> None:
    kb = KnowledgeBase()
    with pytest.raises(ProgramError, match=r"column 'x' has 1 empty \(null\) values"):
        kb.insert("p", pd.DataFrame({"x": [1.0, None]}))


def test_inserting_again_is_no_news_and_reading_derives_anew() -> None:
    kb = KnowledgeBase(PATHS)
    assert kb.insert("edge", [(1, 2)]) == 1
    assert kb.count("path") == 1
    assert kb.insert("edge", [(1, 2), (2, 3)]) == 1
    assert sorted(kb.query("path(1, X)")) == [(2,), (3,)]


def test_facts_may_be_stated_of_a_predicate_that_has_rules() -> None:
    kb = KnowledgeBase(PATHS + " path(8, 9).")
    kb.insert("path", [(7, 8)])
    kb.insert("edge", [(1, 7)])
    assert sorted(kb.facts("path")) == [(1, 7), (1, 8), (7, 8), (8, 9)]


# -- files ---------------------------------------------------------------------------------------------------------------


def test_inputs_are_looked_up_beside_the_program_that_names_them(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "edges.csv").write_text("from;to\n1;2\n2;3\n")
    program = tmp_path / "program.dl"
    program.write_text(
        f'@input edge("data/edges.csv", header = true, delimiter = ";", types = "integer,integer") . {PATHS}'
    )
    assert KnowledgeBase.from_file(program).count("path") == 3


def test_the_inputs_of_a_text_are_looked_up_where_base_says(tmp_path: Path) -> None:
    (tmp_path / "edges.csv").write_text("1,2\n")
    assert KnowledgeBase(f'@input edge("edges.csv") . {PATHS}', base=tmp_path).count("path") == 1


def test_a_missing_input_is_an_error_at_its_place(tmp_path: Path) -> None:
    with pytest.raises(ProgramError, match=r"(?s)E402.*no\.csv: No such file.*1 \| @input edge\(\"no\.csv\"\) \."):
        KnowledgeBase('@input edge("no.csv") .', base=tmp_path)


def test_all_files_of_a_directory_are_loaded_by_name(tmp_path: Path) -> None:
    (tmp_path / "edge.csv").write_text("1,2\n")
    (tmp_path / "edge.facts").write_text("2\t3\n")
    (tmp_path / "colour.jsonl").write_text('["red"]\n')
    (tmp_path / "http%3A%2F%2Fe.org%2Fp.tsv").write_text("x\n")
    (tmp_path / "t.nt").write_text("<urn:a> <urn:b> <urn:c> .\n")
    (tmp_path / "README.md").write_text("not data\n")
    kb = KnowledgeBase(PATHS + " @prefix e: <http://e.org/> . q(X) :- e:p(X).")
    assert kb.load_facts(tmp_path) == 5
    assert (kb.count("path"), kb.count("q"), kb.count("colour"), kb.count("t")) == (3, 1, 1, 1)


def test_a_directory_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ProgramError, match=r"error\[E402\]: cannot read .*nowhere"):
        KnowledgeBase().load_facts(tmp_path / "nowhere")


def test_an_unknown_ending_is_an_error_that_lists_the_formats(tmp_path: Path) -> None:
    (tmp_path / "edge.cvs").write_text("1,2\n")
    with pytest.raises(ProgramError, match=r"(?s)E403.*'\.cvs'.*there are csv, tsv, parquet, json"):
        KnowledgeBase().load("edge", tmp_path / "edge.cvs")
    kb = KnowledgeBase()
    assert kb.load("edge", tmp_path / "edge.cvs", format="csv") == 1


def test_rejects_of_several_files_are_listed_together(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("1,2\n3\n")
    (tmp_path / "b.tsv").write_text("1\t2\n\n5\n6\n")
    kb = KnowledgeBase()
    kb.load_facts(tmp_path)
    assert [str(reject).removeprefix(f"{tmp_path}/") for reject in kb.rejects] == [
        "a.csv:2: 1 column, expected 2",
        "b.tsv:3: 1 column, expected 2",
        "b.tsv:4: 1 column, expected 2",
    ]
    assert kb.rejects.by_file == {str(tmp_path / "a.csv"): 1, str(tmp_path / "b.tsv"): 2}
    assert repr(kb.rejects) == "<Rejects: 3 rows>"


def test_a_literal_of_a_program_is_the_value_of_python() -> None:
    kb = KnowledgeBase('p("2026-01-31"^^xsd:date). p("2026-01-31T00:00:00Z"^^xsd:dateTime). p("x"^^xsd:float0).')
    assert set(kb.facts("p")) == {
        (dt.date(2026, 1, 31),),
        (dt.datetime(2026, 1, 31, tzinfo=dt.UTC),),
        (Literal("x", XSD + "float0"),),
    }


def test_json_files_of_a_directory_are_facts_only_for_predicates_that_are_known(tmp_path: Path) -> None:
    (tmp_path / "edge.json").write_text("[1, 2]\n")
    (tmp_path / "settings.json").write_text('{\n  "colour": "red"\n}\n')
    kb = KnowledgeBase("path(X, Y) :- edge(X, Y).")
    assert kb.load_facts(tmp_path) == 1
    assert len(kb.rejects) == 0


def test_a_term_that_is_nested_too_deeply_is_no_constant() -> None:
    """Also where it is given again, and facts that are given afterwards are as they are."""
    term: Any = "z"
    for _ in range(5000):
        term = Structure("s", (term,))
    kb = KnowledgeBase()
    for _ in range(2):
        with pytest.raises(ProgramError, match=r"E401.*nested too deeply"):
            kb.insert("p", [(term,)])
    kb.insert("p", [(Structure("s", ("z",)),)])
    assert list(kb.facts("p")) == [(Structure("s", ("z",)),)]


@settings(max_examples=examples(40))
@given(ROWS, ROWS, ROWS, st.booleans())
def test_facts_can_be_deleted_before_anything_is_derived(first, gone, new, is_derived) -> None:
    text = "path(X, Y) :- edge(X, Y). path(X, Z) :- path(X, Y), edge(Y, Z). far(X) :- path(X, 0), not edge(X, 0)."
    kb = KnowledgeBase(text)
    kb.insert("edge", first)
    if is_derived:
        kb.materialise()
    assert kb.delete("edge", gone) == len(set(first) & set(gone))
    kb.insert("edge", new)
    fresh = KnowledgeBase(text)
    fresh.insert("edge", list((set(first) - set(gone)) | set(new)))
    assert {name: set(kb.facts(name)) for name in kb.predicates()} == {
        name: set(fresh.facts(name)) for name in fresh.predicates()
    }


def test_a_large_deletion_before_anything_is_derived_derives_nothing() -> None:
    kb = KnowledgeBase("number(X + 1) :- number(X).", limits=Limits(facts=100))
    kb.insert("number", [(n,) for n in range(10)])
    assert kb.delete("number", [(n,) for n in range(12)]) == 10
    assert kb.count("number") == 0
    with pytest.raises(ProgramError, match="5 values, expected 1"):
        kb.delete("number", [(1, 2, 3, 4, 5)])


def test_facts_of_files_are_deleted_too(tmp_path: Path) -> None:
    (tmp_path / "edge.csv").write_text("1,2\n2,3\n")
    (tmp_path / "program.dl").write_text('@input edge("edge.csv", format="csv") .\npath(X, Y) :- edge(X, Y).\n')
    kb = KnowledgeBase.from_file(tmp_path / "program.dl")
    assert kb.delete("edge", [(1, 2)]) == 1
    assert list(kb.facts("path")) == [(2, 3)]
