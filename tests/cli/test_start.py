"""Commands start quickly: what is not needed is not imported."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.cli.command import COMMAND, ENVIRONMENT, corollary, write

HEAVY = {"numba", "numpy", "pyarrow", "networkx", "pandas", "scipy", "pyspark", "pyoxigraph"}


@pytest.mark.parametrize(
    ("arguments", "allowed"),
    [
        (["run", "empty.dl"], set()),
        (["check", "program.dl"], set()),
        (["--version"], set()),
        (["run", "program.dl"], {"numba", "numpy", "pyarrow"}),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else None,
)
def test_only_what_is_needed_is_imported(tmp_path: Path, arguments: list[str], allowed: set[str]) -> None:
    write(tmp_path, empty_dl="// nothing yet\n", program_dl="p(X) :- q(X). q(1).")
    script = "import atexit, sys\natexit.register(lambda: print(*{name.partition('.')[0] for name in sys.modules}))\n"
    command = [COMMAND[0], "-c", f"{script}from corollary.cli import main\nmain()", *arguments]
    run = subprocess.run(command, cwd=tmp_path, env=ENVIRONMENT, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    assert HEAVY & set(run.stdout.split("\n")[-2].split()) <= allowed


def test_help_lists_every_command(tmp_path: Path) -> None:
    run = corollary("--help", cwd=tmp_path)
    for command in ("run", "query", "repl", "check", "graph", "fmt", "doctor"):
        assert f"│ {command} " in run.stdout
