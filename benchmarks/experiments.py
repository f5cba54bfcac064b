"""What every kind of experiment needs: choosing by name, a process of its own for each, and what the machine is."""

from __future__ import annotations

import argparse
import json
import platform
import subprocess
import sys
from collections.abc import Collection, Sequence
from datetime import date
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from benchmarks.whole_process import ROOT
from corollary.machine import memory_megabytes, usable_cores


class UnknownName(ValueError):
    """Nothing has this name; the text is for people."""


def chosen_of(names: Collection[str], wanted: Sequence[str], what: str = "experiment") -> list[str]:
    """The names that fit those wanted or patterns such as `rule-set-*`; without any, all."""
    for pattern in wanted:
        if not any(fnmatchcase(name, pattern) for name in names):
            raise UnknownName(f"there is no {what} '{pattern}'; there are {', '.join(names)}")
    return [name for name in names if not wanted or any(fnmatchcase(name, pattern) for pattern in wanted)]


def parsed(kind: str, description: str, names: Collection[str], arguments: Sequence[str] | None) -> argparse.Namespace:
    """The options of `python -m benchmarks KIND`: `chosen` are the names that fit; with `list` they were printed, and no more."""
    parser = argparse.ArgumentParser(prog=f"python -m benchmarks {kind}", description=description)
    parser.add_argument("names", nargs="*", metavar="NAME", help="names or patterns; none: all")
    parser.add_argument("--quick", action="store_true", help="small data and few runs, without targets")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the results here as well")
    parser.add_argument("--list", action="store_true", help="list the names and stop")
    options = parser.parse_args(arguments)
    try:
        options.chosen = chosen_of(names, options.names)
    except UnknownName as error:
        parser.error(str(error))
    if options.list:
        print("\n".join(names))
    return options


def run_in_process(module: str, name: str, *arguments: str, seconds: float) -> dict[str, Any] | str:
    """What an experiment tells with its last line, or for people why it tells nothing."""
    command = [sys.executable, "-m", module, name, *arguments]
    try:
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=seconds)
    except subprocess.TimeoutExpired:
        return f"{name} took longer than {seconds:g} s"
    if done.returncode:
        last_lines = "\n".join(done.stderr.strip().splitlines()[-15:])
        return f"{name} ended with {done.returncode}:\n{last_lines}"
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def machine() -> dict[str, Any]:
    return {
        "date": date.today().isoformat(),
        "commit": _commit(),
        "python": platform.python_version(),
        "system": platform.system(),
        "machine": platform.machine(),
        "cores": usable_cores(),
        "memory_mb": memory_megabytes(),
    }


def _commit() -> str:
    """The commit that is checked out, with `-dirty` when files differ from it; empty without git."""
    try:
        done = subprocess.run(["git", "describe", "--always", "--dirty"], cwd=ROOT, capture_output=True, text=True)
    except OSError:
        return ""
    return done.stdout.strip()
