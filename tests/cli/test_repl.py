"""`corollary repl`, with lines from a pipe and from a terminal."""

from __future__ import annotations

import os
import pty
import select
import signal
import subprocess
import time
from pathlib import Path

from tests.cli.command import COMMAND, ENVIRONMENT, PATHS, corollary, process, write


def test_facts_rules_and_queries_are_taken_as_they_are_typed(tmp_path: Path) -> None:
    session = """\
edge(1, 2).  edge(2, 3).
path(X, Y) :- edge(X, Y).
path(X, Z) :-
    edge(X, Y),
    path(Y, Z).
?- path(1, X).
path(2, X)?
edge(3, 4).
?- path(1, 4)
"""
    run = corollary("repl", cwd=tmp_path, stdin=session)
    assert (run.returncode, run.stderr) == (0, "")
    assert run.stdout == (
        "2 new facts\nadded r1\nadded r2\n"
        "?- path(1, X).\nX\n━\n2\n3\n2 answers\n"
        "?- path(2, X).\nX\n━\n3\n1 answer\n"
        "1 new fact\n"
        "?- path(1, 4).\nyes\n"
    )


def test_a_query_does_not_wait_for_endless_rules_that_do_not_feed_it(tmp_path: Path) -> None:
    session = "n(0). n(X + 1) :- n(X).\np(1). q(X) :- p(X).\n?- q(X).\np(2).\nq(X)?\nn(X)?\n?- p(2)\n"
    (tmp_path / "limits.toml").write_text("[limits]\nrounds = 50\n", encoding="utf-8")
    run = corollary("repl", "--settings", "limits.toml", cwd=tmp_path, stdin=session)
    assert run.stdout == (
        "added r1\n1 new fact\nadded r2\n1 new fact\n?- q(X).\nX\n━\n1\n1 answer\n"
        "1 new fact\n?- q(X).\nX\n━\n1\n2\n2 answers\n?- p(2).\nyes\n"
    )
    assert run.stderr.count("E302") == 1


def test_no_mistake_ends_a_session(tmp_path: Path) -> None:
    session = """\
path(X, Y) :- edge(X, Z).
edge(1, 2
)) nonsense.
edge(1, 2).
edge(1).
?- edge(X).
?- edge(X, Y), not edge(f(_), Y).
nosuch(X)?
:nosuch
:load missing.csv
:load edge missing.csv
:load 'open
n(0). n(X + 1) :- n(X), X < 3.
?- n(X).
"""
    run = corollary("repl", cwd=tmp_path, stdin=session)
    assert run.returncode == 0
    assert run.stdout.endswith("?- n(X).\nX\n━\n0\n1\n2\n3\n4 answers\n")
    for expected in (
        "E202",
        "E104",
        "E401",
        "E201",
        "E301",
        "W205",
        "no command ':nosuch'",
        "E100",
        "E402",
        "No closing",
    ):
        assert expected in run.stderr, expected
    assert "internal error" not in run.stderr


def test_prefixes_of_the_session_and_of_the_program_are_known(tmp_path: Path) -> None:
    write(tmp_path, program_dl="@prefix ex: <http://example.org/> .\nex:p(ex:a).\n")
    session = "ex:p(ex:b).\n@prefix e2: <urn:> .\ne2:q(X) :- ex:p(X).\ne2:q(X)?\n:rules\n:predicates\n"
    run = corollary("repl", "program.dl", cwd=tmp_path, stdin=session)
    assert run.stdout == (
        "1 new fact\nadded r1\n?- e2:q(X).\nX\n━━━━\nex:a\nex:b\n2 answers\n"
        "r1: e2:q(X) :- ex:p(X).\n"
        "predicate ┃ facts\n━━━━━━━━━━╇━━━━━━\nex:p      │ 2\ne2:q      │ 2\n"
    )


def test_programs_and_data_are_loaded(tmp_path: Path) -> None:
    (tmp_path / "facts").mkdir()
    write(tmp_path / "facts", edge_csv="1,2\n")
    write(tmp_path, program_dl=PATHS, more_tsv="2\t3\n")
    session = ":load program.dl\n:load facts\n:load edge more.tsv\n?- path(X, 3).\n:help\n:quit\nedge(7, 8).\n"
    run = corollary("repl", "--facts", "facts", cwd=tmp_path, stdin=session)
    assert (run.returncode, run.stderr) == (0, "")
    assert run.stdout.startswith(
        "added r1, r2\n0 new facts\n1 new fact\n?- path(X, 3).\nX\n━\n1\n2\n2 answers\nedge(1, 2). "
    )
    assert run.stdout.endswith("leave (or Ctrl-D)\n"), "nothing is read behind :quit"


def test_a_script_can_be_piped_into_it(tmp_path: Path) -> None:
    run = process("repl", cwd=tmp_path, stdin="edge(1, 2).\nedge(X, Y)?\n")
    assert (run.returncode, run.stdout, run.stderr) == (
        0,
        "1 new fact\n?- edge(X, Y).\nX ┃ Y\n━━╇━━\n1 │ 2\n1 answer\n",
        "",
    )


def test_the_last_line_needs_no_line_end_and_no_full_stop(tmp_path: Path) -> None:
    run = corollary("repl", cwd=tmp_path, stdin="edge(1, 2).\nedge(X, Y)?")
    assert run.stdout.endswith("1 │ 2\n1 answer\n")


