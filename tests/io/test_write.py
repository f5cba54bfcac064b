"""Files of facts: what is written comes back as it was, as far as the format can say it."""

from __future__ import annotations

import datetime as dt
import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from corollary import Iri, KnowledgeBase, Literal, ProgramError
from corollary.io.formats import CSV, DELTA, fact_files, file_name
from corollary.program import Structure, identity
from corollary.program.values import RDF, XSD
from tests.budgets import examples
from tests.io.loaded import load

CONSTANTS: list[Any] = [
    0,
    -(2**63),
    2**80,
    Decimal("0.1"),
    Decimal("-12345678901234567890.5"),
    1.0,
    -0.0,
    1e300,
    float("inf"),
    True,
    False,
    "",
    "plain",
    'say "hi", twice',
    "two\nlines\r\n",
    "tab\there",
    "日本 🎉",
    "back\\slash",
    Iri("http://e.org/a#b"),
    Iri("urn:é"),
    Iri("_:node"),
    Literal("chat", RDF + "langString", "fr"),
    Literal("2026-01-31", XSD + "date"),
    Literal('x"y', "http://e.org/type"),
]
TERMS: list[Any] = [Structure("f", (1, "a")), (), (1, ("x", Decimal("2.5")))]


def identities(kb: KnowledgeBase) -> set[tuple[object, ...]]:
    return {tuple(map(identity, row)) for row in kb.facts("p").constants()}


@pytest.mark.parametrize("ending", ["parquet", "json"])
def test_parquet_and_json_files_give_back_every_constant(tmp_path: Path, ending: str) -> None:
    kb = KnowledgeBase()
    kb.insert("p", [(number, value) for number, value in enumerate([*CONSTANTS, *TERMS])])
    kb.write("p", tmp_path / f"p.{ending}")
    assert identities(load(tmp_path / f"p.{ending}")) == identities(kb)


@pytest.mark.parametrize("value", [*CONSTANTS, *TERMS], ids=repr)
def test_a_column_of_one_kind_comes_back_from_parquet(tmp_path: Path, value: object) -> None:
    kb = KnowledgeBase()
    kb.insert("p", [(value,)])
    kb.write("p", tmp_path / "p.parquet")
    assert identities(load(tmp_path / "p.parquet")) == identities(kb)


def test_triples_give_back_every_constant_that_is_an_rdf_term(tmp_path: Path) -> None:
    kb = KnowledgeBase()
    kb.insert("p", [(Iri("_:s"), Iri("http://e.org/p"), value) for value in CONSTANTS])
    kb.write("p", tmp_path / "p.nt")
    assert identities(load(tmp_path / "p.nt")) == identities(kb)


def test_csv_files_give_back_numbers_booleans_and_plain_strings(tmp_path: Path) -> None:
    kb = KnowledgeBase()
    kb.insert("p", [(number, value) for number, value in enumerate(CONSTANTS) if not isinstance(value, (Iri, Literal))])
    kb.write("p", tmp_path / "p.csv")
    assert identities(load(tmp_path / "p.csv")) == identities(kb)


def test_csv_files_hold_iris_and_literals_as_their_text(tmp_path: Path) -> None:
    kb = KnowledgeBase()
    kb.insert("p", [(Iri("http://e.org/a"), Literal("chat", RDF + "langString", "fr"), dt.date(2026, 1, 31), "7")])
    kb.write("p", tmp_path / "p.csv")
    assert (tmp_path / "p.csv").read_text() == "http://e.org/a,chat,2026-01-31,7\n"
    back = load(tmp_path / "p.csv", types="iri, string, date, string")
    assert list(back.facts("p")) == [(Iri("http://e.org/a"), "chat", dt.date(2026, 1, 31), "7")]


values = st.one_of(
    st.integers(),
    st.floats(),
    st.booleans(),
    st.text(max_size=6),
    st.dates(),
    st.datetimes().map(lambda time: time.replace(fold=0)),
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=examples(40))
@given(st.lists(st.tuples(values, values), max_size=6), st.sampled_from(["parquet", "json"]))
def test_what_python_put_in_comes_back(tmp_path: Path, rows: list[tuple[Any, ...]], ending: str) -> None:
    kb = KnowledgeBase()
    kb.insert("p", rows)
    kb.write("p", tmp_path / f"p.{ending}")
    back = load(tmp_path / f"p.{ending}")
    assert identities(back) == identities(kb)
    assert {repr(row) for row in back.facts("p")} == {repr(row) for row in rows}


def test_a_header_names_the_columns(tmp_path: Path) -> None:
    kb = KnowledgeBase("p(1, x).")
    for ending in ("csv", "tsv", "json"):
        kb.write("p", tmp_path / f"p.{ending}", header=True)
    assert (tmp_path / "p.csv").read_text() == "a1,a2\n1,x\n"
    assert (tmp_path / "p.tsv").read_text() == "a1\ta2\n1\tx\n"
    assert json.loads((tmp_path / "p.json").read_text()) == {"a1": 1, "a2": "x"}


