"""Runs `corollary` as its users do: inside this process, which is quick, or in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import chdir, redirect_stderr, redirect_stdout
from io import BytesIO, StringIO, TextIOWrapper
from pathlib import Path
from unittest.mock import patch

from corollary.cli import main

COMMAND = [sys.executable, "-m", "corollary"]
ENVIRONMENT = {name: value for name, value in os.environ.items() if name not in ("FORCE_COLOR", "PY_COLORS", "COLUMNS")}
PATHS = "path(X, Y) :- edge(X, Y).\npath(X, Z) :- edge(X, Y), path(Y, Z).\n"


def corollary(*arguments: str | Path, cwd: Path, stdin: str = "") -> subprocess.CompletedProcess[str]:
    """What a command prints, and its exit code."""
    command = ["corollary", *map(str, arguments)]
    stdout, stderr, code = StringIO(), StringIO(), 0
    with (
        chdir(cwd),
        patch.dict(os.environ, ENVIRONMENT | {"COLUMNS": "200", "TERM": "dumb"}, clear=True),
        patch("sys.argv", command),
        patch("sys.stdin", TextIOWrapper(BytesIO(stdin.encode(errors="surrogateescape")), encoding="utf-8")),
        redirect_stdout(stdout),
        redirect_stderr(stderr),
    ):
        try:
            main()
        except SystemExit as stopped:
            code = int(stopped.code or 0)
    return subprocess.CompletedProcess(command, code, stdout.getvalue(), stderr.getvalue())


def process(*arguments: str | Path, cwd: Path, stdin: str = "") -> subprocess.CompletedProcess[str]:
    """The same in a process of its own."""
    command = [*COMMAND, *map(str, arguments)]
    return subprocess.run(command, cwd=cwd, input=stdin, env=ENVIRONMENT, capture_output=True, text=True, timeout=600)


def write(folder: Path, **texts: str) -> None:
    """`program_dl="…"` is the file program.dl."""
    for name, text in texts.items():
        stem, _, ending = name.rpartition("_")
        (folder / f"{stem}.{ending}").write_text(text, encoding="utf-8")
