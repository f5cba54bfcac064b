"""What went wrong can be told from the exit code; the codes are fixed."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import time
from contextlib import suppress
from pathlib import Path

import pytest

from corollary.cli.progress import CompileNotice
from tests.cli.command import COMMAND, ENVIRONMENT, PATHS, corollary, process, write

ENDLESS = "n(0). n(X + 1) :- n(X)."


@pytest.mark.parametrize(
    ("code", "arguments", "message"),
    [
        (0, ["run", "fine.dl"], ""),
        (1, ["run", "wrong.dl"], "error[E202]"),
        (1, ["run", "missing.dl"], "error[E100]: cannot read missing.dl: No such file or directory"),
        (1, ["run", "fine.dl", "-q", "edge(X)"], "error[E201]: 'edge' has 1 argument here, but 2 arguments elsewhere"),
        (1, ["run", "fine.dl", "-q", "edge(X, Y), not edge(f(_), Y)"], "error[E301]"),
        (1, ["query", "fine.dl", "edge(X"], "error[E104]"),
        (1, ["run", "divides.dl", "--on-error", "stop"], "error[E303]"),
        (2, ["run"], "Missing argument"),
        (2, ["run", "fine.dl", "--engine", "quantum"], "quantum"),
        (2, ["run", "fine.dl", "--limit-facts", "many"], "--limit-facts"),
        (2, ["fly", "fine.dl"], "No such command 'fly'"),
        (3, ["run", "input.dl"], "error[E402]: cannot read missing.csv: No such file or directory"),
        (3, ["run", "fine.dl", "--facts", "nowhere"], "error[E402]: cannot read nowhere"),
        (3, ["run", "fine.dl", "--rdf", "fine.dl"], "error[E403]: fine.dl is of an unknown format"),
        (3, ["run", "fine.dl", "--out", "fine.dl"], "error[E407]: cannot make the directory fine.dl"),
        (4, ["run", "endless.dl", "--limit-facts", "1000"], "error[E302]: there are more than 1,000 facts"),
        (4, ["run", "endless.dl", "--limit-time", "0.1"], "error[E302]: deriving took longer than 0.1 s"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else None,
)
def test_the_exit_code_tells_what_went_wrong(tmp_path: Path, code: int, arguments: list[str], message: str) -> None:
    write(tmp_path, fine_dl=PATHS + "edge(1, 2).", wrong_dl="p(X) :- q(Y).", endless_dl=ENDLESS)
    write(tmp_path, input_dl='@input p("missing.csv") .', divides_dl="p(0). q(1 / X) :- p(X).")
    run = corollary(*arguments, cwd=tmp_path)
    assert run.returncode == code, run.stderr
    assert message in run.stderr
    assert "Traceback" not in run.stderr


@pytest.mark.parametrize(
    ("code", "program"), [(0, "p(1)."), (1, "p(X)."), (3, '@input p("missing.csv") .'), (4, ENDLESS)]
)
def test_the_exit_code_reaches_the_shell(tmp_path: Path, code: int, program: str) -> None:
    run = process("run", "-", "--limit-facts", "1000", cwd=tmp_path, stdin=program)
    assert run.returncode == code
    assert (run.stderr == "") is (code == 0)


def test_an_unknown_predicate_in_a_query_is_a_warning(tmp_path: Path) -> None:
    run = corollary("query", "-", "egde(X, Y)", cwd=tmp_path, stdin="edge(1, 2).")
    assert (run.returncode, run.stdout) == (0, "no answers\n")
    assert "warning[W205]: nothing mentions 'egde', so it has no facts" in run.stderr
    assert "= hint: did you mean 'edge'?" in run.stderr


def test_a_broken_invariant_is_an_internal_error(tmp_path: Path) -> None:
    script = """
import sys
from corollary.cli import main
sys.modules["corollary.cli.run"].derive = lambda kb: 1 / 0
main()
"""
    write(tmp_path, fine_dl="edge(1, 2).")
    command = [COMMAND[0], "-c", script, "run", "fine.dl"]
    run = subprocess.run(command, cwd=tmp_path, env=ENVIRONMENT, capture_output=True, text=True)
    assert run.returncode == 70
    assert run.stderr.startswith("internal error: ZeroDivisionError: division by zero\n")


class Watched:
    """A run whose standard error is a terminal."""

    def __init__(self, *arguments: str, cwd: Path) -> None:
        self._leader, follower = pty.openpty()
        environment = ENVIRONMENT | {"TERM": "xterm", "NO_COLOR": "1"}
        command = [*COMMAND, *arguments]
        self.process = subprocess.Popen(
            command, cwd=cwd, env=environment, stdout=subprocess.PIPE, stderr=follower, text=True
        )
        os.close(follower)
        self.shown = ""

    def wait_for(self, text: str) -> None:
        while text not in self.shown:
            self.shown += os.read(self._leader, 4096).decode(errors="replace")

    def finish(self) -> tuple[int, str]:
        """The exit code and the standard output."""
        stdout, _ = self.process.communicate(timeout=600)
        with suppress(OSError):  # the other end is gone
            while piece := os.read(self._leader, 4096):
                self.shown += piece.decode(errors="replace")
        os.close(self._leader)
        return self.process.returncode, stdout


def test_a_long_run_shows_progress_and_an_interrupt_stops_it_cleanly(tmp_path: Path) -> None:
    write(tmp_path, endless_dl="one(X) :- n(X).\n" + ENDLESS)
    # Rounds are fast: the default limit would end this one before the interrupt comes.
    run = Watched("run", "endless.dl", "--out", "out", "--set", "limits.rounds=inf", cwd=tmp_path)
    run.wait_for("hyper-node 1 of 2: ")
    run.wait_for(" facts/s, 2 s")
    run.process.send_signal(signal.SIGINT)
    assert run.finish() == (130, "")
    assert run.shown.endswith("interrupted\r\n")
    assert not (tmp_path / "out").exists()


def test_the_notice_about_compiling_comes_when_it_takes_more_than_a_second(capsys: pytest.CaptureFixture[str]) -> None:
    notice = CompileNotice()
    notice.on_start(None)
    notice.on_end(None)
    time.sleep(1.2)
    assert capsys.readouterr().err == ""
    notice.on_start(None)
    time.sleep(1.2)
    notice.on_end(None)
    assert capsys.readouterr().err.startswith("compiling kernels: ")


def test_a_reader_that_goes_away_is_no_error(tmp_path: Path) -> None:
    write(tmp_path, program_dl="".join(f"p({n}).\n" for n in range(20_000)) + "?- p(X).")
    head = f"{' '.join(COMMAND)} run program.dl | head -2; echo ${{PIPESTATUS[0]}}"
    run = subprocess.run(["bash", "-c", head], cwd=tmp_path, env=ENVIRONMENT, capture_output=True, text=True)
    assert (run.stdout, run.stderr) == ("?- p(X).\nX\n0\n", "")
