"""What is handed to other engines; none of them is started here."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks import rules
from benchmarks.ontology import program
from benchmarks.peers import environment
from benchmarks.peers.duckdb_sql import STATEMENTS
from benchmarks.peers.environment import PEERS, Peer, PeerRun, run_peer
from benchmarks.peers.nemo import translated
from benchmarks.peers.simple_rules import Atom, SimpleRule, simple_rules
from benchmarks.whole_process import Timed, rows_written, wrong_rows
from benchmarks.workloads import WORKLOADS, Workload, by_name


def test_simple_rules_are_read() -> None:
    first, _ = simple_rules(rules.SAME_GENERATION)
    atoms = (Atom("par", ("P", "X")), Atom("par", ("P", "Y")))
    assert first == SimpleRule(Atom("sg", ("X", "Y")), atoms, (("X", "Y"),))
    assert len(simple_rules(program())) == 128


def test_rules_with_negation_are_not_simple() -> None:
    with pytest.raises(ValueError, match="not a simple atom: not p5"):
        simple_rules(rules.RULE_SET_2)


def test_duckdb_has_sql_or_simple_rules_for_every_workload() -> None:
    for workload in WORKLOADS:
        assert workload.name in STATEMENTS or simple_rules(workload.program)


def test_what_duckdb_writes_is_a_table_or_has_a_query() -> None:
    for name, (statements, queries) in STATEMENTS.items():
        tables = {statement.split()[2] for statement in statements}
        assert set(by_name()[name].derived) <= tables | set(queries), name


def test_nemo_reads_the_rules_in_its_notation_and_files_where_they_are(tmp_path: Path) -> None:
    (tmp_path / "p1.tsv").write_text("1\tabc\n")
    (tmp_path / "p5.tsv").write_text("")
    workload = Workload("w", "p(X, Y1) :- p1(X, Y), not p5(X, _), Y1 = Y + 1.\n", "none", {"p": 1})
    assert translated(workload, tmp_path).splitlines() == [
        f'@import p1 :- tsv {{ resource = "{tmp_path}/p1.tsv", format = (int, any) }} .',
        f'@import p5 :- tsv {{ resource = "{tmp_path}/p5.tsv", format = (int, int) }} .',
        "p(?X, ?Y1) :- p1(?X, ?Y), ~p5(?X, _), ?Y1 = ?Y + 1.",
        "",
        "@export p :- tsv {} .",
    ]


def test_peers_say_why_they_skip_a_workload() -> None:
    skipped = {peer.name: {workload.name: peer.skipped(workload.name) for workload in WORKLOADS} for peer in PEERS}
    assert set(skipped["DuckDB"].values()) == {""}
    assert skipped["Nemo"]["zodiac-rs1"] == "no median"
    assert skipped["Nemo"]["zodiac-rs2"] == ""
    assert skipped["clingo"]["tc-grid"] == "> 60 s"
    assert [name for name, reason in skipped["pyDatalog"].items() if not reason] == ["tc-small"]


def test_a_peer_that_skips_a_workload_is_not_started(tmp_path: Path) -> None:
    peer = Peer("nobody", "no-such-package", "no_such_package", (("tc-.*", "too old"),))
    assert run_peer(peer, by_name()["tc-small"], cache=tmp_path) == PeerRun("nobody", "tc-small", problem="too old")


@pytest.mark.parametrize(
    ("code", "errors", "problem"),
    [(-signal.SIGXCPU, "", "> 120 s cpu"), (1, "Traceback\nValueError: no\n", "failed: ValueError: no")],
)
def test_a_peer_that_did_not_finish_tells_why(
    code: int, errors: str, problem: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended = Timed(subprocess.CompletedProcess([], code, "", errors), seconds=1.0, cpu=1.0)
    monkeypatch.setattr(environment, "timed", lambda *_: ended)
    monkeypatch.setattr(environment, "problem_of", lambda _: "")
    monkeypatch.setattr(environment, "_python", lambda: Path(sys.executable))
    assert run_peer(PEERS[0], by_name()["tc-small"], cache=tmp_path) == PeerRun("DuckDB", "tc-small", problem=problem)


def test_rows_are_counted_in_files_of_rows_and_of_facts(tmp_path: Path) -> None:
    (tmp_path / "path.tsv").write_text("1\t2\n2\t3\n")
    (tmp_path / "none.tsv").write_text("")
    (tmp_path / "all.lp").write_text("edge(1,2).\nq(1).\nq(2).\n")
    assert rows_written(tmp_path) == {"path": 2, "none": 0, "edge": 1, "q": 2}


def test_a_relation_that_was_not_written_is_wrong(tmp_path: Path) -> None:
    (tmp_path / "edge.tsv").write_text("1\t2\n")
    assert wrong_rows(by_name()["tc-small"], tmp_path) == ["path: 0 answers, not 20,100"]
