"""Runs workloads, each in a process of its own, so that its memory is its own and nothing is warm that should not be."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.cache import CACHE, input_directory
from benchmarks.measurement import Measurement, best
from benchmarks.whole_process import Timed, timed, wrong_rows
from benchmarks.workloads import Workload

_TIME_LIMIT = 900.0


class WorkloadFailed(RuntimeError):
    """A run that ended without a result; the text is for people."""


def run_workload(workload: Workload, *, engine: str = "embedded", runs: int = 3, cache: Path = CACHE) -> Measurement:
    """The best of some warm runs, and of as many whole processes that write rows."""
    inputs = input_directory(workload.input, cache)
    warm = ["-m", "benchmarks.child", workload.name, str(inputs), engine]
    fastest = best([Measurement(**json.loads(_ended(workload.name, *warm).last_line)) for _ in range(runs)])
    wholes = [_whole_process(workload, inputs / "full", engine) for _ in range(runs)]
    process = min((process for process, _, _ in wholes), key=lambda process: process.seconds)
    fastest.process, fastest.process_cpu = process.seconds, process.cpu
    fastest.process_mb = max(megabytes for _, megabytes, _ in wholes)
    fastest.wrong += dict.fromkeys(f"written: {sentence}" for _, _, wrong in wholes for sentence in wrong)
    return fastest


def _whole_process(workload: Workload, inputs: Path, engine: str) -> tuple[Timed, float, list[str]]:
    """`corollary run` from files to files, its peak megabytes, and what is wrong with the rows it wrote."""
    with TemporaryDirectory() as directory:
        program, figures, out = (Path(directory) / name for name in ("program.dl", "figures.json", "out"))
        program.write_text(workload.program, encoding="utf-8")
        command = ["-m", "corollary", "run", str(program), "--facts", str(inputs), "--out", str(out)]
        options = ["--format", "tsv", "--stats", str(figures), "--engine", engine]
        process = _ended(workload.name, *command, *options)
        return process, json.loads(figures.read_text(encoding="utf-8"))["peak_memory_mb"], wrong_rows(workload, out)


def seconds_to_start(runs: int = 3) -> float:
    """What `corollary run` takes for a program without a statement, from the command to its end."""
    with TemporaryDirectory() as directory:
        program = Path(directory) / "empty.dl"
        program.touch()
        return min(_ended("start", "-m", "corollary", "run", str(program)).seconds for _ in range(max(runs, 2)))


def _ended(name: str, *arguments: str) -> Timed:
    """Python with these arguments, from its start to its good end."""
    try:
        process = timed([sys.executable, *arguments], _TIME_LIMIT)
    except subprocess.TimeoutExpired:
        raise WorkloadFailed(f"{name} took longer than {_TIME_LIMIT:g} s") from None
    if process.done.returncode:
        last_lines = "\n".join(process.done.stderr.strip().splitlines()[-15:])
        raise WorkloadFailed(f"{name} ended with {process.done.returncode}:\n{last_lines}")
    return process
