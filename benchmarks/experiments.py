"""What every kind of experiment needs: choosing by name, a process of its own for each, and what the machine is."""

from __future__ import annotations

import json
import platform
import subprocess
import sys
from collections.abc import Collection, Sequence
from fnmatch import fnmatchcase
from typing import Any

from benchmarks.runner import ROOT
from corollary.machine import memory_megabytes, usable_cores


class UnknownName(ValueError):
    """Nothing has this name; the text is for people."""


def chosen_of(names: Collection[str], wanted: Sequence[str], what: str = "experiment") -> list[str]:
    """The names that fit those wanted or patterns such as `rule-set-*`; without any, all."""
    for pattern in wanted:
        if not any(fnmatchcase(name, pattern) for name in names):
            raise UnknownName(f"there is no {what} '{pattern}'; there are {', '.join(names)}")
    return [name for name in names if not wanted or any(fnmatchcase(name, pattern) for pattern in wanted)]


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
        "python": platform.python_version(),
        "system": platform.system(),
        "machine": platform.machine(),
        "cores": usable_cores(),
        "memory_mb": memory_megabytes(),
    }