def test_predicates_named_by_iris_are_triples_too(tmp_path: Path) -> None:
    kb = KnowledgeBase("@prefix e: <http://e.org/> . e:C(e:a). e:p(e:a, 5).")
    kb.write("e:C", tmp_path / "c.nt")
    kb.write("e:p", tmp_path / "p.nt")
    assert (tmp_path / "c.nt").read_text() == (
        "<http://e.org/a> <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <http://e.org/C> .\n"
    )
    assert (tmp_path / "p.nt").read_text() == (
        '<http://e.org/a> <http://e.org/p> "5"^^<http://www.w3.org/2001/XMLSchema#integer> .\n'
    )


@pytest.mark.parametrize(
    ("program", "ending", "message"),
    [
        ("p(1, 2).", "nt", "these facts are not triples"),
        ("p(a, <urn:p>, 1).", "nt", '"a" cannot be the subject of a triple: it is not an IRI'),
        ("p(<urn:a>, b, 1).", "nt", '"b" cannot be the predicate of a triple'),
        ("p(<urn:a>, <urn:b>, [1]).", "nt", r"\[1\] is not an RDF term"),
        ("p(<urn:a>, <urn:b>, <likes>).", "nt", "<likes> is not an RDF term"),
        ('p("a\\tb").', "tsv", "a tsv file cannot hold a string with a tab or a line break"),
        ("p(<urn:a>, <urn:b>, 1).", "ttl", "ttl files can be read, but not written"),
    ],
)
def test_facts_that_a_format_cannot_hold_are_an_error(tmp_path: Path, program: str, ending: str, message: str) -> None:
    with pytest.raises(ProgramError, match=message) as error:
        KnowledgeBase(program).write("p", tmp_path / f"p.{ending}")
    assert [diagnostic.code for diagnostic in error.value.diagnostics] == ["E408"]
    assert list(tmp_path.iterdir()) == [], "no half of a file is left behind"


def test_a_file_that_cannot_be_replaced_stays_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "p.tsv"
    path.write_text("old\n")
    with pytest.raises(ProgramError, match="E408"):
        KnowledgeBase('p(1). p("a\\tb").').write("p", path)
    assert path.read_text() == "old\n"


def test_a_place_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ProgramError, match=r"error\[E407\]: cannot write .*nowhere/p\.csv: No such file or directory"):
        KnowledgeBase("p(1).").write("p", tmp_path / "nowhere" / "p.csv")


def test_a_predicate_without_arguments_is_written_as_brackets(tmp_path: Path) -> None:
    kb = KnowledgeBase("wet. dry :- not wet.")
    kb.write("wet", tmp_path / "wet.csv")
    kb.write("dry", tmp_path / "dry.csv")
    assert ((tmp_path / "wet.csv").read_text(), (tmp_path / "dry.csv").read_text()) == ("()\n", "")
    assert load(tmp_path / "wet.csv", predicate="wet", program="x :- wet.").count("x") == 1


def test_a_parquet_file_of_no_facts_has_the_right_columns(tmp_path: Path) -> None:
    KnowledgeBase("p(X, X) :- q(X).").write("p", tmp_path / "p.parquet")
    table = pq.read_table(tmp_path / "p.parquet")
    assert (table.column_names, table.num_rows) == (["a1", "a2"], 0)


PREDICATES = ("path", "Größe", "http://example.org/a b#c/d", "50%", "..", "con:x", "~a", "=", "p/2", "a%2Fb")


@pytest.mark.parametrize("predicate", PREDICATES)
def test_the_folder_of_a_delta_table_tells_the_predicate(tmp_path: Path, predicate: str) -> None:
    """A library that decodes the names of folders once more finds the same folder."""
    path = tmp_path / file_name(predicate, DELTA)
    kb = KnowledgeBase()
    kb.insert(predicate, [(1, "a")])
    for _ in range(2):
        kb.write(predicate, path)
    assert list(fact_files(tmp_path)) == [(predicate, path)]
    kb = KnowledgeBase()
    assert kb.load_facts(tmp_path) == 1
    assert list(kb.facts(predicate)) == [(1, "a")]


@pytest.mark.parametrize("predicate", PREDICATES)
def test_the_name_of_a_file_tells_the_predicate(tmp_path: Path, predicate: str) -> None:
    name = file_name(predicate, CSV)
    (tmp_path / name).write_text("1\n")
    assert list(fact_files(tmp_path)) == [(predicate, tmp_path / name)]
    assert predicate != "http://example.org/a b#c/d" or name == "http%3A%2F%2Fexample.org%2Fa%20b%23c%2Fd.csv"


def test_options_of_databases_are_for_databases(tmp_path: Path) -> None:
    kb = KnowledgeBase("p(1).")
    with pytest.raises(ProgramError, match=r"E405.*'table' says nothing about a file"):
        kb.write("p", tmp_path / "p.csv", table="t")
    with pytest.raises(ProgramError, match=r"E405.*tables of databases are written by the Spark engine"):
        kb.write("p", "postgresql://localhost/db", table="t")
