"""N-Triples, N-Quads and Turtle: triples of a predicate, or facts of their own predicates."""

from __future__ import annotations

import sys
from pathlib import Path

import pyoxigraph
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from corollary import Iri, KnowledgeBase, ProgramError
from corollary.language import print_value
from corollary.language.cells import term_value
from corollary.program import identity
from tests.budgets import examples
from tests.io.loaded import load, rejected, rows, written

A, P = "<http://e.org/a>", "<http://e.org/p>"
INTEGER = "<http://www.w3.org/2001/XMLSchema#integer>"


def test_triples_are_facts_of_three_arguments(tmp_path: Path) -> None:
    text = f"""\
# a comment

{A} {P} <http://e.org/b> .
{A}\t{P} "plain"  . # behind
{A} {P} "h\\u00E9\\n\\"x\\""@EN-gb .
{A} {P} "5"^^{INTEGER} .
{A} {P} "1.50"^^<http://www.w3.org/2001/XMLSchema#decimal> .
_:x {P} _:y-1 .
{A} {P} "été" .
"""
    kb = load(written(tmp_path / "t.nt", text), predicate="t")
    assert {row[2] for row in rows(kb, "t")} == {
        "<http://e.org/b>",
        "plain",
        '"hé\\n\\"x\\""@en-gb',
        "5",
        "1.5",
        "<_:y-1>",
        '"été"',
    }
    assert (Iri("_:x"), Iri("http://e.org/p"), Iri("_:y-1")) in set(kb.facts("t"))
    assert len(kb.rejects) == 0


def test_a_malformed_line_is_left_out_with_its_number_and_the_reason(tmp_path: Path) -> None:
    text = f"""\
{A} {P} "1" .
{A} {P}
nonsense
{A} "literal" {A} .
{A} {P} <not:an[iri> .
{A} {P} "open .
{A} {P} <http://e.org/%zz> .
{A} {P} "two"^^{INTEGER} .
{A} {P} "2" .
"""
    kb = load(written(tmp_path / "t.nt", text), predicate="t")
    assert sorted(row[2] for row in kb.facts("t")) == ["1", "2"]
    assert [line for line, _ in rejected(kb)] == [2, 3, 4, 5, 6, 7, 8]
    reasons = dict(rejected(kb))
    assert reasons[3] == "The subject of a triple must be an IRI or a blank node"
    assert reasons[8] == '"two" is not a valid xsd:integer'


def test_bytes_that_are_no_text_cost_their_line(tmp_path: Path) -> None:
    text = f'{A} {P} "a" .\n{A} {P} "'.encode() + b"\xff" + f'" .\n{A} {P} "é" .\n'.encode()
    kb = load(written(tmp_path / "t.nt", text), predicate="t")
    assert sorted(row[2] for row in kb.facts("t")) == ["a", "é"]
    assert [line for line, _ in rejected(kb)] == [2]


def test_quads_lose_their_graph_unless_the_predicate_has_four_arguments(tmp_path: Path) -> None:
    path = written(tmp_path / "t.nq", f'{A} {P} "x" <http://e.org/g> .\n{A} {P} "y" .\n')
    assert [row[2:] for row in rows(load(path, predicate="t"), "t")] == [("x",), ("y",)]
    kb = load(path, predicate="t", program="q(G) :- t(_, _, _, G).")
    assert [row[2:] for row in rows(kb, "t")] == [("x", "<http://e.org/g>"), ("y", '""')]


def test_turtle_is_read_with_its_abbreviations(tmp_path: Path) -> None:
    text = """
@prefix ex: <http://e.org/> .
ex:a a ex:C ; ex:age 40 ; ex:names ( "x" "y" ) .
[] ex:likes _:named .
"""
    path = written(tmp_path / "t.ttl", text)
    kb = load(path, predicate="t")
    assert (Iri("http://e.org/a"), Iri("http://e.org/age"), 40) in set(kb.facts("t"))
    (liker,) = [s for s, p, o in kb.facts("t") if o == Iri("_:named")]
    assert liker.value.startswith("_:")
    assert set(load(path, predicate="t").facts("t")) == set(kb.facts("t")), "labels are the same each time"