class Terminal:
    """A session on a terminal of its own."""

    def __init__(self, folder: Path) -> None:
        self._leader, follower = pty.openpty()
        environment = ENVIRONMENT | {"TERM": "xterm", "XDG_STATE_HOME": str(folder / "state"), "NO_COLOR": "1"}
        self.process = subprocess.Popen(
            [*COMMAND, "repl"], cwd=folder, env=environment, stdin=follower, stdout=follower, stderr=follower
        )
        os.close(follower)
        self.shown = ""

    def interrupt(self) -> None:
        """What Ctrl-C does where this is the terminal of the process; not so fast that it comes before the process waits."""
        time.sleep(0.5)
        self.process.send_signal(signal.SIGINT)

    def type(self, keys: str) -> None:
        os.write(self._leader, keys.encode())

    def wait_for(self, text: str, seconds: float = 600) -> None:
        """Until the terminal shows this behind what was waited for before."""
        deadline = time.monotonic() + seconds
        while text not in self.shown:
            ready, _, _ = select.select([self._leader], [], [], max(0, deadline - time.monotonic()))
            assert ready, f"never saw {text!r} in {self.shown!r}"
            self.shown += os.read(self._leader, 4096).decode(errors="replace")
        self.shown = self.shown.partition(text)[2]


def test_a_terminal_has_prompts_completion_and_a_history(tmp_path: Path) -> None:
    terminal = Terminal(tmp_path)
    terminal.wait_for("> ")
    terminal.type("neighbour(1, 2).\n")
    terminal.wait_for("1 new fact")
    terminal.wait_for("> ")
    terminal.type("neigh\t(X,\n")
    terminal.wait_for("neighbour(X,")
    terminal.wait_for(". ")
    terminal.type(" Y)?\n")
    terminal.wait_for("1 answer")
    terminal.wait_for("> ")
    terminal.type("half of a clause(")
    terminal.wait_for("half of a clause(")
    terminal.interrupt()  # gives up the line
    terminal.wait_for("> ")
    terminal.type("neighbour(X, 2)?\n")
    terminal.wait_for("1 answer")
    terminal.wait_for("> ")
    terminal.type("\x04")  # Ctrl-D leaves
    assert terminal.process.wait(timeout=600) == 0
    history = (tmp_path / "state" / "corollary" / "history").read_text().splitlines()
    assert history[-1] == "neighbour(X, 2)?"


def test_an_interrupt_stops_the_query_and_not_the_session(tmp_path: Path) -> None:
    terminal = Terminal(tmp_path)
    terminal.wait_for("> ")
    # Rounds over decimals are slow enough for the interrupt to come before the default limit of rounds.
    terminal.type("n(0). n(X + 0.5) :- n(X).\n")
    terminal.wait_for("added r1")
    terminal.type("n(5)?\n")
    time.sleep(2)
    terminal.interrupt()
    terminal.wait_for("interrupted")
    terminal.type(":quit\n")
    assert terminal.process.wait(timeout=600) == 0


def test_signs_before_facts_and_rules_make_transactions(tmp_path: Path) -> None:
    session = """\
p(X) :- q(X), not r(X).
+q(1). +q(2). +r(2).
-r(2). +rule s(X) :- p(X).
-rule r1
-q(7).
"""
    run = corollary("repl", cwd=tmp_path, stdin=session)
    assert run.stdout.split("\n") == [
        *("added r1", "+ p(1)", "+ q(1)", "+ q(2)", "+ r(2)"),
        *("- r(2)", "+ p(2)", "+ s(1)", "+ s(2)"),
        *("- p(1)", "- p(2)", "- s(1)", "- s(2)"),
        *("no visible fact changes", ""),
    ]
    assert run.stderr == ""


def test_a_mistake_in_a_change_is_told_and_changes_nothing(tmp_path: Path) -> None:
    session = "+q(1). +rule p(X) :- not q(X).\n+p(X) :- q(X).\n-rule r7\n?- q(X).\n"
    run = corollary("repl", cwd=tmp_path, stdin=session)
    assert "E202" in run.stderr
    assert "this is not a fact" in run.stderr
    assert "there is no rule 'r7'" in run.stderr
    assert "no answers" in run.stdout


def test_a_session_has_settings(tmp_path: Path) -> None:
    (tmp_path / "settings.toml").write_text("limits.facts = 1000\n")
    rules, options = "n(0). n(X + 1) :- n(X), X < 9.\n?- n(9).\n", ("--settings", "settings.toml", "--set")
    run = corollary("repl", *options, "limits.rounds=5", cwd=tmp_path, stdin=rules)
    assert (run.returncode, run.stderr) == (0, "error[E302]: deriving is not finished after 5 rounds\n\n")
    game = "win(X) :- move(X, Y), not win(Y). move(1, 2).\n?- win(X).\n"
    run = corollary("repl", *options, "semantics=well-founded", cwd=tmp_path, stdin=game)
    assert run.stdout.endswith("?- win(X).\nX\n━\n1\n1 answer\n")
    wrong = corollary("repl", "--set", "limits.rouns=5", cwd=tmp_path, stdin="")
    assert wrong.returncode == 2
    assert "rouns" in wrong.stderr
