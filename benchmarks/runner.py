"""Runs workloads, each in a process of its own, so that its memory is its own and nothing is warm that should not be."""

from __future__ import annotations

import json
import os
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
    """The best of some runs."""
    directory = input_directory(workload.input, cache)
    return best([_run_once(workload, directory, engine) for _ in range(runs)])


def _run_once(workload: Workload, directory: Path, engine: str) -> Measurement:
    command = [sys.executable, "-m", "benchmarks.child", workload.name, str(directory), engine]
    try:
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=_TIME_LIMIT)
    except subprocess.TimeoutExpired:
        raise WorkloadFailed(f"{workload.name} took longer than {_TIME_LIMIT:g} s") from None
    if done.returncode:
        last_lines = "\n".join(done.stderr.strip().splitlines()[-15:])
        raise WorkloadFailed(f"{workload.name} ended with {done.returncode}:\n{last_lines}")
    return Measurement(**json.loads(done.stdout.splitlines()[-1]))


def seconds_to_start(runs: int = 3) -> float:
    """What `corollary run` takes for a program without a statement, from the command to its end."""
    with TemporaryDirectory() as directory:
        program = Path(directory) / "empty.dl"
        program.touch()
        return min(_timed([sys.executable, "-m", "corollary", "run", str(program)]) for _ in range(max(runs, 2)))


def _timed(command: list[str]) -> float:
    started = time.perf_counter()
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True, env=os.environ | {"NO_COLOR": "1"})
    return time.perf_counter() - started
