"""`--mode` and `--explain`: queries on demand from the command line."""

from __future__ import annotations

from pathlib import Path

from tests.cli.command import PATHS, corollary, write

FACTS = "edge(1, 2). edge(2, 3).\n"
ANSWERS = "X\n━\n2\n3\n2 answers\n"
RULES = """\
path_ef_demand(1).
answer(X) :- path_ef(X).
path_ef(Y) :- path_ef_demand(X), edge(X, Y).
path_ef(Z) :- path_ef(Y), edge(Y, Z).
"""


def test_a_query_has_the_same_answers_in_every_mode(tmp_path: Path) -> None:
    write(tmp_path, program_dl=PATHS + FACTS)
    for mode in ("demand", "materialise", "auto"):
        run = corollary("query", "program.dl", "path(1, X)", "--mode", mode, cwd=tmp_path)
        assert (run.returncode, run.stdout, run.stderr) == (0, ANSWERS, "")


def test_the_rules_for_a_query_are_shown(tmp_path: Path) -> None:
    write(tmp_path, program_dl=PATHS + FACTS)
    assert corollary("query", "program.dl", "path(1, X)", "--explain", cwd=tmp_path).stdout == RULES


def test_a_run_on_demand_answers_its_queries_and_counts_nothing(tmp_path: Path) -> None:
    write(tmp_path, program_dl=PATHS + FACTS + "?- path(1, X).\n")
    run = corollary("run", "program.dl", "--mode", "demand", "--explain=demand", cwd=tmp_path)
    assert (run.returncode, run.stderr) == (0, "")
    assert run.stdout == f"?- path(1, X).\n{ANSWERS}\n{RULES}\n"
    assert "path: 3 facts" in corollary("run", "program.dl", cwd=tmp_path).stdout


def test_a_mode_that_there_is_not_is_a_mistake_in_the_command(tmp_path: Path) -> None:
    write(tmp_path, program_dl=PATHS)
    run = corollary("query", "program.dl", "path(1, X)", "--mode", "demnd", cwd=tmp_path)
    assert run.returncode == 2
    assert "did you mean 'demand'?" in run.stderr