def test_broken_turtle_is_an_error_with_its_line(tmp_path: Path) -> None:
    path = written(tmp_path / "t.ttl", "@prefix ex: <http://e.org/> .\nex:a ex:p\n.\n")
    with pytest.raises(ProgramError, match=r"error\[E404\]: .*t\.ttl: line 3: "):
        load(path, predicate="t")


def test_rdf_files_give_facts_of_their_own_predicates(tmp_path: Path) -> None:
    path = written(
        tmp_path / "data.ttl",
        '@prefix ex: <http://e.org/> .\nex:ann a ex:Person ; ex:knows ex:bo ; ex:name "Ann" .\nex:bo a ex:Person .\n',
    )
    kb = KnowledgeBase("""
        @prefix ex: <http://e.org/> .
        ex:Known(?y) :- ex:Person(?x), ex:knows(?x, ?y).
        ?- ex:Known(?y).
    """)
    assert kb.load_rdf(path) == 4
    assert list(kb.query(kb.queries[0])) == [(Iri("http://e.org/bo"),)]
    assert kb.count("ex:Person") == 2
    assert kb.predicates() == [f"http://e.org/{name}" for name in ("Known", "Person", "knows", "name")]


def test_programs_that_use_rdf_type_as_a_predicate_get_its_triples_too(tmp_path: Path) -> None:
    path = written(tmp_path / "data.nt", f"{A} <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <http://e.org/C> .\n")
    kb = KnowledgeBase("@prefix e: <http://e.org/> . class(C) :- rdf:type(_, C). thing(X) :- e:C(X).")
    kb.load_rdf(path)
    assert (list(kb.facts("class")), list(kb.facts("thing"))) == (
        [(Iri("http://e.org/C"),)],
        [(Iri("http://e.org/a"),)],
    )


def test_a_predicate_of_another_width_is_an_error_and_nothing_is_loaded(tmp_path: Path) -> None:
    path = written(tmp_path / "data.nt", f"{A} <http://e.org/q> {A} .\n{A} {P} {A} .\n")
    kb = KnowledgeBase("x(A) :- <http://e.org/p>(A, _, _).")
    with pytest.raises(ProgramError, match="E401"):
        kb.load_rdf(path)
    assert kb.count("http://e.org/q") == 0


