"""Runs `corollary` commands as a reader would type them, inside this process, and gives back what the terminal shows."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Callable, Mapping
from contextlib import chdir, redirect_stderr, redirect_stdout, suppress
from io import StringIO
from pathlib import Path
from unittest.mock import patch

from corollary.cli import main

WIDTH = "100"  # the terminal of the documentation
_TIME = re.compile(r" in \d+\.\d+ s\b")


def shown_by(command: str, directory: Path) -> str:
    """What `corollary …` prints in a directory, both streams in order; times and spaces at the end of lines don't count."""
    program, *arguments = shlex.split(command)
    assert program == "corollary", f"the documentation may show other commands, but not their output: {command}"
    screen = StringIO()
    with (
        chdir(directory),
        patch.dict(os.environ, terminal(), clear=True),
        patch("sys.argv", ["corollary", *arguments]),
        redirect_stdout(screen),
        redirect_stderr(screen),
        suppress(SystemExit),
    ):
        main()
    return normalised(screen.getvalue())


def terminal() -> Mapping[str, str]:
    """Return the environment of a terminal of the documentation."""
    environment = {name: value for name, value in os.environ.items() if name not in ("FORCE_COLOR", "PY_COLORS")}
    return environment | {"COLUMNS": WIDTH, "NO_COLOR": "1", "TERM": "dumb"}


def normalised(text: str) -> str:
    lines = (line.rstrip() for line in _TIME.sub(" in 0.00 s", text).split("\n"))
    return "\n".join(lines).strip("\n")


def session(text: str, run: Callable[[str], str]) -> str:
    """Return a block as a terminal would show it: commands and empty lines between them as written, outputs as they are."""
    shown: list[str] = []
    for command in re.findall(r"^\$ (.*)$", text, re.MULTILINE):
        shown += [f"$ {command}", run(command), ""]
    return normalised("\n".join(shown))


def rewrites_expectations() -> bool:
    """Whether this run writes what it sees into the files instead of comparing: UPDATE_GOLDEN=1 pytest tests/docs."""
    return os.environ.get("UPDATE_GOLDEN") == "1"
