"""Runs workloads, each in a process of its own, so that its memory is its own and nothing is warm that should not be."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.cache import CACHE, input_directory
from benchmarks.measurement import Measurement, best
from benchmarks.workloads import Workload

ROOT = Path(__file__).parents[1]
_TIME_LIMIT = 900.0


class WorkloadFailed(RuntimeError):
    """A run that ended without a result; the text is for people."""


def run_workload(workload: Workload, *, engine: str = "embedded", runs: int = 3, cache: Path = CACHE) -> Measurement:
    """The best of some warm runs; what the whole process takes when nothing is warm is the best of two."""
    command = [
        sys.executable,
        "-m",
        "benchmarks.child",
        workload.name,
        str(input_directory(workload.input, cache)),
        engine,
    ]
    fastest = best([Measurement(**json.loads(_output(command)[0])) for _ in range(runs)])
    fastest.process = min(_output([*command, "cold"])[1] for _ in range(min(runs, 2)))
    return fastest


def _output(command: list[str]) -> tuple[str, float]:
    """The last line that a command prints, and the seconds from its start to its end."""
    started = time.perf_counter()
    try:
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=_TIME_LIMIT)
    except subprocess.TimeoutExpired:
        raise WorkloadFailed(f"{command[3]} took longer than {_TIME_LIMIT:g} s") from None
    if done.returncode:
        last_lines = "\n".join(done.stderr.strip().splitlines()[-15:])
        raise WorkloadFailed(f"{command[3]} ended with {done.returncode}:\n{last_lines}")
    return (done.stdout.splitlines() or [""])[-1], time.perf_counter() - started


def seconds_to_start(runs: int = 3) -> float:
    """What `corollary run` takes for a program without a statement, from the command to its end."""
    with TemporaryDirectory() as directory:
        program = Path(directory) / "empty.dl"
        program.touch()
        command = [sys.executable, "-m", "corollary", "run", str(program)]
        return min(_output(command)[1] for _ in range(max(runs, 2)))