def test_plain_triples_need_no_package_and_others_say_which(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyoxigraph", None)
    assert load(written(tmp_path / "t.nt", f"{A} {P} {A} .\n"), predicate="t").count("t") == 1
    with pytest.raises(ProgramError, match=r"(?s)E409.*pip install 'corollary\[rdf\]'"):
        load(written(tmp_path / "t.ttl", f"{A} {P} {A} .\n"), predicate="t")


def test_an_empty_file_has_no_triples(tmp_path: Path) -> None:
    for ending in ("nt", "nq", "ttl"):
        assert load(written(tmp_path / f"t.{ending}", ""), predicate="t").count("t") == 0


WIND_FARM = """\
<windTurbine_1> <hasNeighbour> <windTurbine_2> .
<windTurbine_2> <../hasNeighbour#x> <> .
<windTurbine_2> <power> "5"^^<units/kW> .
_:b <says> "<no> # IRI \\" <nor> this" . # <nor> this
"""


def terms(path: Path, **options: str) -> set[tuple[str, ...]]:
    return {tuple(row) for row in rows(load(path, predicate="t", **options), "t")}


@pytest.mark.parametrize("ending", ["nt", "nq", "ttl"])
def test_relative_iris_stay_as_they_are_written_without_a_base(tmp_path: Path, ending: str) -> None:
    path = written(tmp_path / f"t.{ending}", WIND_FARM)
    assert terms(path) == {
        ("<windTurbine_1>", "<hasNeighbour>", "<windTurbine_2>"),
        ("<windTurbine_2>", "<../hasNeighbour#x>", '_""'),
        ("<windTurbine_2>", "<power>", '"5"^^<units/kW>'),
        ("<_:b>", "<says>", '"<no> # IRI \\" <nor> this"'),
    }
    kb = KnowledgeBase("near(Y, X) :- hasNeighbour(X, Y).")
    assert (kb.load_rdf(path), len(kb.rejects)) == (4, 0)
    assert list(kb.facts("near")) == [(Iri("windTurbine_2"), Iri("windTurbine_1"))]


@pytest.mark.parametrize("ending", ["nt", "nq", "ttl"])
def test_relative_iris_are_resolved_against_a_base(tmp_path: Path, ending: str) -> None:
    path = written(tmp_path / f"t.{ending}", WIND_FARM)
    farm = "http://e.org/farm/"
    assert terms(path, base=farm) == {
        (f"<{farm}windTurbine_1>", f"<{farm}hasNeighbour>", f"<{farm}windTurbine_2>"),
        (f"<{farm}windTurbine_2>", "<http://e.org/hasNeighbour#x>", f"<{farm}>"),
        (f"<{farm}windTurbine_2>", f"<{farm}power>", f'"5"^^<{farm}units/kW>'),
        ("<_:b>", f"<{farm}says>", '"<no> # IRI \\" <nor> this"'),
    }
    (tmp_path / "p.dl").write_text(f'@input t("t.{ending}", base="{farm}") .')
    assert KnowledgeBase.from_file(tmp_path / "p.dl").count("t") == 4
    kb = KnowledgeBase()
    assert kb.load_rdf(path, base=farm) == 4
    assert kb.count(f"{farm}hasNeighbour") == 1
    with pytest.raises(ProgramError, match=r"E405.*a base is an IRI with a scheme"):
        kb.load_rdf(path, base="farm/")


def test_a_base_of_the_text_itself_wins(tmp_path: Path) -> None:
    text = '<a> <p> "base <x>" .\n@base <http://e.org/> .\n<a> <p> <b> .\nBASE <sub/> <a> <p> <c> .'
    absolute = "<http://e.org/{}>".format
    assert terms(written(tmp_path / "t.ttl", text)) == {
        ("<a>", "<p>", '"base <x>"'),
        (absolute("a"), absolute("p"), absolute("b")),
        (absolute("sub/a"), absolute("sub/p"), absolute("sub/c")),
    }


references = st.from_regex(
    r"(\.\./|/|//h/|[a-z]{1,3}/?){0,3}[a-z_1.:]{0,4}(\?[a-z=]{0,2})?(#[a-z:]{0,2})?", fullmatch=True
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=examples(200), deadline=None)
@given(
    st.tuples(references, references, references), st.sampled_from(["http://e.org/x/y?z#f", "urn:a:b", "file:///d/"])
)
def test_references_are_resolved_as_the_rdf_library_does(
    tmp_path: Path, found: tuple[str, str, str], base: str
) -> None:
    line = "<{}> <{}> <{}> .\n".format(*found)
    try:
        parsed = list(pyoxigraph.parse(line.encode(), format=pyoxigraph.RdfFormat.TURTLE, base_iri=base))
    except SyntaxError:
        parsed = []
    path = written(tmp_path / "t.nt", line)
    whole = {(str(one.subject), str(one.predicate), str(one.object)) for one in parsed}
    assert terms(path, base=base) == whole
    if parsed:
        assert terms(path) == {tuple(print_value(Iri(one)) for one in found)}


iris = st.from_regex(r"http://e\.org/[\w/é-]{0,4}(%20)?(#\w{0,3})?", fullmatch=True).map(pyoxigraph.NamedNode)
blanks = st.from_regex(r"[A-Za-z][A-Za-z0-9]{0,4}", fullmatch=True).map(pyoxigraph.BlankNode)
texts = st.text(st.characters(codec="utf-8"), max_size=6)
literals = st.one_of(
    texts.map(pyoxigraph.Literal),
    st.builds(lambda text, tag: pyoxigraph.Literal(text, language=tag), texts, st.sampled_from(["en", "de-AT"])),
    st.integers().map(pyoxigraph.Literal),
    texts.map(lambda text: pyoxigraph.Literal(text, datatype=pyoxigraph.NamedNode("http://e.org/t"))),
)
triples = st.lists(st.tuples(st.one_of(iris, blanks), iris, st.one_of(iris, blanks, literals)), max_size=8)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=examples(60))
@given(triples)
def test_lines_are_read_as_the_rdf_library_reads_them(tmp_path: Path, triples: list[tuple[object, ...]]) -> None:
    lines = "".join(f"{s} {p} {o} .\n" for s, p, o in triples)
    kb = load(written(tmp_path / "t.nt", lines), predicate="t")
    found = {tuple(map(identity, row)) for row in kb.facts("t").constants()}
    assert len(kb.rejects) == 0
    assert found == {tuple(identity(term_value(str(term))) for term in triple) for triple in triples}
