"""`corollary run`: data in, answers and files out."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.cli.command import PATHS, corollary, write


@pytest.fixture
def facts(tmp_path: Path) -> Path:
    """One predicate in each format."""
    folder = tmp_path / "facts"
    folder.mkdir()
    write(folder, edge_csv="1,2\n2,3\n", edge_tsv="3\t4\n", colour_facts="1\tred\n", size_json="[1, 2.5]\n")
    write(folder, t_nt="<urn:a> <urn:b> <urn:c> .\n", q_nq="<urn:a> <urn:b> <urn:c> <urn:g> .\n", notes_txt="no data")
    pq.write_table(pa.table({"n": [1, 2], "label": ["one", "zwei"]}), folder / "label.parquet")
    return folder


def test_facts_of_every_format_are_loaded_and_queries_answered_in_order(tmp_path: Path, facts: Path) -> None:
    write(
        tmp_path,
        program_dl=PATHS
        + "?- path(1, X).\n?- colour(1, C), label(1, L), size(1, S).\n?- t(S, P, O), q(S, P, O).\n?- path(4, 1).\n",
    )
    run = corollary("run", "program.dl", "--facts", facts, cwd=tmp_path)
    assert (run.returncode, run.stderr) == (0, "")
    assert run.stdout.split(" facts in ")[0] == (
        "?- path(1, X).\nX\n━\n2\n3\n4\n3 answers\n\n"
        "?- colour(1, C), label(1, L), size(1, S).\nC   ┃ L   ┃ S\n━━━━╇━━━━━╇━━━━\nred │ one │ 2.5\n1 answer\n\n"
        "?- t(S, P, O), q(S, P, O).\nS       ┃ P       ┃ O\n━━━━━━━━╇━━━━━━━━━╇━━━━━━━━\n<urn:a> │ <urn:b> │ <urn:c>\n"
        "1 answer\n\n"
        "?- path(4, 1).\nno\n\n"
        "path: 6 facts\n15"
    )


def test_answers_are_json_lines_where_that_is_wished(tmp_path: Path, facts: Path) -> None:
    write(tmp_path, program_dl=f"@prefix u: <urn:> .\n{PATHS}?- path(1, X).\n?- t(S, u:b, _).\n?- path(4, 1).\n")
    run = corollary("run", "program.dl", "--facts", facts, "--format", "json", cwd=tmp_path)
    assert run.returncode == 0
    assert [json.loads(line) for line in run.stdout.splitlines()] == [
        {"query": "path(1, X)", "variables": ["X"], "rows": [[2], [3], [4]]},
        {"query": "t(S, u:b, _)", "variables": ["S"], "rows": [[{"@id": "urn:a"}]]},
        {"query": "path(4, 1)", "variables": [], "rows": []},
    ]


def test_queries_on_the_command_line_know_prefixes_and_replace_those_of_the_program(tmp_path: Path) -> None:
    write(tmp_path, program_dl="@prefix ex: <http://example.org/> .\nex:p(ex:a, 1).\n?- ex:p(_, N).\n")
    run = corollary("run", "program.dl", "-q", "ex:p(X, 1)", "-q", "ex:p(ex:a, 2)", cwd=tmp_path)
    assert run.stdout.startswith("?- ex:p(X, 1).\nX\n━━━━\nex:a\n1 answer\n\n?- ex:p(ex:a, 2).\nno\n\n")


def test_several_programs_and_the_standard_input_are_one_program(tmp_path: Path) -> None:
    write(tmp_path, rules_dl=PATHS)
    run = corollary("run", "rules.dl", "-", "-q", "path(1, X)", cwd=tmp_path, stdin="edge(1, 2).")
    assert "X\n━\n2\n1 answer" in run.stdout


def test_long_answers_are_neither_cut_nor_wrapped(tmp_path: Path) -> None:
    long = "x" * 300
    run = corollary("run", "-", "-q", "p(X, Y)", cwd=tmp_path, stdin=f'p("{long}", "日本 語").')
    assert f'{long} │ "日本 語"\n' in run.stdout
    assert f"X{' ' * 299} ┃ Y\n" in run.stdout


# -- files out -----------------------------------------------------------------------------------------------------------


def test_everything_derived_is_written_without_an_output_directive(tmp_path: Path) -> None:
    write(tmp_path, program_dl=PATHS + "@prefix ex: <http://example.org/> .\nex:big(X) :- path(X, _).\nedge(1, 2).\n")
    run = corollary("run", "program.dl", "--out", "out", cwd=tmp_path)
    assert run.returncode == 0
    assert run.stderr == "wrote out/path.csv\nwrote out/http%3A%2F%2Fexample.org%2Fbig.csv\n"
    files = {path.name: path.read_text() for path in (tmp_path / "out").iterdir()}
    assert files == {"path.csv": "1,2\n", "http%3A%2F%2Fexample.org%2Fbig.csv": "1\n"}


@pytest.mark.parametrize("form", ["csv", "parquet", "nt", "json"])
def test_each_format_can_be_written_and_read_again(tmp_path: Path, form: str) -> None:
    program = "t(S, P, O) :- s(S, P, O).\n@output t .\n"
    write(tmp_path, program_dl=program, s_nt='<urn:a> <urn:b> "5"^^<http://www.w3.org/2001/XMLSchema#integer> .\n')
    (tmp_path / "in").mkdir()
    (tmp_path / "s.nt").rename(tmp_path / "in" / "s.nt")
    run = corollary("run", "program.dl", "--facts", "in", "--out", "out", "--format", form, cwd=tmp_path)
    assert (run.returncode, run.stderr) == (0, f"wrote out/t.{form}\n")
    again = corollary("query", "-", "t(_, _, X)", "--facts", "out", cwd=tmp_path, stdin="x(X) :- t(_, _, X).")
    assert again.stdout == "X\n━\n5\n1 answer\n"


def test_output_directives_say_what_is_written_and_where(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    text = '@output path("paths.tsv", header = true) .\n@output far .\n'
    write(home, program_dl=PATHS + "edge(1, 2).\nfar(X) :- path(X, _).\n" + text)
    assert corollary("run", "home/program.dl", cwd=tmp_path).stderr == "wrote home/paths.tsv\n"
    assert (home / "paths.tsv").read_text() == "a1\ta2\n1\t2\n"
    run = corollary("run", "home/program.dl", "--out", "out", "--format", "json", cwd=tmp_path)
    assert run.stderr == "wrote out/paths.tsv\nwrote out/far.json\n"
    assert (tmp_path / "out" / "far.json").read_text() == "[1]\n"


def test_a_header_is_written_where_it_is_wished(tmp_path: Path) -> None:
    write(tmp_path, program_dl='p(X, Y) :- q(X, Y). q(1, "a,b").')
    corollary("run", "program.dl", "--out", "out", "--header", cwd=tmp_path)
    assert (tmp_path / "out" / "p.csv").read_text() == 'a1,a2\n1,"a,b"\n'


def test_facts_that_are_no_triples_cannot_be_written_as_such(tmp_path: Path) -> None:
    write(tmp_path, program_dl="p(X, Y) :- q(X, Y). q(1, 2).")
    run = corollary("run", "program.dl", "--out", "out", "--format", "nt", cwd=tmp_path)
    assert run.returncode == 3
    assert "error[E408]: out/p.nt: these facts are not triples" in run.stderr


# -- rows that are left out ----------------------------------------------------------------------------------------------


def test_rows_that_do_not_fit_are_counted_shown_and_listed(tmp_path: Path) -> None:
    write(tmp_path, program_dl=f'@input edge("edge.csv", types = "integer, integer") .\n{PATHS}')
    write(tmp_path, edge_csv="1,2\n2,three\n4\n" + "x\n" * 10)
    run = corollary("run", "program.dl", "--rejects", "rejects.csv", cwd=tmp_path)
    assert run.returncode == 0
    assert run.stderr == (
        "12 rows were left out (edge.csv: 12)\n"
        "  edge.csv:2: 'three' in column 2 is not an integer\n"
        "  edge.csv:3: 1 column, expected 2\n"
        "  edge.csv:4: 1 column, expected 2\n"
        "  edge.csv:5: 1 column, expected 2\n"
        "  edge.csv:6: 1 column, expected 2\n"
        "  … and 7 more: see rejects.csv\n"
    )
    assert "path: 1 fact\n" in run.stdout
    listed = list(csv.DictReader((tmp_path / "rejects.csv").open()))
    assert len(listed) == 12
    assert listed[0] == {
        "file": "edge.csv",
        "line": "2",
        "reason": "'three' in column 2 is not an integer",
        "text": "2,three",
    }


def test_strict_stops_before_anything_is_derived(tmp_path: Path) -> None:
    write(tmp_path, program_dl=PATHS + '@output path("out.csv") .')
    (tmp_path / "facts").mkdir()
    write(tmp_path / "facts", edge_csv="1,2\n3\n")
    run = corollary("run", "program.dl", "--facts", "facts", "--strict", cwd=tmp_path)
    assert (run.returncode, run.stdout) == (3, "")
    assert run.stderr == "error[E406]: facts/edge.csv:2: 1 column, expected 2\n\n"
    assert not (tmp_path / "out.csv").exists()


def test_files_with_headers_are_read_where_the_command_says_so(tmp_path: Path) -> None:
    (tmp_path / "facts").mkdir()
    write(tmp_path / "facts", edge_csv="from,to\n1,2\n", label_json='["a"]\n')
    write(tmp_path, program_dl=PATHS)
    run = corollary("run", "program.dl", "--facts", "facts", "--facts-header", "-q", "path(X, Y)", cwd=tmp_path)
    assert "1 │ 2\n1 answer" in run.stdout


def test_rdf_files_give_facts_of_their_predicates(tmp_path: Path) -> None:
    write(tmp_path, zoo_ttl="@prefix z: <urn:zoo:> . z:leo a z:Lion ; z:eats z:meat .")
    write(tmp_path, program_dl="@prefix z: <urn:zoo:> . z:Eater(?x) :- z:Lion(?x), z:eats(?x, _).\n?- z:Eater(X).")
    run = corollary("run", "program.dl", "--rdf", "zoo.ttl", cwd=tmp_path)
    assert (run.returncode, run.stderr) == (0, "")
    assert "?- z:Eater(X).\nX\n━━━━━\nz:leo\n1 answer\n\nz:Eater: 1 fact\n3 facts in" in run.stdout


def test_relative_iris_of_rdf_stay_as_they_are_or_are_resolved_against_a_base(tmp_path: Path) -> None:
    write(tmp_path, wind_nt="<windTurbine_1> <hasNeighbour> <windTurbine_2> .\n")
    write(tmp_path, plain_dl="n(X, Y) :- hasNeighbour(X, Y).")
    write(tmp_path, based_dl="@prefix w: <http://wind.org/> . n(X, Y) :- w:hasNeighbour(X, Y).")
    load = ("--rdf", "wind.nt")
    plain = corollary("run", "plain.dl", *load, "-q", "n(X, Y)", cwd=tmp_path)
    assert "<windTurbine_1> │ <windTurbine_2>" in plain.stdout
    based = corollary("run", "based.dl", *load, "--rdf-base", "http://wind.org/", "-q", "n(X, Y)", cwd=tmp_path)
    assert "w:windTurbine_1 │ w:windTurbine_2" in based.stdout
    asked = corollary("query", "based.dl", "n(X, Y)", *load, "--rdf-base", "http://wind.org/", cwd=tmp_path)
    assert "w:windTurbine_1 │ w:windTurbine_2" in asked.stdout
    refused = corollary("run", "plain.dl", *load, "--rdf-base", "no base", cwd=tmp_path)
    assert (refused.returncode, refused.stdout) == (3, "")
    assert "no base" in refused.stderr


# -- figures -------------------------------------------------------------------------------------------------------------


def test_the_figures_of_a_run_are_complete(tmp_path: Path) -> None:
    write(tmp_path, program_dl=PATHS + "edge(1, 2). edge(2, 3).\n")
    corollary("run", "program.dl", "--stats", "stats.json", cwd=tmp_path)
    stats = json.loads((tmp_path / "stats.json").read_text())
    assert set(stats) == {"engine", "seconds", "facts", "rounds", "rule_instances", "peak_memory_mb", "hyper_nodes"}
    assert stats["engine"] == "embedded"
    assert set(stats["seconds"]) == {"load", "derive", "publish", "total"}
    assert sum(stats["seconds"][step] for step in ("load", "derive", "publish")) <= stats["seconds"]["total"]
    assert stats["facts"] == {"edge": 2, "path": 3}
    assert stats["peak_memory_mb"] > 10
    assert [node["rules"] for node in stats["hyper_nodes"]] == [["r1"], ["r2"]]
    for node in stats["hyper_nodes"]:
        assert set(node) == {"rules", "strategy", "rounds", "rule_instances", "new_facts", "seconds"}
    assert sum(node["new_facts"] for node in stats["hyper_nodes"]) == 3
    assert sum(node["rounds"] for node in stats["hyper_nodes"]) == stats["rounds"]


def test_explain_shows_the_plan_of_each_rule(tmp_path: Path) -> None:
    write(tmp_path, program_dl="p(X, Z) :- q(X, Y), r(Y, Z). q(1, 2). r(2, 3).")
    run = corollary("run", "program.dl", "--explain", cwd=tmp_path)
    assert "{r1}  nonrecursive: 1 rounds" in run.stdout
    assert "r1: p(X, Z) :- q(X, Y), r(Y, Z)." in run.stdout
    assert "index by Y" in run.stdout


def test_explain_shows_rules_that_nobody_wrote(tmp_path: Path) -> None:
    write(tmp_path, program_dl="a(X) :- not b(X). b(X) :- not c(X). c(one). a(zed).")
    run = corollary("run", "program.dl", "--explain", "--set", "unsafe=universe", cwd=tmp_path)
    assert (run.returncode, run.stderr) == (0, "")
    assert "r1: a(X) :- not b(X), universe(X)." in run.stdout
    assert "a universe 1: universe(X1) :- stated a(X1)." in run.stdout


def test_optimisations_can_be_left_out_by_name(tmp_path: Path) -> None:
    write(tmp_path, program_dl=PATHS + "edge(1, 2). edge(2, 3).\n")
    run = corollary("run", "program.dl", "--without", "closures", "--explain", cwd=tmp_path)
    assert "right-linear" not in run.stdout
    assert "path: 3 facts" in run.stdout
    run = corollary("run", "program.dl", "--without", "closure", cwd=tmp_path)
    assert run.returncode == 2
    assert "did you mean 'closures'?" in run.stderr
